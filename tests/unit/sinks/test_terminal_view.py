"""What the screen of --live shows where there is little room."""

from types import SimpleNamespace

from pydtrace.sinks.live import terminal_view
from tests.support.made_up.made_live_views import percentiles, quantize, watched


def rows(*sums):
    return [(f"row{number}", [count], 1) for number, count in enumerate(sums)]


def test_the_fullest_lines_are_shown_and_say_what_lies_between():
    """Values below and above 0 are seen both, though most lines between them are all but empty."""
    assert [
        label for label, _, _ in terminal_view._fullest_rows(rows(1, 9, 8, 0, 1, 0, 7, 9, 2), 5)
    ] == ["… row1", "row2", "… row6", "row7", "row8"]
    assert terminal_view._fullest_rows(rows(5, 0, 7), 3) == rows(5, 0, 7)
    assert [label for label, _, _ in terminal_view._fullest_rows(rows(3, 3, 3), 1)] == ["row0"]


def test_the_first_panel_has_half_of_the_room():
    made = watched(
        {name: {("a",): quantize(_8=1, _64=2), ("b",): quantize(_512=1)} for name in "xyz"}
    )
    panels = list(made.panels.values())
    assert [(panel.name, share) for panel, share in terminal_view._divide_lines(panels, 16)] == [
        ("x", 8),
        ("y", 4),
        ("z", 4),
    ]
    assert [share for _, share in terminal_view._divide_lines(panels[:1], 16)] == [12], (
        "as much as it needs: title, 7 lines and their axis, heading and two keys"
    )
    assert [share for _, share in terminal_view._divide_lines(panels, 6)] == [4, 2]


def test_a_narrow_table_has_the_columns_that_fit():
    made = watched({"d": {("a",): percentiles(-5000, 7, 70000)}})
    panel = made.panels["d"]
    lines = list(panel.lines.values())
    wide, narrow = (
        [column.header for column in terminal_view._make_table(panel, lines, width).columns]
        for width in (80, 30)
    )
    assert wide == ["key", "values", "p50", "p90", "p99", "p99.9", "max", "/s", ""]
    assert narrow == ["key", "values", "p50", "p99", "/s"]
    assert [
        next(iter(column.cells)).plain
        for column in terminal_view._make_table(panel, lines, 30).columns
    ] == ["a", "3", "7", "70k", "3"]


def test_what_is_left_out_is_said():
    made = watched({"us": {("a",): quantize(_8=1, _64=2, _512=1), ("b",): quantize(_512=1)}})
    drawn = terminal_view.TerminalView._draw_panel(
        SimpleNamespace(
            _select_lines=lambda panel: list(panel.lines.values()),
            _sort=0,
            _draw_heat_row=lambda row, _: row,
        ),
        made.panels["us"],
        6,
        80,
        1.0,
    )
    title, *lines = drawn
    assert title.plain == "@us = quantize()  2 keys, by value  3 of 7 lines"
    assert [line[0] for line in lines[:3]] == ["512 us", "… 64 us", "… 8 us"]
