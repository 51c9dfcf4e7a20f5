"""The tree of a flame graph: what its boxes are, and which are too narrow to be drawn.

- A box is as wide as its amount. One that is narrower than MIN_SHARE of the whole is left out with
  all that stands on it, and so are the innermost rows beyond MAX_BOXES.
- Children stand in the order of their names, so that two graphs of one program can be compared.
"""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MIN_SHARE = 1 / 12_000  # of the whole
MAX_DEPTH = 2000  # rows
MAX_BOXES = 1 << 16

Name = tuple[str, str, str]  # a function, its file in short, the whole path with the line
ROOT: Name = ("all", "", "")


class FlameNode:
    """amounts: of it with its children, on each side: one profile, or one before and one after; starts: the amounts left of it."""

    __slots__ = ("amounts", "children", "starts")

    def __init__(self, sides: int) -> None:
        self.amounts, self.starts = [0.0] * sides, [0.0] * sides
        self.children: dict[Name, FlameNode] = {}


class FlameTree:
    """sides: how many profiles are in it."""

    def __init__(self, sides: int = 1) -> None:
        self._sides = sides
        self.root = FlameNode(sides)

    def add_stack(self, names: Sequence[Name], amount: float, side: int = 0) -> None:
        node = self.root
        node.amounts[side] += amount
        for name in names[:MAX_DEPTH]:
            node = node.children.setdefault(name, FlameNode(self._sides))
            node.amounts[side] += amount

    def select_boxes(self) -> list[tuple[int, Name, FlameNode]]:
        """(row, name, node) of those that are drawn, each before its children."""
        keep = self._find_kept()
        found: list[tuple[int, Name, FlameNode]] = []
        left: list[tuple[int, Name, FlameNode]] = [(0, ROOT, self.root)]
        while left:
            row, name, node = left.pop()
            found.append((row, name, node))
            children = sorted(node.children.items())
            starts = node.starts
            for _, below in children:
                below.starts = starts
                starts = [x + n for x, n in zip(starts, below.amounts, strict=True)]
            left += [(row + 1, *each) for each in reversed(children) if id(each[1]) in keep]
        return found

    def _find_kept(self) -> set[int]:
        """Row by row, so that the innermost are left out."""
        keep: set[int] = set()
        rows: deque[Iterable[FlameNode]] = deque([self.root.children.values()])
        while rows and len(keep) < MAX_BOXES:
            for node in rows.popleft():
                if len(keep) < MAX_BOXES and self._is_wide(node):
                    keep.add(id(node))
                    rows.append(node.children.values())
        return keep

    def _is_wide(self, node: FlameNode) -> bool:
        return any(
            amount >= MIN_SHARE * whole
            for amount, whole in zip(node.amounts, self.root.amounts, strict=True)
            if whole
        )
