"""The flame graph of pyusdt profile --flamegraph in a real browser (chromium): boxes, zoom, search, names that are markup, a phone, dark.

With PYUSDT_PICTURES=1 in the environment the picture of docs/howto/profile.md is made, docs/images/flame.png: a graph of a profile that was taken.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pydtrace.differences.difference_page import render_difference_page
from pydtrace.differences.profile_difference import ProfileDifference
from pydtrace.profile.flamegraph import render_flamegraph
from pydtrace.profile.frame_key import FrameKey
from pydtrace.profile.stack_amounts import StackAmounts
from pydtrace.profile.stack_profile import Profile
from tests.support import chromium, harness

pytestmark = chromium.MARKS
PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")
PICTURE = Path(harness.ROOT, "docs", "images", "flame.png")
HOSTILE = "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script>]]>\x1b[2J"
MAIN, WORK, LEAF, EVIL = (
    FrameKey((name, "/srv/shop/app.py", None)) for name in ("main", "work", "leaf", HOSTILE)
)


@pytest.fixture(scope="module")
def browser():
    with chromium.started("--hide-scrollbars", "--window-size=1240,460") as made:
        yield made


def made_profile() -> Profile:
    profile = Profile(100, "running threads")
    profile.add_sample((), (MAIN, WORK, LEAF), 6)
    profile.add_sample((), (MAIN, LEAF), 2)
    profile.add_sample((), (MAIN, EVIL), 2)
    return profile


@pytest.fixture
def shown(browser, tmp_path):
    (tmp_path / "made.html").write_text(render_flamegraph(made_profile(), HOSTILE, ["host"]))
    browser.get((tmp_path / "made.html").as_uri())
    yield browser
    assert browser.get_log("browser") == []


def boxes(browser) -> list[tuple[str, float]]:
    """(name, share of the graph's width) of those that are drawn."""
    found = browser.execute_script(
        "const whole = document.getElementById('graph').clientWidth;"
        "return [...document.querySelectorAll('.b')]"
        ".map(each => [each.dataset.name, each.getBoundingClientRect().width / whole])"
    )
    return [(name, pytest.approx(width, abs=0.005)) for name, width in found]


def box(browser, name: str):
    return browser.find_element("css selector", f"[data-name^='{name}']")


def test_boxes_are_as_wide_as_their_share(shown):
    """Of the window, whatever its size is."""
    for width in (1240, 700):
        shown.set_window_size(width, 460)
        found = boxes(shown)
        assert ("work", 0.6) in found and ("all", 1.0) in found
        assert [width for name, width in found if name == "leaf"] == [0.2, 0.6]
        graph = shown.execute_script("return document.getElementById('graph').clientWidth")
        assert width - 40 < graph < width
    shown.set_window_size(1240, 460)


def test_a_click_zooms_and_another_goes_back(shown):
    shown.execute_script("arguments[0].click()", box(shown, "work"))
    assert boxes(shown) == [("all", 1.0), ("main", 1.0), ("work", 1.0), ("leaf", 1.0)]
    detail = shown.find_element("id", "detail").text
    assert detail == "work /srv/shop/app.py · 6 samples, 60.0%"
    shown.find_element("id", "reset").click()
    assert ("work", 0.6) in boxes(shown)


def test_search(shown):
    shown.find_element("id", "search").send_keys("LEAF")
    assert shown.find_element("id", "found").text == "80.0 % match"
    assert len(shown.find_elements("css selector", ".hit")) == 2


def test_names_are_text(shown):
    """Nothing of a name is run or becomes an element."""
    assert shown.execute_script(
        "return [document.querySelectorAll('img').length, document.querySelectorAll('script').length]"
    ) == [0, 2]
    assert shown.title != "owned"
    assert box(shown, "<img").get_attribute("data-name") == HOSTILE.replace("\x1b", "\\x1b")


def test_a_phone_in_the_dark(browser, tmp_path):
    (tmp_path / "made.html").write_text(render_flamegraph(made_profile(), "app"))
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    phone = {"width": 390, "height": 700, "deviceScaleFactor": 2, "mobile": True}
    try:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
        browser.get((tmp_path / "made.html").as_uri())
        width, page, background = browser.execute_script(
            "return [innerWidth, document.documentElement.scrollWidth,"
            " getComputedStyle(document.getElementById('tools')).backgroundColor]"
        )
        assert width == page == 390 and ("work", 0.6) in boxes(browser)
        assert max(map(int, background.strip("rgb()").split(","))) < 64
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_differences(browser, tmp_path):
    """The widths are those of the side that the reader chooses."""
    sides = []
    for leaf in (200, 600):
        made = StackAmounts("samples", 1.0)
        made.stacks.update({(MAIN, LEAF): leaf, (MAIN, WORK): 400})
        sides.append(made)
    page = render_difference_page(ProfileDifference(*sides, False), "before", "after")
    (tmp_path / "diff.html").write_text(page)
    browser.get((tmp_path / "diff.html").as_uri())
    assert ("leaf", 0.6) in boxes(browser)
    browser.find_element("css selector", "#side option:nth-child(2)").click()
    assert ("leaf", 0.333) in boxes(browser)
    red, _, blue = map(
        int,
        box(browser, "leaf").value_of_css_property("background-color")[5:-1].split(",")[:3],
    )
    assert red > blue and browser.get_log("browser") == []


def test_a_profile_that_was_taken(browser, tmp_path):
    """And the picture of it, where that is asked for: without the paths of the machine that made it."""
    drawn = tmp_path / "taken.html"
    subprocess.run(
        [
            PYUSDT,
            "profile",
            "--flamegraph",
            drawn,
            "--",
            sys.executable,
            "examples/two_routes.py",
            "2",
        ],
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
    assert {"all", "serve", "answer"} <= {name for name, _ in boxes(browser)}
    if os.environ.get("PYUSDT_PICTURES"):
        browser.save_screenshot(str(PICTURE))
