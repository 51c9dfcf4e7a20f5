"""Progress of what takes long: a line on a terminal, and nothing elsewhere."""

import io

import pytest

from pydtrace.cli.pydtrace import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_line_that_is_replaced_and_goes(clock):
    terminal = Terminal()
    made = progress.Progress(terminal, owns_terminal=True)
    made.show_attaching(1, 3000)
    assert terminal.getvalue() == "", "it does not take long yet"
    clock[0] += 3
    made.show_attaching(1000, 3000)
    made.show_attaching(1001, 3000)  # too soon for another
    clock[0] += 1
    made.show_attaching(2000, 3000)
    made.show_attaching(3000, 3000)
    assert terminal.getvalue() == (
        "\rdtrace: attaching, 1000 of 3000 probes\x1b[K\rdtrace: attaching, 2000 of 3000 probes\x1b[K"
        "\r\x1b[K"
    )


def test_of_a_recording(clock):
    terminal = Terminal()
    made = progress.Progress(terminal, owns_terminal=True)
    clock[0] += 3
    made.show_replaying(150, (100, 300))
    assert terminal.getvalue() == "\rdtrace: replaying, 25 %\x1b[K"
    made.clear()
    made.clear()
    assert terminal.getvalue().count("\r") == 2
    for span in (None, (5, 5)):
        made.show_replaying(1, span)


@pytest.mark.parametrize(("stream", "alone"), [(io.StringIO, True), (Terminal, False)])
def test_where_there_is_none(stream, alone, clock):
    """No terminal; or one on which the script prints, too."""
    out = stream()
    made = progress.Progress(out, alone)
    clock[0] += 3
    made.show_replaying(150, (100, 300))
    assert out.getvalue() == ""
