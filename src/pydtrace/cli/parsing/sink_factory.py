"""Choose the sink for a tracing: dtrace's text by default, or the format that an option asks for.

- A sink is imported when it is asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from pydtrace.driver.sink import Sink
    from pydtrace.sinks.output_file import Notify, Output

    Format = Callable[[Output, Notify, str | None], Sink]


def _make_text_sink(output: Output, notify: Notify, _: str | None) -> Sink:
    from pydtrace.sinks.dtrace_text_sink import DtraceTextSink

    return DtraceTextSink(output, notify)


SCHEMAS = ("1", "2")  # of --json


def _make_json_sink(output: Output, notify: Notify, schema: str | None) -> Sink:
    if schema == "2":
        from pydtrace.sinks.host_protocol_sink import HostProtocolSink

        return HostProtocolSink(output, notify)
    from pydtrace.sinks.json_sink import JsonSink

    return JsonSink(output, notify)


def _make_parquet_sink(output: Output, notify: Notify, path: str | None) -> Sink:
    from pydtrace.sinks.parquet_sink import ParquetSink

    return ParquetSink(output, notify, path or "")  # the option needs one


def _make_live_sink(output: Output, notify: Notify, _: str | None) -> Sink:
    from pydtrace.sinks.live.terminal_sink import TerminalSink

    return TerminalSink(output, notify)


def parse_port(text: str) -> int:
    """The number of a port; ValueError."""
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 1 << 16):
        raise ValueError(text)
    return int(text)


def _make_web_sink(output: Output, notify: Notify, port: str | None) -> Sink:
    from pydtrace.sinks.live.web_sink import WebSink

    return WebSink(output, notify, parse_port(port or "0"))


def _make_html_sink(output: Output, notify: Notify, path: str | None) -> Sink:
    from pydtrace.sinks.live.web_sink import HtmlSink

    return HtmlSink(output, notify, path or "")  # the option needs one


def _make_perfetto_sink(output: Output, notify: Notify, path: str | None) -> Sink:
    from pydtrace.sinks.timeline.perfetto_writer import PerfettoWriter
    from pydtrace.sinks.timeline.timeline_sink import TimelineSink

    return TimelineSink(output, notify, path or "", PerfettoWriter)  # the option needs one


def _make_chrome_sink(output: Output, notify: Notify, path: str | None) -> Sink:
    from pydtrace.sinks.timeline.chrome_trace_writer import ChromeTraceWriter
    from pydtrace.sinks.timeline.timeline_sink import TimelineSink

    return TimelineSink(output, notify, path or "", ChromeTraceWriter)  # the option needs one


def parse_address(text: str) -> tuple[str, int]:
    """(host, port) of [ADDR:]PORT; ValueError."""
    host, colon, port = text.rpartition(":")
    if colon and not host.strip("[]"):
        raise ValueError(text)
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", parse_port(port)


def _make_metrics_sink(output: Output, notify: Notify, text: str | None) -> Sink:
    from pydtrace.sinks.metrics.metrics_sink import MetricsSink

    return MetricsSink(output, notify, parse_address(text or ""))


TEXT_FORMAT = _make_text_sink
FORMATS: dict[str, Format] = {
    "json": _make_json_sink,
    "parquet": _make_parquet_sink,
    "live": _make_live_sink,
    "web": _make_web_sink,
    "html": _make_html_sink,
    "metrics": _make_metrics_sink,
    "perfetto": _make_perfetto_sink,
    "chrome": _make_chrome_sink,
}  # by their options


def add_observers(sink: Sink, notify: Notify, options: Mapping[str, Any]) -> Sink:
    """The sink, with those beside it that options ask for."""
    others: list[Sink] = []
    if "alert" in options:
        from pydtrace.sinks.alerts.alerts_sink import AlertsSink

        others.append(AlertsSink(notify))
    if "otlp" in options:
        from pydtrace.sinks.otel.otlp_sink import OtlpSink

        others.append(OtlpSink(notify, options["otlp"]))
    if "spans" in options:
        from pydtrace.sinks.otel.spans_sink import SpansSink

        others.append(SpansSink(notify, options["spans"]))
    if not others:
        return sink
    from pydtrace.sinks.tee import Tee

    return Tee(sink, *others)
