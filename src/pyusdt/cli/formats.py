"""How pydtrace shows what is traced: dtrace's text, or what an option asks for instead.

In: an option and its argument.  Out: a sink (tracing/sink.py).  Always: a sink is imported when it is asked for.
"""


class Format:
    """argument: what the option needs behind it, in words, None where it needs nothing; make(output, notify, argument): its
    sink; output: report.output.Output; notify: see there."""

    __slots__ = ("argument", "make")

    def __init__(self, argument, make):
        self.argument, self.make = argument, make


def _text(output, notify, _):
    from ..report.text import Text

    return Text(output, notify)


def _json(output, notify, _):
    from ..report.json import Json

    return Json(output, notify)


def _parquet(output, notify, path):
    from ..report.parquet import Parquet

    return Parquet(output, notify, path)


TEXT = Format(None, _text)
FORMATS = {"--json": Format(None, _json), "--parquet": Format("the name of a file", _parquet)}
