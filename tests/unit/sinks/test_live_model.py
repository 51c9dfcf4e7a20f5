"""Live views: what a view keeps of made-up aggregations, and how a screen of any size draws it."""

import fcntl
import os
import pty
import re
import struct
import termios
from concurrent.futures import ThreadPoolExecutor
from math import inf, nan

import pytest

from pydtrace.dlang.builtins.registry import AGGREGATIONS
from pydtrace.results.aggregation_values import Number
from pydtrace.sinks.live import live_model, readable_values, terminal_view, view_json
from tests.support.made_up.made_live_views import (
    FULL,
    count,
    percentiles,
    quantize,
    real_sum,
    watched,
)

pytestmark = pytest.mark.own_processes


def test_what_came_in_an_interval():
    made = watched(
        {"a": {("x",): count(5)}},
        {"a": {("x",): count(25)}},
        {"a": {("x",): count(25), ("y",): count(1)}},
        seconds=2.0,
    )
    lines = made.panels["a"].lines
    assert (list(lines["x",].past), lines["x",].rate, lines["x",].value) == ([5, 20, 0], 0.0, 25)
    assert (list(lines["y",].past), lines["y",].rate) == ([1], 0.5)


def test_after_clear_and_trunc_nothing_is_negative():
    made = watched(
        {"a": {("x",): count(9), ("y",): count(2)}},
        {"a": {("x",): count(4), ("y",): count(0)}},
        {"a": {("x",): count(5)}},
    )
    lines = made.panels["a"].lines
    assert list(lines["x",].past) == [9, 4, 1] and set(lines) == {("x",)}
    assert made.panels["a"].keys == 1


@pytest.mark.parametrize(
    ("function", "words", "came"),
    [
        ("sum", ([1, 10], [3, 4]), [10, -6]),  # of negative numbers
        ("max", ([1, 10], [4, 12]), [1, 3]),
        ("avg", ([2, 10], [5, 12]), [2, 3]),
        ("min", ([7, 10], [7, 10]), [7, 0]),
    ],
)
def test_what_counts_as_coming(function, words, came):
    """Of a sum what was added, of a mean or an extreme how many values."""
    made = watched(*({"a": {(): Number(AGGREGATIONS[function], each)}} for each in words))
    assert list(made.panels["a"].lines[()].past) == came


def test_a_distribution_over_time():
    made = watched(
        {"a": {("x",): quantize(_8=3)}},
        {"a": {("x",): quantize(_8=3, _16=2), ("y",): quantize(_8=1)}},
        {"a": {("x",): quantize(_8=1), ("y",): quantize(_8=1)}},
    )  # x was cleared
    panel = made.panels["a"]
    eight, sixteen = 63 + 4, 63 + 5
    assert panel.is_distribution
    assert panel.sum_columns() == [{eight: 3}, {sixteen: 2, eight: 1}, {eight: 1}]
    assert panel.sum_columns([("y",)]) == [{eight: 1}, {}]
    assert panel.sum_columns([("none",)]) == []


def test_percentiles_over_time():
    made = watched(
        {"a": {(): percentiles(1000, 1001)}}, {"a": {(): percentiles(1000, 1001, 1100, 70000)}}
    )
    panel = made.panels["a"]
    first, second = panel.sum_columns()
    (thousand,) = first
    assert first == {thousand: 2} and second[thousand] == 1 and len(second) == 2, (
        "1000 and 1100 are one line of the map"
    )
    (told_,) = view_json.full_state(made, 0.0, 1.0)["panels"]
    assert (told_["percents"], told_["lines"][0]["percentiles"]) == (
        ["p50", "p90", "p99", "p99.9", "max"],
        ["999", "70k", "70k", "70k", "70k"],
    )
    assert told_["buckets"][thousand] == "800"


def test_what_is_kept_is_bounded():
    many = {(f"k{i}",): count(i) for i in range(5000)}
    made = watched(*[{"a": many}] * (live_model.HISTORY + 10))
    panel = made.panels["a"]
    assert panel.keys == 5000 and len(panel.lines) == live_model.MAX_KEPT_KEYS
    assert ("k4999",) in panel.lines and ("k1",) not in panel.lines
    assert {len(line.past) for line in panel.lines.values()} == {live_model.HISTORY}
    for number in range(2 * live_model.MAX_LOG_LINES):
        made.add_text(b"%d\n" % number)
    assert len(made.log) == live_model.MAX_LOG_LINES
    made.add_text(b"x" * 1_000_000)
    assert len(made._partial_line) == 4096


