"""What a page with a flame graph shows, by the data in it."""

from __future__ import annotations

import json
import re
from typing import Any


def page_data(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


def boxes_of(page: str, side: int = 0) -> dict[tuple[str, int], tuple[float, float]]:
    """{(function, row): (x, width)}, as shares of the whole."""
    data = page_data(page)
    names = [data["names"][number][0] for number in data["name"]]
    places = zip(data["sides"][side]["x"], data["sides"][side]["width"], strict=True)
    return dict(zip(zip(names, data["depth"], strict=True), places, strict=True))
