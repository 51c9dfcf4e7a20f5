"""Makes docs/images/page.png: pydtrace --web on examples/webshop.py, as chromium shows it.

In: chromium and chromedriver (.ci/packages.txt), selenium (requirements-dev.txt), a built pydtrace.  Out: the picture.
Always: everything in it was traced; it takes a minute.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SECONDS = 45
SCRIPT = """pyusdt*:::user_trace-i4s4 /arg2 == 0/ { self->start = timestamp; self->route = copyinstr(arg6); }
pyusdt*:::user_trace-i4s4 /arg2 == 1 && self->start/
{
    @requests[self->route] = count();
    @microseconds[self->route] = quantize((timestamp - self->start) / 1000);
    self->start = 0;
}"""


def browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,700"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def main() -> None:
    pydtrace = os.path.join(os.path.dirname(sys.executable), "pydtrace")
    command = [pydtrace, "-q", "--web", "--ready", "-Z", "-n", SCRIPT]
    alone = tempfile.mkdtemp()  # whatever else on the machine is traced
    environment = {**os.environ, "PYUSDT_RUNDIR": alone}
    shop = subprocess.Popen([sys.executable, os.path.join(TOP, "examples", "webshop.py"), "--forever"], stdout=subprocess.DEVNULL,
                            env=environment)
    tracer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    said = ""
    try:
        while "ready" not in said:
            said += tracer.stderr.readline() or sys.exit(said)
        shown = browser()
        shown.get(re.search(r"http://\S+", said)[0])
        time.sleep(SECONDS)
        shown.save_screenshot(os.path.join(TOP, "docs", "images", "page.png"))
        shown.quit()
    finally:
        tracer.terminate()
        shop.terminate()
        tracer.wait()
        shop.wait()
        shutil.rmtree(alone)


if __name__ == "__main__":
    main()
