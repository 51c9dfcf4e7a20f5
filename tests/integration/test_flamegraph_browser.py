"""The flame graph of pyusdt profile --svg in a real browser (chromium): boxes, zoom, search, names that are markup.

With PYUSDT_PICTURES=1 in the environment the picture of docs/howto/profile.md is made, docs/images/flame.png: a graph of a profile that was taken.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pydtrace.profile.flamegraph import WIDTH, render_flamegraph
from pydtrace.profile.frame_key import FrameKey
from pydtrace.profile.stack_profile import Profile
from tests.support import chromium, harness

pytestmark = chromium.MARKS
PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")
PICTURE = Path(harness.ROOT, "docs", "images", "flame.png")
HOSTILE = "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script>]]>\x1b[2J"
MAIN, WORK, LEAF, EVIL = (
    FrameKey((name, "/app.py", None)) for name in ("main", "work", "leaf", HOSTILE)
)
SEEN = "[...document.querySelectorAll('g.b')].filter(box => box.style.display !== 'none')"


@pytest.fixture(scope="module")
def browser():
    with chromium.started("--hide-scrollbars", "--window-size=1240,420") as made:
        yield made


@pytest.fixture
def shown(browser, tmp_path):
    profile = Profile(100, "running threads")
    profile.add_sample((), (MAIN, WORK, LEAF), 6)
    profile.add_sample((), (MAIN, LEAF), 2)
    profile.add_sample((), (MAIN, EVIL), 2)
    (tmp_path / "made.svg").write_text(render_flamegraph(profile, HOSTILE))
    browser.get((tmp_path / "made.svg").as_uri())
    yield browser
    assert browser.get_log("browser") == []


def names(browser) -> list[str]:
    return browser.execute_script(f"return {SEEN}.map(box => box.dataset.name.split(' (')[0])")


def box(browser, name: str):
    return next(
        each
        for each in browser.find_elements("css selector", "g.b")
        if each.get_attribute("data-name").startswith(name)
    )


def widths(browser, name: str) -> list[float]:
    """Of the boxes of that name that are seen, as the browser draws them."""
    return browser.execute_script(
        f"return {SEEN}.filter(box => box.dataset.name.startsWith(arguments[0]))"
        ".map(box => box.querySelector('rect').getBoundingClientRect().width)",
        name,
    )


def test_boxes_are_as_wide_as_their_share(shown):
    assert sum(widths(shown, "leaf")) == pytest.approx(0.8 * WIDTH, abs=2) and widths(
        shown, "work"
    ) == pytest.approx([0.6 * WIDTH], abs=2)


def test_a_click_zooms_and_another_goes_back(shown):
    box(shown, "work").click()
    assert set(names(shown)) == {"all", "main", "work", "leaf"} and widths(
        shown, "work"
    ) == pytest.approx([WIDTH], abs=2)
    shown.execute_script(
        "document.documentElement.dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert widths(shown, "work") == pytest.approx([0.6 * WIDTH], abs=2)


def test_search(shown):
    shown.find_element("id", "search").click()
    asked = shown.switch_to.alert
    asked.send_keys("LEAF")
    asked.accept()
    assert shown.find_element("id", "found").text == "80.0 % match LEAF"
    assert len(shown.find_elements("css selector", "g.hit")) == 2


def test_names_are_text(shown):
    """Nothing of a name is run or becomes an element."""
    assert shown.execute_script(
        "return [document.querySelectorAll('img').length, document.querySelectorAll('script').length]"
    ) == [0, 1]
    assert shown.title != "owned" and box(shown, "<img").get_attribute(
        "data-name"
    ) == f"{HOSTILE} (/app.py)".replace("\x1b", "\\x1b")


def test_a_profile_that_was_taken(browser, tmp_path):
    """And the picture of it, where that is asked for: without the paths of the machine that made it."""
    drawn = tmp_path / "taken.svg"
    subprocess.run(
        [PYUSDT, "profile", "--svg", drawn, "--", sys.executable, "examples/two_routes.py", "2"],
        check=True,
        timeout=60,
        stdout=subprocess.DEVNULL,
        cwd=harness.ROOT,
    )
    text = drawn.read_text()
    for here, elsewhere in (
        (sys.executable, "python"),
        (harness.ROOT, "/srv"),
        (os.path.dirname(os.__file__), "/usr/lib/python3"),
    ):
        text = text.replace(here, elsewhere)
    drawn.write_text(text)
    browser.get(drawn.as_uri())
    browser.execute_script("draw(0, 1)")
    assert {"all", "serve", "answer"} <= set(names(browser))
    assert WIDTH >= widths(browser, "serve")[0] >= widths(browser, "answer")[0] > 0
    if os.environ.get("PYUSDT_PICTURES"):
        browser.save_screenshot(str(PICTURE))
