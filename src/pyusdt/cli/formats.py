"""How pydtrace shows what is traced: dtrace's text, or what an option asks for instead.

In: report.output.Output; notify: see report.text; what stood behind the option.  Out: a sink (tracing/sink.py).
Always: a sink is imported when it is asked for.
"""


def _text(output, notify, _):
    from ..report.text import Text

    return Text(output, notify)


def _json(output, notify, _):
    from ..report.json import Json

    return Json(output, notify)


def _parquet(output, notify, path):
    from ..report.parquet import Parquet

    return Parquet(output, notify, path)


def _live(output, notify, _):
    from ..report.live import Live

    return Live(output, notify)


TEXT = _text
FORMATS = {"json": _json, "parquet": _parquet, "live": _live}  # by their options
