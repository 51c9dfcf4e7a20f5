"""A profile as a flame graph: one SVG file, complete in itself, in which a browser searches and
zooms.

- What a process calls itself is text, never markup or script.
- A box is as wide as its share of the samples. What is narrower than SMALLEST is left out with
  what stands on it, and so are the innermost rows beyond MOST boxes.
- Children stand in the order of their names, so that two graphs of one program can be compared.
"""

from __future__ import annotations

import functools
import hashlib
from collections import deque
from html import escape

from pydtrace.untrusted.terminal_escape import escape_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .stack_profile import Profile

WIDTH, ROW, TOP = 1200, 17, 44  # pixels
MIN_WIDTH = 0.1  # pixels of a box
MAX_DEPTH = 2000  # rows
MAX_BOXES = 1 << 17  # boxes, which is more than a browser draws with pleasure
_CHARACTER = 6.6  # pixels of one, about

_SCRIPT = """
const boxes = [...document.querySelectorAll("g.b")], found = document.getElementById("found");
const whole = %(width)d, character = %(character)s;
for (const box of boxes) { box.x = +box.dataset.x; box.w = +box.dataset.w; box.row = +box.dataset.row; }
function draw(x, w) {
  for (const box of boxes) {
    const left = Math.max(0, (box.x - x) / w * whole), right = Math.min(whole, (box.x + box.w - x) / w * whole);
    box.style.display = right - left < 0.1 ? "none" : "";
    const [rect, text] = [box.querySelector("rect"), box.querySelector("text")];
    rect.setAttribute("x", left); rect.setAttribute("width", Math.max(0, right - left));
    text.setAttribute("x", left + 3);
    const room = Math.floor((right - left - 6) / character), name = box.dataset.name;
    text.textContent = room < 3 ? "" : name.length <= room ? name : name.slice(0, room - 1) + "…";
  }
}
function search(wanted) {
  let rows = [], words = wanted.toLowerCase();
  for (const box of boxes) {
    const hit = words !== "" && box.dataset.name.toLowerCase().includes(words);
    box.classList.toggle("hit", hit);
    if (hit) rows.push(box);
  }
  rows.sort((a, b) => a.x - b.x || b.w - a.w);
  let end = -1, sum = 0;
  for (const box of rows) if (box.x >= end) { sum += box.w; end = box.x + box.w; }
  found.textContent = words === "" ? "" : (100 * sum).toFixed(1) + " %% match " + wanted;
}
document.addEventListener("click", event => {
  const box = event.target.closest("g.b");
  if (box) draw(box.x, box.w);
  else if (event.target.closest("#search")) search(prompt("Search for a part of a name") ?? "");
  else draw(0, 1);
});
document.addEventListener("keydown", event => {
  if ((event.ctrlKey || event.metaKey) && event.key === "f") { event.preventDefault(); search(prompt("Search for a part of a name") ?? ""); }
  if (event.key === "Escape") { draw(0, 1); search(""); }
});
"""

_STYLE = (
    "text{font:11px monospace;pointer-events:none}.b{cursor:pointer}.b:hover rect{stroke:#000}.hit rect{fill:#c050e0}"
    "#search{cursor:pointer;pointer-events:all;text-decoration:underline}"
)


class _Node:
    __slots__ = ("children", "n")

    def __init__(self) -> None:
        self.n = 0
        self.children: dict[str, _Node] = {}

    def add_stack(self, names: list[str], n: int) -> None:
        node = self
        node.n += n
        for name in names[:MAX_DEPTH]:
            node = node.children.setdefault(name, _Node())
            node.n += n


def _build_tree(profile: Profile) -> _Node:
    root = _Node()
    shown = functools.cache(escape_for_terminal)  # each text once, however often it is in the tree
    for thread, stacks in profile.group_by_thread():
        for stack, n in stacks:
            root.add_stack(
                [
                    shown(text)
                    for text in ([thread] if thread else []) + [place.text for place in stack]
                ],
                n,
            )
    return root


def _pick_colour(name: str) -> str:
    """Warm, the same for a function in every graph; by its file, so that what belongs together looks alike."""
    number = hashlib.blake2b(
        name.rpartition("(")[2].partition(":")[0].encode("utf-8", "replace"), digest_size=2
    ).digest()
    return f"hsl({number[0] * 50 // 255 + 5} {60 + number[1] * 30 // 255}% 62%)"


def _shorten_name(name: str, width: float) -> str:
    room = int((width - 6) / _CHARACTER)
    return "" if room < 3 else name if len(name) <= room else name[: room - 1] + "…"


def _draw_box(name: str, share: float, amount: str, start: float, row: int) -> str:
    x, width, y = start * WIDTH, share * WIDTH, TOP + row * ROW
    title = escape(f"{name}: {amount}, {share:.1%}")
    return (
        f'<g class="b" data-x="{start:.6f}" data-w="{share:.6f}" data-row="{row}" data-name="{escape(name)}"><title>{title}</title>'
        f'<rect x="{x:.1f}" y="{y}" width="{width:.2f}" height="{ROW - 1}" fill="{_pick_colour(name)}"/>'
        f'<text x="{x + 3:.1f}" y="{y + 12}">{escape(_shorten_name(name, width))}</text></g>\n'
    )


def _draw_boxes(root: _Node, amount: Callable[[int], str]) -> tuple[list[str], int]:
    """The boxes, outermost on top, and how many rows there are."""
    drawn: list[str] = []
    rows = 0
    left: deque[tuple[str, _Node, float, int]] = deque([("all", root, 0.0, 0)])
    while left and len(drawn) < MAX_BOXES:
        name, node, start, row = left.popleft()
        drawn.append(_draw_box(name, node.n / root.n, amount(node.n), start, row))
        rows = max(rows, row + 1)
        for child, below in sorted(node.children.items()):
            if below.n / root.n * WIDTH >= MIN_WIDTH:
                left.append((child, below, start, row + 1))
            start += below.n / root.n
    return drawn, rows


def render_flamegraph(profile: Profile, title: str) -> str:
    """title: what stands on top."""
    drawn, rows = (
        _draw_boxes(_build_tree(profile), profile.format_amount) if profile.samples else ([], 0)
    )
    height = TOP + rows * ROW + 10
    script = _SCRIPT % {"width": WIDTH, "character": _CHARACTER}
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">\n'
        f"<title>{escape(escape_for_terminal(title))}</title><style>{_STYLE}</style>\n"
        f'<rect width="{WIDTH}" height="{height}" fill="#fdfcf8"/>\n'
        f'<text x="10" y="18">{escape(escape_for_terminal(title))}</text><text id="search" x="10" y="34">Search</text>'
        f'<text id="found" x="70" y="34"></text>\n{"".join(drawn)}<script><![CDATA[{script}]]></script>\n</svg>\n'
    )
