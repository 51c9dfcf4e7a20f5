"""erltrace_monitor: a script's aggregations as metrics of a node, by the real prometheus.erl (RabbitMQ's package brings it), its alerts as
alarms of sasl's.  The library telemetry is in no package of this system: programs/telemetry.erl stands in for it."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support import harness

PLUGINS = glob.glob("/usr/lib/rabbitmq/lib/rabbitmq_server-*/plugins")


def run(erlang, function: str) -> str:
    path = {
        "PATH": os.path.dirname(harness.PYDTRACE) + os.pathsep + os.environ["PATH"],
        "ERL_LIBS": os.pathsep.join(PLUGINS),
    }
    done = subprocess.run(
        [
            "erl",
            "-noshell",
            "-sasl",
            "sasl_error_logger",
            "false",
            "-kernel",
            "logger_level",
            "none",
            "-pa",
            erlang.ebin,
            erlang.programs,
            "-eval",
            f"monitored:{function}(), halt().",
        ],
        env={**os.environ, **path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not PLUGINS and "CI" not in os.environ, reason="host: no prometheus.erl")
def test_metrics_and_alarms_of_a_node(erlang):
    wrong, text = run(erlang, "main").split("\n", 1)
    assert "'9' is not a metric name" in wrong
    found = {}
    for family in text_string_to_metric_families(text):
        found |= {(sample.name, *sample.labels.values()): sample.value for sample in family.samples}
    assert found["shop_jobs_total", '"} 1\nevil 1\n'] == 4, "what clear() took away is kept"
    ends = {key[1]: count for key, count in found.items() if key[0] == "shop_size_bytes_bucket"}
    assert (ends["0"], ends["1"], ends["511"], ends["1023"], ends["2047"], ends["+Inf"]) == (
        1,
        2,
        2,
        3,
        4,
        4,
    )
    assert found["shop_size_bytes_sum",] == 2048 and found["shop_size_bytes_count",] == 4
    assert found["bare_count",] == 4 and found["bare_sum",] != found["bare_sum",], (
        "NaN: nobody knows it"
    )
    assert found["mean_sum",] == 2048 and found["mean_count",] == 4
    assert found["pydtrace_complete",] == 1
    if shutil.which("promtool"):
        mine = "".join(f"# {part}" for part in text.split("# ")[1:] if "erlang_" not in part)
        done = subprocess.run(
            ["promtool", "check", "metrics"],
            input=mine,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_alerts_are_messages(erlang):
    assert "no clause is called '9'" in run(erlang, "messages")
