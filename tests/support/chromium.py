"""A real browser (chromium), for tests of pages and pictures.

Output: the driver (conftest.py has it as a fixture, `browser`), and MARKS of the tests that have
it.
"""

import contextlib
import os
import re
import shutil
import time

import pytest

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
MARKS = [
    pytest.mark.own_processes,
    pytest.mark.skipif(
        (BROWSER is None or DRIVER is None) and "CI" not in os.environ, reason="host: no chromium"
    ),
]


@contextlib.contextmanager
def started(*more: str):
    """Selenium's driver of it.  more: arguments, the size of its window among them."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--incognito",
        *more,
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        made.set_page_load_timeout(60)
        yield made
    finally:
        made.quit()


def address_of(pydtrace):
    """Of its page, once it traces (--ready)."""
    lines = ""
    while "ready" not in lines:
        lines += pydtrace.stderr.readline() or pytest.fail(lines)
    return re.search(r"the page is (http://\S+)", lines)[1]


def _value(browser, script):
    """What it is now; the error, where the page's script has not run yet."""
    from selenium.common.exceptions import JavascriptException

    try:
        return browser.execute_script(f"return {script}")
    except JavascriptException as error:
        return error


def until(browser, script, wanted=True):
    """The value of an expression in the page, once it is that."""
    end = time.monotonic() + 60
    while (value := _value(browser, script)) != wanted:
        assert time.monotonic() < end, (script, value, browser.get_log("browser"))
        time.sleep(0.1)
    return value
