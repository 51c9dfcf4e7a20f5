"""dtrace's text, of made-up records."""

from __future__ import annotations

from pydtrace.driver.sink import TraceInfo
from pydtrace.options import Options
from pydtrace.sinks.dtrace_text_sink import DtraceTextSink
from pydtrace.sinks.tee import Tee
from tests.support.made_up.sink_feeder import TOLD, Acts, begun, feed, marked, record


def test_text(program, output):
    output_, notify, written, told = output
    feed(program, DtraceTextSink(output_, notify))
    assert written() == (
        b"CPU     ID                    FUNCTION:NAME\n  0      1                         fun:name who=me n=5\n"
        b"  0      1                         fun:name <clear>          7\n\n        1                4\n"
    )
    assert told == TOLD


def test_text_marks_what_can_not_be_ordered(program, output):
    output_, notify, written, _ = output
    sink = begun(program, DtraceTextSink(output_, notify))
    sink.records(
        record(program.clauses[0], b"me\0", 5)
        + marked(record(program.clauses[0], b"me\0", 6))
        + marked(record(program.clauses[1], 7))
    )
    assert written().split(b"\n")[1:] == [
        b"  0      1                         fun:name who=me n=5",
        b"~ 0      1                         fun:name who=me n=6",
        b"~ 0      1                         fun:name <clear>          7",
        b"",
    ]


class Looks(DtraceTextSink):
    """It prints, and looks at the records, too."""


def test_only_text_by_itself_is_printed_by_the_engine(program, output):
    output_, notify, _, _ = output
    alone, looks, shown = (
        DtraceTextSink(output_, notify),
        Looks(output_, notify),
        DtraceTextSink(output_, notify),
    )
    tee = Tee(shown, DtraceTextSink(output_, notify))
    for sink in (alone, looks, tee):
        sink.begin(
            TraceInfo(
                program,
                Options(),
                Acts(sink),
                lambda ident: ("pro", "mod", "fun", "name"),
                "made-up",
                "of a test",
            )
        )
    assert alone.formatter and not looks.formatter and not tee.formatter
