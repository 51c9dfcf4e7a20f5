"""sinks/timeline/timeline_sink.py, Slices: which record begins and ends what, and what is let go where ends do not come."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace

import pytest

from pydtrace.sinks.timeline import timeline_sink
from pydtrace.sinks.timeline.timeline_sink import SliceTracker


class Writer:
    """A timeline.Writer that holds against it what it is told: ends and what is forgotten must have begun.  open: names by thread."""

    def __init__(self):
        self.open, self.told = {}, []

    def process(self, pid, name): ...

    def begin(self, track, time, name, values, flow):
        self.open.setdefault(track.ident, []).append(name)

    def end(self, track, time, values):
        self.told.append(("end", track.ident, self.open[track.ident].pop()))

    def forget(self, track):
        self.told.append(("forget", track.ident, self.open[track.ident].pop(0)))

    def instant(self, track, time, name, values, flow):
        self.told.append(("instant", track.ident, name))

    def names(self):
        return {ident: names for ident, names in self.open.items() if names}


@pytest.fixture
def slices(monkeypatch):
    monkeypatch.setattr(timeline_sink, "_MAX_OPEN", 5)
    monkeypatch.setattr(timeline_sink, "_MAX_DEPTH", 3)
    return SliceTracker(Writer(), "thread")


def tell(slices, thread, kind, name):
    slices.add_record(
        SimpleNamespace(names=(kind,), values=(name,), probe=None, pid=1, tid=thread, time=0)
    )


def test_slices_lie_within_each_other(slices):
    for kind, name in [("begin", "a"), ("begin", "b"), ("begin", "c"), ("end", "a"), ("end", "b")]:
        tell(slices, 1, kind, name)
    assert slices._writer.told == [
        ("end", 1, "c"),
        ("end", 1, "b"),
        ("end", 1, "a"),
        ("instant", 1, "b"),
    ]
    assert slices.abandoned == 0 and slices._open == {} and slices.describe_problems() == ""


def test_too_many_let_go_of_the_thread_that_was_silent_longest(slices):
    for thread in (1, 2, 3, 4, 5):
        tell(slices, thread, "begin", "a")
    tell(slices, 1, "begin", "b")  # which makes 2 the one
    assert slices._writer.told == [("forget", 2, "a")]
    tell(slices, 2, "end", "a")
    tell(slices, 1, "end", "a")
    assert slices._writer.told[1:] == [("instant", 2, "a"), ("end", 1, "b"), ("end", 1, "a")]
    assert (
        slices.describe_problems() == "1 slice has no end: too many others had begun and not ended"
    )
    assert slices._writer.names() == {3: ["a"], 4: ["a"], 5: ["a"]}


def test_too_deep_lets_go_of_the_outermost(slices):
    for n in range(6):
        tell(slices, 1, "begin", f"a{n}")
    assert slices.abandoned == 3 and slices._writer.names() == {1: ["a3", "a4", "a5"]}
    tell(slices, 1, "end", "a4")
    tell(slices, 1, "end", "a0")
    assert slices._writer.told[3:] == [("end", 1, "a5"), ("end", 1, "a4"), ("instant", 1, "a0")]


def test_what_is_remembered_has_a_bound_and_is_what_the_writer_has(slices):
    chance = random.Random(19)
    for _ in range(5000):
        tell(
            slices,
            chance.randrange(4),
            chance.choice(("begin", "begin", "end")),
            chance.choice("abc"),
        )
        kept = {track.ident: list(names) for track, names in slices._open.items()}
        assert kept == slices._writer.names() and sum(map(len, kept.values())) == slices._begun <= 5
        assert all(0 < len(names) <= 3 for names in kept.values())
        assert slices._names == Counter(name for names in kept.values() for name in names)
    assert slices.abandoned == sum(what == "forget" for what, *_ in slices._writer.told) > 100


def test_slices_that_end_on_other_tracks_are_told_where_most_do(slices):
    """What begins them says a task, say, and what ends them says none."""
    for thread, name in ((1, "a"), (2, "b"), (3, "c")):
        tell(slices, thread, "begin", name)
    tell(slices, 9, "end", "never begun")
    tell(slices, 1, "end", "a")
    tell(slices, 8, "end", "b")
    assert slices.describe_problems() == "", (
        "the first ends of a busy program have begun before it was looked at"
    )
    tell(slices, 8, "end", "b")
    assert slices.describe_problems().startswith(
        "most slices, 2, end on another track than they begin on: what begins them and what ends them must"
    )


def test_spans_that_are_let_go_are_not_sent(monkeypatch):
    pytest.importorskip("opentelemetry.sdk.trace")
    from pydtrace.sinks.otel import spans_sink

    monkeypatch.setattr(timeline_sink, "_MAX_OPEN", 3)
    sent = []
    writer = spans_sink._SpanWriter(
        SimpleNamespace(send=lambda span: sent.append(span.name)),
        SimpleNamespace(wall=lambda: 1e9, now=lambda: 0),
    )
    slices = SliceTracker(writer, "thread")
    for thread in range(10):
        tell(slices, thread, "begin", f"a{thread}")
    for thread in range(10):
        tell(slices, thread, "end", f"a{thread}")
    assert (sent, slices.abandoned, writer.open_spans, writer._open) == (
        ["a7", "a8", "a9"],
        7,
        0,
        {},
    )
    writer.close()