def test_a_key_among_many_that_becomes_great_did_not_come_at_once():
    """Its past was not kept, but what it had before is known."""
    many = {(f"k{i}",): count(100 + i) for i in range(live_model.MAX_KEPT_KEYS)}
    made = watched({"a": {**many, ("x",): count(50)}}, {"a": {**many, ("x",): count(5000)}})
    assert list(made.panels["a"].lines["x",].past) == [4950]


def test_text_comes_in_parts():
    made = live_model.LiveModel()
    for part in (b"on", b"e\ntw", b"o\n\n", b"\xff\n"):
        made.add_text(part)
    assert list(made.log) == ["one", "two", "\udcff"]


# ---- the screen ----


def drawn(made, columns, rows, keys="", **environment):
    """The lines that a terminal of that size shows, colours taken out; and whether there were some."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as person:
        for name in ("NO_COLOR", "COLUMNS", "LINES", "COLORTERM"):
            patch.delenv(name, raising=False)
        patch.setenv("TERM", "xterm-256color")
        for name, value in environment.items():
            patch.setenv(name, value)
        seen = person.submit(read, main)  # beside it: a terminal holds less than a large screen
        with terminal_view.TerminalView(made, other, "made-up") as shown:
            for key in keys:
                (shown.type_key if shown.typing or key == "/" else shown.press_key)(key)
            os.write(other, MARK)
            shown.draw_screen(1.0)
            os.write(other, MARK)
        os.close(other)
        text = seen.result().split(MARK)[1].decode()
    os.close(main)
    assert "\x1b[31mcart" not in text
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "").split(
        "\n"
    ), "\x1b[48;5;" in text


MARK = b"\x00drawn\x00"


def read(fd):
    """All that is written to a terminal until it is closed."""
    found = b""
    while True:
        try:
            found += os.read(fd, 65536)
        except OSError:  # EIO: the other side is closed
            return found


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (200, 60), (40, 12), (20, 5), (10, 2)])
@pytest.mark.parametrize("log", [0, 3, 300])
def test_a_screen_is_as_large_as_the_terminal(columns, rows, log):
    made = watched(*FULL)
    made.add_text(b"".join(b"line %d \x1b[2J\n" % i for i in range(log)))
    lines, _ = drawn(made, columns, rows)
    assert len(lines) <= rows and max(map(len, lines)) <= columns
    assert lines[0].startswith("00:00  eve"[: columns - 1])
    if rows >= 24:
        assert {"@calls", "@lat", "@one"} <= {line.split(" ", 1)[0] for line in lines}
        assert any(r"/cart\x1b[31m" in line for line in lines)
        assert not log or any(rf"line {log - 1} \x1b[2J" in line for line in lines)


@pytest.mark.parametrize("total", [inf, -inf, nan, 1.7e308])
def test_what_can_not_be_drawn(total):
    """A traced process gives sum() an infinity: the screen says so, and goes on."""
    made = watched(
        {"a": {("x",): real_sum(1, 1.5), ("y",): real_sum(1, 2.0)}},
        {"a": {("x",): real_sum(2, total), ("y",): real_sum(2, 3.0)}},
        {"a": {("x",): real_sum(3, total), ("y",): real_sum(3, 4.0)}},
        seconds=0.2,
    )
    lines, _ = drawn(made, 100, 20)
    shown = f"{total:g}" if total != 1.7e308 else "1.7e+290E"
    assert any(line.split()[:2] == ["x", shown] for line in lines), lines
    assert any(line.split()[:3] == ["y", "4", "5"] for line in lines), lines


def test_colours_and_their_absence():
    made = watched(*FULL)
    assert drawn(made, 100, 40)[1]
    lines, coloured = drawn(made, 100, 40, NO_COLOR="1")
    assert not coloured
    heat = next(line for line in lines if line.lstrip().startswith("1024 "))
    assert heat.split("1024 ", 1)[1].rstrip()[-1] == "@"


def test_keys_change_what_is_shown():
    made = watched(*FULL)

    def keys_of(found):
        return [line.split()[0] for line in found if line.startswith("/")]

    assert keys_of(drawn(made, 100, 50)[0])[:2] == [r"/cart\x1b[31m", "/"]  # by value: 1521 and 117
    assert keys_of(drawn(made, 100, 50, keys="ss")[0])[:2] == ["/", r"/cart\x1b[31m"]  # by key
    lines = drawn(made, 100, 50, keys="/CART\n")[0]
    assert keys_of(lines) == [r"/cart\x1b[31m"] and "  /CART  " in lines[0]
    assert "  /C_" in drawn(made, 100, 50, keys="/CART\x7f\x7f\x7f")[0][0]
    assert "/CART" not in drawn(made, 100, 50, keys="/CART\x1b")[0][0]
    assert drawn(made, 100, 50, keys="\t")[0][1].startswith("@lat")
    assert (
        "paused" in drawn(made, 100, 50, keys="p")[0][0]
        and "paused" not in drawn(made, 100, 50, keys="pp")[0][0]
    )
    assert "paused" not in drawn(made, 100, 50, keys="\x00x\u2603")[0][0]


def test_losses_are_shown():
    made = watched(*FULL)
    made.add_drops("principal", 3)
    made.add_drops("principal", 4)
    assert "  7 drops" in drawn(made, 100, 50)[0][0]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (9994, "9994"),
        (10_000, "10k"),
        (999_999, "1M"),
        (1_234_567, "1.23M"),
        (-(2**63), "-9.22E"),
        (1.5, "1.5"),
        (2**31, "2.15G"),
    ],
)
def test_numbers_are_short(number, text):
    assert readable_values.short_number(number) == text


@pytest.mark.parametrize(
    ("name", "number", "text"),
    [
        ("ns", 1_234_567, "1.23 ms"),
        ("wait_us", 999, "999 us"),
        ("ms", 999.7, "1 s"),
        ("SECONDS", 3600, "3600 s"),
        ("bytes", 2**31, "2.15G bytes"),
        ("us", 0, "0 us"),
        ("ns", inf, "inf ns"),
        ("columns", 12_000, "12k"),
        ("", 5, "5"),
    ],
)
def test_the_name_of_an_aggregation_has_its_unit(name, number, text):
    assert readable_values.quantity(number, readable_values.unit_of_name(name)) == text


def test_an_aggregation_has_a_title():
    """Its name; without one what the script assigns to it."""
    what = "quantize(arg.ms)", ("arg.route", "copyinstr(arg1)", "self->user", "pid % 8")
    assert readable_values.panel_title("", *what) == (
        "quantize(arg.ms) by arg.route, copyinstr(arg1), self->user, pid % 8",
        "",
    )
    assert readable_values.panel_title("lat", "count()", ()) == ("@lat", "count()")
    assert readable_values.key_heading(what[1]) == "route  arg1  user  pid % 8"


def test_a_title_has_the_values_of_the_arguments():
    words = ["dtrace", "1000"]
    assert readable_values.replace_macros("arg.duration / $1 + $$1 + $2", words) == (
        "arg.duration / 1000 + 1000 + $2"
    )


@pytest.mark.parametrize("columns", [60, 61, 70, 80, 120, 200])
def test_keys_have_the_room_that_they_need(columns):
    """Percentiles and the past have what is left."""
    keys = ["/a/route/of/thirty-six/characters/00", "/b"]
    growing = [percentiles(*[1000] * i) for i in range(1, 12)]
    made = watched(*[{"ms": dict.fromkeys([(key,) for key in keys], made)} for made in growing])
    lines, _ = drawn(made, columns, 30)
    assert max(map(len, lines)) <= columns
    heading = next(line for line in lines if line.startswith("key "))
    shown = [line for line in lines if line.startswith("/")]
    assert sorted(line.split()[0] for line in shown) == sorted(keys)
    words = heading.split()
    assert words[:3] == ["key", "values", "p50"] and words[-1] == "/s"
    assert columns < 100 or words == ["key", "values", "p50", "p90", "p99", "p99.9", "max", "/s"]
    assert columns < 120 or "█" in shown[0]
    assert any(re.match(r" *-\S.* s +now *$", line) for line in lines), lines
