"""The same script over the same program prints the same under pydtrace and under the real dtrace.

scripts/*.d are the cases. Only CPU, ids and times are masked, by column (harness.masked); line counts are equal.
"""

import glob
import os
import re
import sys

import pytest

from tests.support import harness
from tests.support.harness import Script

SCRIPTS = [
    Script(path) for path in sorted(glob.glob(os.path.join(harness.INTEGRATION, "scripts", "*.d")))
]
# seconds that the program waits after its probes are enabled: the real dtrace starts to trace a little later than that
SETTLE = 0.5


def errors(text: str) -> list[str]:
    """The run-time errors that a tracer reported, without where the program was and which probe id it has."""
    found = re.findall(
        r"^dtrace: error in .* for probe ID \d+ \(.*?:(\S*):(\S*)\): (.*?)(?: at .*)?$",
        text,
        re.MULTILINE,
    )
    return [" ".join(error) for error in found]


def by_pid(tracer: list[str], script: Script, timeout: float = 60) -> harness.Run:
    """Run a tracer on the program, which runs already and waits to be traced."""
    with harness.running_program(script.program, settle=SETTLE) as program:
        return harness.run(
            [*tracer, *script.options, "-s", script.path, "-p", str(program.pid)], timeout
        )


def by_command(script: Script) -> harness.Run:
    return harness.run(
        [
            harness.PYDTRACE,
            *script.options,
            "-s",
            script.path,
            "-c",
            harness.program(script.program),
        ],
        timeout=30,
    )


@pytest.fixture(scope="module")
def real(oracle):
    """real(script) -> what the real dtrace did with it, run once for each script."""
    runs = {}

    def run(script: Script) -> harness.Run:
        if script.name not in runs:
            # it finds the probes of a library that is loaded later only if it is told the process
            runs[script.name] = by_pid([harness.ORACLE, "dtrace"], script)
        return runs[script.name]

    return run


@pytest.mark.parametrize(
    "way", [by_command, lambda script: by_pid([harness.PYDTRACE], script)], ids=["-c", "-p"]
)
@pytest.mark.parametrize("script", SCRIPTS, ids=[script.name for script in SCRIPTS])
def test_prints_what_dtrace_prints(script, way, real):
    want, got = real(script), way(script)
    assert harness.masked(got.stdout, script.masked) == harness.masked(
        want.stdout, script.masked
    ), got
    assert errors(got.stderr) == errors(want.stderr)
    assert got.status == want.status, got


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.name for script in SCRIPTS])
def test_the_script_tests_something(script, real):
    """The real dtrace takes the script and prints at least one line."""
    run = real(script)
    assert run.stdout.strip(), run
    assert "dtrace: failed" not in run.stderr and "invalid probe" not in run.stderr, run


def test_masking_hides_only_columns():
    assert harness.masked("  1   4711   fire:user_trace-n1 12 34", {}) == [
        "##########   fire:user_trace-n1 12 34"
    ]
    assert harness.masked("pid 12 34\nother 12", {"pid": {2}}) == ["pid # 34", "other 12"]
    assert harness.masked("           value  --- count", {}) == ["           value  --- count"]
    assert harness.masked("       536870912 |@@ 3", {}) == ["       536870912 |@@ 3"]
    assert sys.executable in harness.program("events.py")
