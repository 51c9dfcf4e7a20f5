"""pyusdt diff: of profiles that were taken, of recordings, and wrong input."""

from __future__ import annotations

import json
import sys

import pytest

from tests.support import harness
from tests.support.stacks_harness import PYDTRACE, pyusdt

WORK = """
import sys, time
def often():
    for _ in range(2000): pass
def seldom():
    for _ in range(2000): pass
end = time.monotonic() + 3
while time.monotonic() < end:
    for _ in range(int(sys.argv[1])): often()
    for _ in range(int(sys.argv[2])): seldom()
"""


@pytest.fixture(scope="module")
def profiles(tmp_path_factory):
    """Of the same program: half of the time in each function, and nine tenths in one."""
    folder = tmp_path_factory.mktemp("profiles")
    (folder / "work.py").write_text(WORK)
    made = []
    for name, amounts in (("even", ["5", "5"]), ("odd", ["9", "1"])):
        done = pyusdt(
            *["profile", "-r", 200, "--folded", "--speedscope", folder / f"{name}.json"],
            *["--", sys.executable, folder / "work.py", *amounts],
        )
        (folder / f"{name}.folded").write_text(done.stdout)
        made.append(folder / f"{name}.folded")
    return made


def test_profiles(profiles):
    """The two functions are marked as changed, in the folded stacks and in speedscope's files; the program as a whole is not."""
    for ending in ("folded", "json"):
        before, after = (path.with_suffix(f".{ending}") for path in profiles)
        run = pyusdt("diff", "--json", before, after)
        assert (run.returncode, run.stderr) == (0, "")
        rows = {row["function"]: row for row in map(json.loads, run.stdout.splitlines())}
        often, seldom = (
            rows[name]["self"]["after"] - rows[name]["self"]["before"]
            for name in ("often", "seldom")
        )
        assert 0.2 < often < 0.6 and -0.6 < seldom < -0.2
        assert rows["often"]["exceeds_chance"] and rows["seldom"]["exceeds_chance"]


def test_the_same_profile(profiles):
    run = pyusdt("diff", profiles[0], profiles[0])
    assert "0 of " in run.stdout and run.stdout.endswith("no difference\n") and not run.returncode


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recordings")
    made = []
    for n in (40, 100):
        program = f"import pyusdt\nfor i in range({n}): pyusdt.p(i % 2, {n})"
        path = folder / f"{n}.events"
        run = harness.run(
            [PYDTRACE, "-q", "--record", str(path), "-n", "pyusdt$target:::user_trace-i4s4 {}"]
            + ["-c", f'{sys.executable} -c "{program}"']
        )
        assert run.status == 0, run
        made.append(path)
    return made


SCRIPT = "pyusdt*:::user_trace-i4s4 { @n[arg2] = count(); @v = quantize(arg3); }"


def test_recordings(recordings):
    run = pyusdt("diff", *recordings, "-n", SCRIPT)
    assert (run.returncode, run.stderr) == (0, ""), run
    rows = [line.split() for line in run.stdout.splitlines() if line.startswith("@")]
    assert ["@n", "count", "20", "50", "x", "2.5", "*", "0"] in rows
    assert ["@v", "quantize", "32..63", "64..127", "larger", "in", "100%", "*"] in rows


def test_output_of_pydtrace(recordings, tmp_path):
    for path in recordings:
        run = harness.run([PYDTRACE, "-q", "--json", "--replay", str(path), "-n", SCRIPT])
        (tmp_path / path.name).write_text(run.stdout)
    run = pyusdt("diff", *(tmp_path / path.name for path in recordings))
    assert "3 of 3 counts and distributions changed" in run.stdout, run


def test_bad_input(recordings, profiles, tmp_path):
    (tmp_path / "bad").write_text("nonsense\x1b[2J\n")
    for arguments, said in (
        ([tmp_path / "none", tmp_path / "none"], "none: No such file or directory"),
        ([tmp_path, tmp_path], "Is a directory"),
        ([tmp_path / "bad", profiles[0]], "bad: line 1 is no folded stack"),
        ([profiles[0], recordings[0]], "is a recording: they cannot be compared"),
        (recordings, "of recordings the aggregations of a script are compared"),
        ([*profiles, "-n", SCRIPT], "-n and -s are for recordings"),
        ([*recordings, "-n", "nonsense {"], "the script failed on"),
    ):
        run = pyusdt("diff", *arguments)
        assert (run.returncode, run.stdout) == (1, "") and said in run.stderr, (said, run)
        assert "\x1b" not in run.stderr
