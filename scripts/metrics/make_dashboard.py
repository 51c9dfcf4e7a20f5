"""Makes grafana.json, the dashboard of the metrics that the mappings beside this file name.

Input: the panels below.
Output: grafana.json, in the schema of Grafana's dashboards, by its own SDK (pip install
grafana-foundation-sdk).

- The same for the same panels: tests/scripts/test_metric_mappings.py compares it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from grafana_foundation_sdk.builders import dashboard, heatmap, prometheus, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DataSourceRef

DATA = DataSourceRef(type_val="prometheus", uid="${datasource}")
# heading: [(title, unit, expression, what a line is called; None: a heat map)]
ROWS = {
    "Operations": [
        (
            "How long they take",
            "s",
            "sum by (le) (increase(app_operation_duration_seconds_bucket[$__rate_interval]))",
            None,
        ),
        (
            "One in a hundred takes longer",
            "s",
            "histogram_quantile(0.99, sum by (route, le) (rate(app_operation_duration_seconds_bucket[$__rate_interval])))",
            "{{route}}",
        ),
        (
            "Operations a second",
            "reqps",
            "sum by (route) (rate(app_operation_duration_seconds_count[$__rate_interval]))",
            "{{route}}",
        ),
        (
            "Failures a second",
            "reqps",
            "sum by (route, status) (rate(app_operation_errors_total[$__rate_interval]))",
            "{{route}} {{status}}",
        ),
        (
            "Late retries a second",
            "reqps",
            "sum by (operation, error) (rate(app_late_retries_total[$__rate_interval]))",
            "{{operation}} {{error}}",
        ),
        (
            "Bytes of answers a second",
            "Bps",
            "sum by (route) (rate(app_answer_all_bytes_total[$__rate_interval]))",
            "{{route}}",
        ),
    ],
    "Caches and queues": [
        (
            "Share of hits",
            "percentunit",
            "sum by (cache) (rate(app_cache_hits_total[$__rate_interval])) / sum by (cache) (rate(app_cache_requests_total[$__rate_interval]))",
            "{{cache}}",
        ),
        (
            "How long jobs wait",
            "s",
            "sum by (le) (increase(app_queue_wait_seconds_bucket[$__rate_interval]))",
            None,
        ),
        ("The most jobs in a queue", "short", "max by (queue) (app_queue_deepest)", "{{queue}}"),
    ],
    "The tracing itself": [
        (
            "Lost events a second",
            "short",
            "sum by (instance, kind) (rate(pydtrace_lost_total[$__rate_interval])) > 0",
            "{{instance}} {{kind}}",
        ),
        (
            "Errors of the scripts a second",
            "short",
            "sum by (instance) (rate(pydtrace_errors_total[$__rate_interval]))",
            "{{instance}}",
        ),
        (
            "Keys that share one series",
            "short",
            "pydtrace_overflowed_keys > 0",
            "{{instance}} @{{aggregation}}",
        ),
    ],
}


def panel(title, unit, expression, legend):
    """A heat map of a distribution's buckets, or lines."""
    query = prometheus.Dataquery().expr(expression).datasource(DATA)
    if legend is None:
        made = heatmap.Panel().calculate(False)
        return (
            made.title(title)
            .unit(unit)
            .datasource(DATA)
            .with_target(query.format("heatmap").legend_format("{{le}}"))
        )
    return (
        timeseries.Panel()
        .title(title)
        .unit(unit)
        .min(0)
        .datasource(DATA)
        .with_target(query.legend_format(legend))
    )


def made():
    """The dashboard as JSON."""
    board = (
        dashboard.Dashboard("pyusdt: operations, caches, queues")
        .uid("pyusdt")
        .tags(["pyusdt"])
        .refresh("10s")
        .time("now-1h", "now")
        .with_variable(
            dashboard.DatasourceVariable("datasource").type("prometheus").label("Prometheus")
        )
    )
    for heading, panels in ROWS.items():
        board = board.with_row(dashboard.Row(heading))
        for each in panels:
            board = board.with_panel(panel(*each).height(8).span(12))
    return JSONEncoder(sort_keys=True, indent=2).encode(board.build()) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / "grafana.json").write_text(made())
    sys.exit(0)
