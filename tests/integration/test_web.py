"""pydtrace --web and --html in a real browser (chromium): what it shows, whatever processes call themselves."""

import base64
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import pyusdt
from pydtrace.sinks.live import notebook_widget
from pydtrace.sinks.live.web_sink import render_page
from tests.support import chromium, harness, pip_packages
from tests.support.chromium import address_of, until

pytestmark = chromium.MARKS

HOSTILE = "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script>\x1b[2J"
PROGRAM = f"""
import pyusdt, sys
for i in range(30):
    pyusdt.p(20, 2, {HOSTILE!r})
for i in range(3):
    pyusdt.p(5000, 2, "/slow")
print("fired", flush=True)
sys.stdin.read()
"""
SCRIPT = 'pyusdt*:::user_trace-i4s4 { @calls[copyinstr(arg6)] = count(); @lat[copyinstr(arg6)] = quantize(arg2); printf("%s\\n", copyinstr(arg6)); }'


@pytest.fixture
def traced(tmp_path):
    """pydtrace --web with a program that has fired: (its process, the address)."""
    command = [harness.PYDTRACE, "-q", "--web", "--ready", "-Z", "-n", SCRIPT]
    with harness.running(command) as pydtrace:
        address = address_of(pydtrace)
        with harness.running([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE) as program:
            assert program.stdout.readline() == "fired\n"
            yield pydtrace, address
            program.stdin.close()


def check_page(browser, *expected):
    """The tables and the heat map of PROGRAM's events; expected: words of errors that there may be."""
    until(browser, "panels.size === 2 && [...panels.get('calls').lines.values()].length", 2)
    cells = browser.execute_script(
        "return [...document.querySelectorAll('#panels section:first-child td')].map(cell => cell.textContent)"
    )
    assert HOSTILE.replace("\x1b", "\\x1b") in cells and "30" in cells and "/slow" in cells
    assert browser.title == "pydtrace" and not browser.find_elements(
        "css selector", "img, #panels script"
    )
    # 20 is in the bucket of 16, 5000 in that of 4096: nine lines, of which the first and the last have colours
    rows = browser.execute_script("""
        const {map, drawn} = panels.get('lat'), context = map.getContext('2d'), rows = {};
        drawn.buckets.forEach((bucket, y) => {
            const line = context.getImageData(0, y, map.width, 1).data, seen = [];
            for (let x = 0; x < map.width; x++) if (line[4 * x + 3]) seen.push([...line.slice(4 * x, 4 * x + 3)].join());
            rows[panels.get('lat').plain.buckets[bucket]] = seen;
        });
        return rows;""")
    assert set(rows) == {str(16 << i) for i in range(9)}
    assert rows["16"] and rows["4096"] and not any(rows[str(32 << i)] for i in range(7)), rows
    severe = [
        entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"
    ]
    assert [
        message for message in severe if not any(word in message for word in ("favicon", *expected))
    ] == []


def test_page(browser, traced):
    pydtrace, address = traced
    browser.get(address)
    check_page(browser)
    # what is above each other is of one time: lines and columns have one scale, from one place to another
    chart, heat, columns = browser.execute_script("""
        const sides = box => [box.left, box.right].map(Math.round);
        return [sides(panels.get('calls').chart.getBoundingClientRect()), sides(panels.get('lat').map.getBoundingClientRect()),
                [panels.get('lat').drawn.width, span()]];""")
    assert all(abs(one - other) <= 1 for one, other in zip(chart, heat)) and columns == [60, 60], (
        chart,
        heat,
        columns,
    )
    # a cell that is clicked tells whose values are in it
    told = browser.execute_script("""
        const panel = panels.get('lat'), {map, drawn} = panel, box = map.getBoundingClientRect();
        const x = drawn.counts[drawn.buckets.length - 1].findIndex(count => count > 0) + drawn.width - drawn.columns;
        map.dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: box.left + (x + 0.5) * box.width / drawn.width,
                                                    clientY: box.bottom - 2}));
        return panel.cell.textContent;""")
    assert re.search(r"^\d\d:\d\d:\d\d  16: \d+ values\n<img src=x .*\\x1b\[2J: \d+$", told), told
    browser.execute_script(
        "const box = document.getElementById('filter'); box.value = 'SLOW'; box.dispatchEvent(new Event('input'))"
    )
    assert (
        browser.execute_script(
            "return document.querySelectorAll('#panels section:first-child td:first-child').length"
        )
        == 1
    )
    browser.execute_script("document.getElementById('pause').click()")
    assert "paused" in browser.find_element("id", "status").text
    browser.execute_script("document.getElementById('pause').click()")
    before = until(browser, "state.intervals > 0") and browser.execute_script(
        "return state.intervals"
    )
    until(browser, f"state.intervals > {before}")
    pydtrace.terminate()
    until(browser, "document.getElementById('status').textContent.startsWith('over')")
    assert (
        "\n  /slow" in harness.finish(pydtrace, 30).stdout
    )  # what dtrace prints at the end is printed as ever


def test_two_viewers_one_comes_back(browser, traced):
    """A page that is loaded again has the past."""
    _, address = traced
    browser.get(address)
    until(browser, "state !== null && state.intervals > 1")
    browser.switch_to.new_window("tab")
    browser.get(address)
    check_page(browser)
    browser.refresh()
    check_page(browser)
    assert (
        browser.execute_script(
            "return [...panels.get('calls').lines.values()].find(line => line.key[0] === '/slow').past"
        )[0]
        == 3
    )
    browser.close()
    browser.switch_to.window(browser.window_handles[0])
    check_page(browser)


class Relay:
    """Between the browser and pydtrace.  connected: the sockets of both, ever; cut() ends all connections that there are."""

    def __init__(self, port):
        self.port, self.connected = port, []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.here = self.server.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, far = (
                    self.server.accept()[0],
                    socket.create_connection(("127.0.0.1", self.port)),
                )
                self.connected += [near, far]
                threading.Thread(
                    target=self.pump, args=(near, far, self.to_pydtrace), daemon=True
                ).start()
                threading.Thread(target=self.pump, args=(far, near, bytes), daemon=True).start()

    def to_pydtrace(self, data):
        """It answers only to its own address."""
        return data.replace(b"Host: 127.0.0.1:%d" % self.here, b"Host: 127.0.0.1:%d" % self.port)

    @staticmethod
    def pump(source, sink, change):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(change(data))
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def cut(self):
        for each in self.connected:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def test_a_connection_that_breaks_is_made_again(browser, traced):
    _, address = traced
    port = int(re.search(r":(\d+)/", address)[1])
    relay = Relay(port)
    try:
        browser.get(address.replace(f":{port}/", f":{relay.here}/"))
        check_page(browser)
        until(browser, "state.intervals > 0")
        before, last = len(relay.connected), browser.execute_script("return state.intervals")
        relay.cut()
        until(
            browser,
            f"state.intervals > {last + 1} && document.getElementById('status').textContent.startsWith('live')",
        )
        assert len(relay.connected) > before
        check_page(
            browser, "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET"
        )
    finally:
        relay.server.close()
        relay.cut()


def test_a_tracer_that_is_killed(browser, traced):
    pydtrace, address = traced
    browser.get(address)
    check_page(browser)
    pydtrace.kill()
    until(browser, "document.getElementById('status').textContent.startsWith('not connected')")
    check_page(browser)  # what was known stays


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1100, 380])
def test_colours_and_a_phone(scheme, width, browser, traced):
    _, address = traced
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 2, "mobile": width < 500},
    )
    browser.get(address)
    check_page(browser)
    background = browser.execute_script(
        "return getComputedStyle(document.querySelector('header')).backgroundColor"
    )
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) > 384) == (scheme == "light"), (
        background
    )
    assert browser.execute_script(
        "return document.documentElement.scrollWidth <= window.innerWidth"
    )
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_page_as_a_file(browser, tmp_path):
    """It needs no server and no network, and is at its place when it is whole."""
    path = tmp_path / "page.html"
    result = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "--html",
            str(path),
            "-n",
            SCRIPT.replace("pyusdt*", "pyusdt$target"),
            "-c",
            f"{sys.executable} {write_program(tmp_path)}",
        ]
    )
    assert result.status == 0 and "/slow" in result.stdout, result
    assert set(os.listdir(tmp_path)) == {"page.html", "program.py"}
    browser.get(path.as_uri())
    check_page(browser)
    assert browser.find_element("id", "status").text.startswith("over")
    assert "http" not in path.read_text()


