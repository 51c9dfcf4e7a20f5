"""The difference of two profiles as a flame graph: what has grown is red, what has shrunk is blue.

- The widths are those after, or before, as the reader chooses.
- A box has a colour only if chance does not explain its change. Boxes of at least TESTED_SHARE of
  one profile are tested, with Holm's correction for all of them; smaller ones are grey. Where
  chance cannot be computed, every box has a colour, and the page says so.
"""

from __future__ import annotations

import math
from html import escape

from pydtrace.profile.flame_tree import FlameTree
from pydtrace.profile.flamegraph import FrameNames, PageData, fill_page

from . import chance
from .difference_text import describe_profile, format_amount

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace.profile.flame_tree import FlameNode

    from .profile_difference import ProfileDifference

TESTED_SHARE = 0.01
_GROWN, _SHRUNK = 8, 215  # hues
_BEFORE, _AFTER = 0, 1  # sides of the tree


def render_difference_page(difference: ProfileDifference, before: str, after: str) -> str:
    """before, after: the names of the files."""
    boxes = _build_tree(difference).select_boxes()
    nodes = [node for _, _, node in boxes]
    data = PageData(
        boxes,
        [_describe_box(difference, node) for node in nodes],
        [("widths: after", _AFTER), ("widths: before", _BEFORE)],
    )
    data.columns["colour"] = _pick_colours(difference, nodes)
    facts = [
        f"before: {before}, {describe_profile(difference.before)}",
        f"after: {after}, {describe_profile(difference.after)}",
    ]
    return fill_page(f"{after} compared with {before}", facts, data, _render_legend(difference))


def _build_tree(difference: ProfileDifference) -> FlameTree:
    sides = (difference.before, difference.after)
    names = FrameNames({place.file for each in sides for stack in each.stacks for place in stack})
    tree = FlameTree(2)
    for side, each in enumerate(sides):
        for stack, amount in each.stacks.items():
            tree.add_stack([names.find_name(place) for place in stack], amount, side)
    return tree


def _shares(difference: ProfileDifference, node: FlameNode) -> tuple[float, float]:
    return tuple(  # type: ignore[return-value]
        amount / whole for amount, whole in zip(node.amounts, difference.totals, strict=True)
    )


def _change(difference: ProfileDifference, node: FlameNode) -> float:
    first, second = node.amounts if difference.by_amount else _shares(difference, node)
    return second - first


def _describe_box(difference: ProfileDifference, node: FlameNode) -> str:
    change = _change(difference, node)
    if difference.by_amount:
        first, second = (format_amount(each, difference.unit) for each in node.amounts)
        sign = "+" if change > 0 else ""
        return f"{first} before, {second} after ({sign}{format_amount(change, difference.unit)})"
    first_share, second_share = _shares(difference, node)
    return f"{first_share:.1%} before, {second_share:.1%} after ({100 * change:+.1f} points)"


def _pick_colours(difference: ProfileDifference, nodes: list[FlameNode]) -> list[tuple[int, float]]:
    """(hue, strength from 0 to 1) of each."""
    changes = [_change(difference, node) for node in nodes]
    if not difference.no_chance:
        marked = _find_marked(difference, nodes)
        changes = [
            change if is_marked else 0.0 for change, is_marked in zip(changes, marked, strict=True)
        ]
    most = max(map(abs, changes), default=0.0) or 1.0
    return [
        (_GROWN if change > 0 else _SHRUNK, round(math.sqrt(abs(change) / most), 3))
        for change in changes
    ]


def _find_marked(difference: ProfileDifference, nodes: list[FlameNode]) -> list[bool]:
    """Whether chance does not explain the change of each."""
    tested = [max(_shares(difference, node)) >= TESTED_SHARE for node in nodes]
    probabilities = iter(
        chance.adjust_for_many(
            [
                difference.compare(*node.amounts).p or 0.0
                for node, is_tested in zip(nodes, tested, strict=True)
                if is_tested
            ]
        )
    )
    return [is_tested and next(probabilities) < chance.LEVEL for is_tested in tested]


def _render_legend(difference: ProfileDifference) -> str:
    """As HTML."""
    words = escape(
        difference.no_chance
        or f"grey: chance explains it, or less than {TESTED_SHARE:.0%} of both profiles"
    )
    return (
        f'<p id="legend"><i style="background:hsl({_GROWN} 85% 60%)"></i>grown'
        f'<i style="background:hsl({_SHRUNK} 85% 60%)"></i>shrunk'
        f'<i style="background:#999"></i>{words}</p>'
    )
