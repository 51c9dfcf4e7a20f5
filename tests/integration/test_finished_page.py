"""The page of a finished run (pydtrace --html, and --web at its end) in a real browser (chromium), as people read it: on a phone, on a wide
screen, in the dark, on paper.

Output: with PYUSDT_PICTURES=1 in the environment (`make pictures`) a picture of each in build/pictures, for people to look at.
"""

import base64
import os
import re
import sys
from pathlib import Path

import pytest

from tests.support import chromium, harness
from tests.support.chromium import address_of, until

pytestmark = chromium.MARKS

PICTURES = Path(harness.ROOT, "build", "pictures")
LONG_KEY = "/a/route/that/has/a/rather/long/name/" + "x" * 20
PROGRAM = f"""
import pyusdt, sys, time
for i in range(60):
    pyusdt.p(i % 20 + 1, 0, {LONG_KEY!r} if i % 3 else "/")
    time.sleep(0.05)
"""
SCRIPT = """/*
 * How long do requests take?
 */
pyusdt$target:::user_trace-i4s4 { @[copyinstr(arg6)] = count(); @wait_ms[copyinstr(arg6)] = quantize(arg2); }
pyusdt$target:::user_trace-i4s4 { @busy_us[copyinstr(arg6), pid % 2] = sum(arg2); @p_ms[copyinstr(arg6)] = percentiles(arg2); }
"""
# Of each cell of a key whether all of it can be read; how wide the bars are; the words of axes and scales.
LAYOUT = """
    const all = selector => [...document.querySelectorAll(selector)], texts = selector => all(selector).map(each => each.textContent);
    return {
        wide: document.documentElement.scrollWidth - window.innerWidth,
        cut: all('td:first-child').filter(cell => cell.scrollWidth > cell.clientWidth + 1).map(cell => cell.textContent),
        bars: all('td:last-child').map(cell => cell.getBoundingClientRect().width),
        keys: texts('td:first-child'), heads: texts('th:first-child'), ticks: all('.axis').filter(axis => axis.offsetParent).map(axis => axis.children.length),
        scales: texts('.labels span'), titles: texts('#panels h2'),
        facts: Object.fromEntries(texts('dt').map((what, at) => [what, texts('dd')[at]])),
    };"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The path of a page that --html wrote."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "script.d").write_text(SCRIPT)
    path = folder / "page.html"
    result = harness.run(
        [harness.PYDTRACE, "-q", "-x", "pyusdt", "--html", str(path), "-s", str(folder / "script.d"),
         "-c", f"{sys.executable} {folder / 'program.py'}"]
    )  # fmt: skip
    assert result.status == 0, result
    return path


def show_at(browser, page, width, scheme):
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())
    until(browser, "panels.size", 4)
    height = browser.execute_script("return document.documentElement.scrollHeight")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**size, "height": height})


def keep_picture(name, content):
    if "PYUSDT_PICTURES" in os.environ:
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / name).write_bytes(base64.b64decode(content))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 800, 1280, 2000])
def test_it_is_readable(width, scheme, browser, page):
    show_at(browser, page, width, scheme)
    keep_picture(f"page-{width}-{scheme}.png", browser.get_screenshot_as_base64())
    found = browser.execute_script(LAYOUT)
    colours = browser.execute_script(
        "const style = getComputedStyle(document.querySelector('dd')), probe = document.querySelector('header');"
        "return [style.color, getComputedStyle(probe).backgroundColor]"
    )
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert found["wide"] <= 0 and found["cut"] == [] and LONG_KEY in found["keys"]
    assert all(each >= 35 for each in found["bars"]) and (width < 1280 or min(found["bars"]) > 300)
    assert all(each >= 1 for each in found["ticks"])
    text, background = (sum(map(int, re.findall(r"\d+", each)[:3])) for each in colours)
    assert abs(text - background) > 500 and (background > text) == (scheme == "light")


def test_it_says_what_was_traced(browser, page):
    show_at(browser, page, 1280, "light")
    found = browser.execute_script(LAYOUT)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert browser.title == "How long do requests take?"
    facts = found["facts"]
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d to .*\d\d:\d\d:\d\d \S+, [\d.]+ m?s", facts["time"]
    )
    assert facts["lost"] == "nothing" and "engine embedded" in facts["host"]
    assert facts["command"].startswith("pydtrace -q ") and "program.py" in facts["traced"]
    assert re.fullmatch(r"pyusdt\d+:::user_trace-i4s4 \(\d+\)", facts["probes"])
    assert browser.find_element("css selector", "#script pre").get_attribute("textContent") == (
        SCRIPT.strip("\n")
    )
    assert found["titles"][0] == "count() by copyinstr(arg6) 2 keys · 60 in all"
    assert found["titles"][1].startswith("@wait_ms quantize(arg2) by copyinstr(arg6) · 2 keys")
    assert found["heads"] == ["arg6", "arg6", "arg6  pid % 2", "arg6"]
    assert {"16 ms", "0"} <= set(found["scales"])
    assert any(re.fullmatch(r"[\d.]+ [um]?s/s", scale) for scale in found["scales"])


def test_the_whole_run_is_shown(browser, page):
    """Its first and its last event, over all of the width."""
    show_at(browser, page, 1280, "light")
    found = browser.execute_script("""
        const {counts, width, columns} = panels.get('wait_ms').drawn;
        const sums = [...Array(columns).keys()].map(at => counts.reduce((sum, row) => sum + row[at], 0));
        return {sums, width, columns, seconds: column_seconds() * width};""")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert sum(found["sums"]) == 60 and found["columns"] == found["width"] >= 4
    assert 3 <= found["seconds"] < 60 and found["sums"].index(max(found["sums"])) >= 0


def test_it_prints(browser, page):
    show_at(browser, page, 1280, "dark")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    keep_picture("page-printed.pdf", printed)
    assert base64.b64decode(printed).startswith(b"%PDF")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = browser.execute_script("""
        const hidden = selector => getComputedStyle(document.querySelector(selector)).display === "none";
        return [hidden("#filter") || hidden("label"), hidden("#pause"), getComputedStyle(document.documentElement).colorScheme];""")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert shown == [True, True, "light"]


def test_a_page_that_was_live_shows_the_whole_run_at_its_end(browser, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [harness.PYDTRACE, "-q", "--web", "--ready", "-x", "pyusdt", "-n", SCRIPT.partition("*/")[2],
               "-c", f"{sys.executable} {tmp_path / 'program.py'}"]  # fmt: skip
    with harness.running(command) as pydtrace:
        browser.get(address_of(pydtrace))
        until(browser, "state !== null && panels.size", 4)
        assert browser.execute_script("return has_all()") is False
        assert (
            browser.find_element("css selector", "#facts dt").get_attribute("textContent") == "host"
        )
        assert not browser.find_element("id", "facts").is_displayed()
        until(browser, "over && state.finished === true && has_all()")
        assert harness.finish(pydtrace, 30).status == 0
    found = browser.execute_script(LAYOUT)
    assert browser.find_element("id", "facts").is_displayed()
    assert found["facts"]["lost"] == "nothing" and found["titles"][0].endswith("60 in all")