CELL = """<body></body><script type="module">
import widget from "data:text/javascript;base64,%s";
const told = %s, heard = [];
const model = {get: name => told[name], on: (what, tell) => heard.push([what, tell])};
window.say = state => { told.state = state; heard.forEach(([what, tell]) => what === "change:state" && tell()); };
widget.render({model, el: document.body});
</script>"""


def test_the_widget_of_a_notebook(browser, tmp_path):
    """As a notebook shows it: the script is a module, and the model tells of each state."""
    states = []
    with pyusdt.trace(
        SCRIPT.replace("pyusdt*", f"pyusdt{os.getpid()}"), pid=os.getpid()
    ) as tracing:
        pyusdt.p(20, 2, HOSTILE)
        pyusdt.p(5000, 2, "/slow")
        feeder = notebook_widget.WidgetFeeder(tracing._running, 0.05, tracing, states.append)
        feeder.start()
        harness.wait_until(lambda: states and "/slow" in states[-1])
        feeder.stopped.set()
        feeder.join()
    path = tmp_path / "cell.html"
    script = base64.b64encode(notebook_widget.SCRIPT.encode()).decode()
    path.write_text(
        CELL
        % (script, json.dumps({"page": render_page(""), "state": states[0]}).replace("</", "<\\/"))
    )
    browser.get(path.as_uri())
    harness.wait_until(lambda: browser.find_elements("css selector", "iframe"))
    browser.execute_script("window.say(arguments[0])", states[-1])
    browser.switch_to.frame(browser.find_element("css selector", "iframe"))
    until(browser, "panels.size === 2 && [...panels.get('calls').lines.values()].length", 2)
    cells = browser.execute_script(
        "return [...document.querySelectorAll('#panels section:first-child td')].map(cell => cell.textContent)"
    )
    assert HOSTILE.replace("\x1b", "\\x1b") in cells and "/slow" in cells
    assert browser.execute_script("""
        const {map} = panels.get('lat'), drawn = map.getContext('2d').getImageData(0, 0, map.width, map.height).data;
        return drawn.some((value, i) => i % 4 === 3 && value > 0);""")
    assert (
        not browser.find_elements("css selector", "img, #panels script")
        and browser.execute_script("return window.origin") == "null"
    )
    browser.switch_to.default_content()
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


