"""The picture of the page in README.md, docs/images/page.png: made by this test in a real browser (chromium), and of the page as it is.

Input: pydtrace --web on examples/webshop.py: everything in the picture was traced.
Output: with PYUSDT_PICTURES=1 in the environment (`make pictures`), the picture.

- What is compared does not depend on fonts, times or rates: a picture says in a text of its own
  (a tEXt chunk) which elements the page had, in which styles, and with which colours it drew; the
  page that is there now must have the same.
"""

import base64
import contextlib
import json
import os
import struct
import sys
import zlib
from pathlib import Path

from tests.support import chromium, harness
from tests.support.chromium import address_of, until

pytestmark = chromium.MARKS

PICTURE = Path(harness.ROOT, "docs", "images", "page.png")
MADE = "PYUSDT_PICTURES" in os.environ
SHOWN_S = 45 if MADE else 2
WIDTH, HEIGHT = 1000, 600
SCRIPT = """pyusdt*:::user_trace-i4s4 /arg2 == 0/ { self->start = timestamp; self->route = copyinstr(arg6); }
pyusdt*:::user_trace-i4s4 /arg2 == 1 && self->start/
{
    @requests[self->route] = count();
    @microseconds[self->route] = quantize((timestamp - self->start) / 1000);
    self->start = 0;
}"""
# What the page looks like: each element's name, place in the tree, styles, and the words that are no values
OUTLINE = """
    const styles = ["display", "position", "color", "backgroundColor", "fontSize", "fontFamily", "fontWeight", "textAlign",
                    "borderTopStyle", "borderTopWidth", "marginTop", "paddingTop"];
    const words = e => ["H1", "H2", "TH", "BUTTON", "LABEL"].includes(e.tagName) ? (e.firstChild || e).textContent.trim() : "";
    const elements = [...document.body.querySelectorAll("*")].filter(e => !e.closest("tr ~ tr, tbody tr, .labels, .cell, .axis") && e.tagName !== "SCRIPT");
    const depth = e => e === document.body ? 0 : 1 + depth(e.parentElement);
    return {elements: elements.map(e => [depth(e), e.tagName, e.id, e.className, words(e), ...styles.map(s => getComputedStyle(e)[s])]),
            drawing: {COLOURS, HEAT, HEAT_ROW, PAST}};"""
# How many colours a part of a picture has
COLOURS_IN = """
    const [source, [x, y, width, height], done] = arguments, image = new Image();
    image.onload = () => {
        const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
        [canvas.width, canvas.height] = [image.width, image.height];
        context.drawImage(image, 0, 0);
        const data = new Uint32Array(context.getImageData(x, y, width, height).data.buffer);
        done([[image.width, image.height], new Set(data).size]);
    };
    image.onerror = () => done("no picture");
    image.src = source;"""
HEAT_AT = """const box = document.querySelectorAll(".heat canvas")[1].getBoundingClientRect();
    return [box.x, box.y, box.width, box.height].map(Math.round);"""


def chunks(png: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 8
    while at < len(png):
        (size,) = struct.unpack_from(">I", png, at)
        found.append((png[at + 4 : at + 8], png[at + 8 : at + 8 + size]))
        at += size + 12
    return found


def written(parts: list[tuple[bytes, bytes]]) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


def told(picture: bytes) -> dict:
    """What it says of the page."""
    (text,) = (
        data for kind, data in chunks(picture) if kind == b"tEXt" and data.startswith(b"page\0")
    )
    return json.loads(text[5:])


def telling(picture: bytes, what: dict) -> bytes:
    *parts, end = chunks(picture)
    return written([*parts, (b"tEXt", b"page\0" + json.dumps(what).encode("ascii")), end])


@contextlib.contextmanager
def looking(browser):
    """As the picture is taken."""
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "light"}]},
    )
    browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False},
    )
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_picture_is_of_this_page(browser):
    shop = [sys.executable, os.path.join(harness.ROOT, "examples", "webshop.py"), "--forever"]
    with (
        harness.running(shop),
        harness.running(
            [harness.PYDTRACE, "-q", "--web", "--ready", "-Z", "-n", SCRIPT]
        ) as pydtrace,
    ):
        address = address_of(pydtrace)
        with looking(browser):
            browser.get(address)
            until(
                browser,
                f"state !== null && state.intervals >= {SHOWN_S} && [...panels.values()].map(panel => panel.lines.size).join()",
                "3,3",
            )
            seen = {**browser.execute_script(OUTLINE), "heat": browser.execute_script(HEAT_AT)}
            shot = telling(base64.b64decode(browser.get_screenshot_as_base64()), seen)
        pydtrace.terminate()
        harness.finish(pydtrace, 30)
    check_picture(browser, shot, seen)
    if MADE:
        PICTURE.write_bytes(shot)
    check_picture(browser, PICTURE.read_bytes(), seen)


def check_picture(browser, picture: bytes, seen: dict) -> None:
    said = told(picture)
    again = "the page has changed since docs/images/page.png was made: make pictures"
    assert (
        len(seen["elements"]) > 30
        and said["elements"] == seen["elements"]
        and said["drawing"] == seen["drawing"]
    ), again
    source = "data:image/png;base64," + base64.b64encode(picture).decode()
    browser.get("about:blank")  # the page's own policy (CSP) lets no such picture in
    size, colours = browser.execute_async_script(COLOURS_IN, source, said["heat"])
    assert size == [WIDTH, HEIGHT] and colours > 3, (
        "a heat map is where the picture says that it is"
    )
