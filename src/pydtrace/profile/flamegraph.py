"""A profile as a flame graph: one HTML page, complete in itself, as wide as the window, in which a
browser searches and zooms.

- What a process calls itself is text, never markup or script.
- A box has a short path; the whole path is in the line at the foot of the page.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from html import escape

from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .flame_tree import FlameTree
from .short_paths import ShortPaths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .flame_tree import FlameNode, Name
    from .frame_key import FrameKey
    from .stack_profile import Profile

_MARK = re.compile(r"\{\{([A-Z]+)\}\}")
_TEMPLATE = os.path.join(os.path.dirname(__file__), "flamegraph_page.html")


class FrameNames:
    """Names of frames as pages show them.  files: all that there are."""

    def __init__(self, files: set[str]) -> None:
        paths = ShortPaths(files)
        self._shorten = functools.cache(lambda file: escape_for_terminal(paths.shorten(file)))
        self.find_name = functools.cache(self._make_name)

    def _make_name(self, place: FrameKey) -> Name:
        line = "" if place.line is None else f":{place.line}"
        whole = f"{escape_for_terminal(place.file)}{line}" if place.file else ""
        short = f"{self._shorten(place.file)}{line}" if place.file else ""
        return escape_for_terminal(place.function), short, whole


def _pick_colour(name: Name) -> tuple[int, int]:
    """(hue, saturation): warm, the same for a function in every graph; by its file, so that what belongs together looks alike."""
    file = name[2].partition(":")[0].encode("utf-8", "replace")
    number = hashlib.blake2b(file, digest_size=2).digest()
    return number[0] * 50 // 255 + 5, 55 + number[1] * 30 // 255


def _encode_json(data: Any) -> str:
    """For a script element: nothing in it ends the element."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class PageData:
    """The boxes of a page, as its script reads them.  boxes: of FlameTree.select_boxes(); texts: what the page says of each; sides: the
    names of the widths that a reader can choose from, and which amount of a node each shows."""

    def __init__(
        self,
        boxes: Sequence[tuple[int, Name, FlameNode]],
        texts: Sequence[str],
        sides: Sequence[tuple[str, int]],
    ) -> None:
        numbers: dict[Name, int] = {}
        self.columns: dict[str, Any] = {
            "name": [numbers.setdefault(name, len(numbers)) for _, name, _ in boxes],
            "depth": [row for row, _, _ in boxes],
            "text": texts,
            "sides": [_encode_side(boxes, name, side) for name, side in sides],
        }
        self.columns["names"] = list(numbers)
        self.columns["hues"] = [_pick_colour(name) for name in numbers]


def _encode_side(
    boxes: Sequence[tuple[int, Name, FlameNode]], name: str, side: int
) -> dict[str, Any]:
    whole = (boxes[0][2].amounts[side] if boxes else 0) or 1
    return {
        "name": name,
        "x": [round(node.starts[side] / whole, 7) for _, _, node in boxes],
        "width": [round(node.amounts[side] / whole, 7) for _, _, node in boxes],
    }


def fill_page(title: str, facts: Sequence[str], data: PageData, legend: str = "") -> str:
    """title, facts: text; legend: HTML."""
    with open(_TEMPLATE, encoding="utf-8") as file:
        page = file.read()
    values = {
        "TITLE": escape(escape_for_terminal(title)),
        "FACTS": escape(escape_for_terminal(" · ".join(facts))),
        "LEGEND": legend,
        "DATA": _encode_json(data.columns),
    }
    return _MARK.sub(lambda mark: values[mark[1]], page)


def render_flamegraph(profile: Profile, title: str, facts: Sequence[str] = ()) -> str:
    """title: what the profile is of; facts: what else stands on top, such as host and time."""
    tree = FlameTree()
    names = FrameNames({place.file for _, stack in profile.stacks for place in stack})
    for thread, stacks in profile.group_by_thread():
        above = [(escape_for_terminal(thread), "", "")] if thread else []
        for stack, n in stacks:
            tree.add_stack([*above, *map(names.find_name, stack)], n)
    boxes = tree.select_boxes() if profile.samples else []
    whole = tree.root.amounts[0]
    texts = [
        f"{profile.format_amount(int(node.amounts[0]))}, {node.amounts[0] / whole:.1%}"
        for _, _, node in boxes
    ]
    return fill_page(title, facts, PageData(boxes, texts, [("samples", 0)]))