LIVE = (
    "import os, pyusdt\n"
    f"t = pyusdt.trace({SCRIPT!r}, pid=os.getpid()).__enter__()\n"
    "for us, route in ((20, '/fast'), (5000, '/slow')):\n"
    "    pyusdt.p(us, 2, route)\n"
    "t.live(0.2)"
)


@pytest.mark.long
def test_a_notebook_as_people_have_it(browser, tmp_path):
    """JupyterLab in the browser: the widget draws. (It puts into the page only what can be seen: one cell is.)"""
    folder = pip_packages.folder_of(
        os.path.join(os.path.dirname(__file__), "jupyter_readers.txt"), depends=True
    )
    cell = {
        "cell_type": "code",
        "metadata": {},
        "source": LIVE,
        "outputs": [],
        "execution_count": None,
    }
    kernel = {"name": "python3", "display_name": "python3", "language": "python"}
    (tmp_path / "look.ipynb").write_text(
        json.dumps(
            {
                "cells": [cell],
                "metadata": {"kernelspec": kernel},
                "nbformat": 4,
                "nbformat_minor": 4,
            }
        )
    )
    environment = {
        **os.environ,
        "PYTHONPATH": folder,
        "HOME": str(tmp_path),
        "JUPYTER_PATH": f"{folder}/share/jupyter",
        "JUPYTERLAB_DIR": f"{folder}/share/jupyter/lab",
    }
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--IdentityProvider.token=",
        "--LabApp.expose_app_in_browser=True",
    ]
    said = tmp_path / "said"
    with (
        open(said, "w") as messages,
        subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=messages, stderr=messages
        ) as server,
    ):
        try:
            harness.wait_until(
                lambda: re.search(r"http://127.0.0.1:\d+/lab", said.read_text()), 120
            )
            browser.get(
                re.search(r"http://127.0.0.1:\d+/lab", said.read_text())[0] + "/tree/look.ipynb"
            )
            until(
                browser,
                "window.jupyterapp && document.querySelectorAll('.jp-Notebook .jp-CodeCell').length",
                1,
            )
            until(
                browser,
                "window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.connectionStatus",
                "connected",
            )
            browser.execute_script("window.jupyterapp.commands.execute('notebook:run-all-cells')")
            until(browser, "document.querySelectorAll('.jp-OutputArea iframe').length", 1)
            browser.switch_to.frame(browser.find_element("css selector", ".jp-OutputArea iframe"))
            until(browser, "panels.size === 2 && [...panels.get('calls').lines.values()].length", 2)
            assert browser.execute_script("""
                const {map} = panels.get('lat'), drawn = map.getContext('2d').getImageData(0, 0, map.width, map.height).data;
                return drawn.some((value, i) => i % 4 === 3 && value > 0);""")
        finally:
            browser.switch_to.default_content()
            browser.get("about:blank")
            server.terminate()


