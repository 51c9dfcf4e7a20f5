"""How pydtrace shows what it traces: by default dtrace's text, or the format that an option asks for.

In: report.output.Output; notify: see report.text; the option's value.  Out: a sink (tracing/sink.py).
Always: a sink is imported when it is asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..report.output import Notify, Output
    from ..tracing.sink import Sink

    Format = Callable[[Output, Notify, str | None], Sink]


def _text(output: Output, notify: Notify, _: str | None) -> Sink:
    from ..report.text import Text

    return Text(output, notify)


SCHEMAS = ("1", "2")  # of --json


def _json(output: Output, notify: Notify, schema: str | None) -> Sink:
    if schema == "2":
        from ..report.deltas import Lines

        return Lines(output, notify)
    from ..report.json import Json

    return Json(output, notify)


def _parquet(output: Output, notify: Notify, path: str | None) -> Sink:
    from ..report.parquet import Parquet

    return Parquet(output, notify, path or "")  # the option needs one


def _live(output: Output, notify: Notify, _: str | None) -> Sink:
    from ..report.live import Live

    return Live(output, notify)


def port_of(text: str) -> int:
    """The number of a port; ValueError."""
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 1 << 16):
        raise ValueError(text)
    return int(text)


def _web(output: Output, notify: Notify, port: str | None) -> Sink:
    from ..report.web import Web

    return Web(output, notify, port_of(port or "0"))


def _html(output: Output, notify: Notify, path: str | None) -> Sink:
    from ..report.web import Html

    return Html(output, notify, path or "")  # the option needs one


def _perfetto(output: Output, notify: Notify, path: str | None) -> Sink:
    from ..report.perfetto import Perfetto
    from ..report.timeline import Timeline

    return Timeline(output, notify, path or "", Perfetto)  # the option needs one


def _chrome(output: Output, notify: Notify, path: str | None) -> Sink:
    from ..report.chrome import Chrome
    from ..report.timeline import Timeline

    return Timeline(output, notify, path or "", Chrome)  # the option needs one


def address(text: str) -> tuple[str, int]:
    """(host, port) of [ADDR:]PORT; ValueError."""
    host, colon, port = text.rpartition(":")
    if colon and not host.strip("[]"):
        raise ValueError(text)
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", port_of(port)


def _metrics(output: Output, notify: Notify, text: str | None) -> Sink:
    from ..report.metrics import Metrics

    return Metrics(output, notify, address(text or ""))


TEXT = _text
FORMATS: dict[str, Format] = {"json": _json, "parquet": _parquet, "live": _live, "web": _web, "html": _html,
                              "metrics": _metrics, "perfetto": _perfetto, "chrome": _chrome}  # by their options


def beside(sink: Sink, notify: Notify, options: Mapping[str, Any]) -> Sink:
    """The sink, with those beside it that options ask for."""
    others: list[Sink] = []
    if "alert" in options:
        from ..report.alerts import Alerts

        others.append(Alerts(notify))
    if "otlp" in options:
        from ..report.otlp import Otlp

        others.append(Otlp(notify, options["otlp"]))
    if "spans" in options:
        from ..report.spans import Spans

        others.append(Spans(notify, options["spans"]))
    if not others:
        return sink
    from ..report.tee import Tee

    return Tee(sink, *others)