RECORDED = """
import pyusdt, time
for i in range(20):
    pyusdt.p(20 if i < 3 else 5000, 2, "early" if i < 3 else "late")
    time.sleep(0.05)
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "program.py").write_text(RECORDED)
    result = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "--record",
            str(folder / "events"),
            "-n",
            "pyusdt$target:::user_trace-i4s4 { ; }",
            "-c",
            f"{sys.executable} {folder / 'program.py'}",
        ]
    )
    assert result.status == 0, result
    return str(folder / "events")


SEEN = """const {drawn} = panels.get('lat'), seen = {};
    drawn.buckets.forEach((bucket, y) => { const sum = drawn.counts[y].reduce((a, b) => a + b, 0); if (sum) seen[panels.get('lat').plain.buckets[bucket]] = sum; });
    return seen;"""


def check_recording(browser):
    """The whole recording is there, all of it at once; of which `closer` shows 120 of its 600 intervals: the latest, and the first
    when the slider is at its left."""
    until(browser, "state && state.panels.length", 2)
    longest = browser.execute_script(
        "return Math.max(...[...panels.get('calls').lines.values()].map(line => line.past.length))"
    )
    assert 120 < longest <= 600 and 300 <= browser.execute_script("return state.intervals") <= 600
    assert browser.execute_script(SEEN) == {"16": 3, "4096": 17}
    ticks = browser.execute_script(
        "return [...document.querySelectorAll('#panels section .axis span')].map(tick => tick.textContent)"
    )
    assert len(ticks) > 4 and all(re.fullmatch(r"\d\d:\d\d:\d\d(\.\d+)?", tick) for tick in ticks)
    browser.execute_script("document.getElementById('zoom').click()")
    assert browser.find_element("id", "time").is_displayed()
    latest = browser.execute_script(SEEN)
    assert set(latest) == {"4096"} and 2 <= latest["4096"] < 17
    before = browser.find_element("id", "span").text
    browser.execute_script(
        "const bar = document.getElementById('scroll'); bar.value = 0; bar.dispatchEvent(new Event('input'))"
    )
    first = browser.execute_script(SEEN)
    assert first["16"] == 3 and first.get("4096", 0) < 17 - latest["4096"]
    assert (
        re.fullmatch(r"\d\d:\d\d:\d\d to \d\d:\d\d:\d\d", before)
        and browser.find_element("id", "span").text <= before
    )


def test_a_recording_with_its_time(browser, recording):
    """All of it at once, and it stays until Ctrl-C."""
    command = [harness.PYDTRACE, "-q", "--web", "--replay", recording, "-n", SCRIPT]
    with harness.running(command) as pydtrace:
        address, over = (pydtrace.stderr.readline() for _ in range(2))
        assert over == "dtrace: the recording is over; the page stays until Ctrl-C\n"
        browser.get(re.search(r"http://\S+", address)[0])
        check_recording(browser)
        assert browser.find_element("id", "status").text.startswith("over, ")
        pydtrace.terminate()
        assert harness.finish(pydtrace, 30).stdout.count("late") > 17


def test_a_recording_as_a_file(browser, recording, tmp_path):
    path = tmp_path / "page.html"
    assert (
        harness.run(
            [harness.PYDTRACE, "-q", "--html", str(path), "--replay", recording, "-n", SCRIPT]
        ).status
        == 0
    )
    browser.get(path.as_uri())
    check_recording(browser)


def write_program(folder):
    path = folder / "program.py"
    path.write_text(PROGRAM.replace("sys.stdin.read()", ""))
    return path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--web=x"], "--web needs the number of a port, or nothing"),
        (["--web=65536"], "--web needs the number of a port, or nothing"),
        (["--html"], "--html needs the name of a file"),
    ],
)
def test_wrong_arguments(arguments, message):
    result = harness.run([harness.PYDTRACE, *arguments])
    assert (result.status, result.stderr) == (1, f"dtrace: {message}\n")


def test_a_file_that_can_not_be_written():
    result = harness.run(
        [harness.PYDTRACE, "-n", "BEGIN { exit(0); }", "--html", "/proc/none/page.html"]
    )
    assert result.status == 1 and "failed to write to /proc/none/page.html" in result.stderr, (
        json.dumps(result.stderr)
    )
    assert not Path("/proc/none").exists()
