"""What a process may have is too little for pydtrace: it says what, and calls nothing of it a bug of its own."""

from __future__ import annotations

import errno
import os
import re

import pytest

from pydtrace.cli.machine_limits import explain_host_limit
from tests.support import harness

SCRIPT = "pyusdt*:::user_trace-i4s4 { @ = count(); } tick-200ms { exit(0); }"
FORGOTTEN = re.compile("bug in|Traceback")


@pytest.mark.parametrize(
    "limit",
    [
        "nofile=5",
        "nofile=6",
        "nofile=9",
        "nofile=14",
        *(f"as={kib << 10}" for kib in (20_000, 22_000, 24_000, 30_000, 61_440, 102_400)),
    ],
)
def test_too_little(limit):
    for engine in ["embedded", "kernel"] if os.geteuid() == 0 else ["embedded"]:
        run = harness.run(
            ["prlimit", f"--{limit}", harness.PYDTRACE, "-x", f"engine={engine}", "-Zqn", SCRIPT]
        )
        assert not FORGOTTEN.search(run.stderr), run
        assert run.status == 0 or run.stderr.startswith("dtrace: ") and ": :" not in run.stderr, run


def test_a_clause_that_no_program_of_the_kernel_can_hold(tmp_path, root):
    """The jump of a predicate over all of it."""
    path = tmp_path / "large.d"
    path.write_text(
        "BEGIN { "
        + " ".join(f's = strjoin("a{i}", "b"); t = substr(s, {i % 5});' for i in range(400))
        + " exit(0); }"
    )
    run = harness.run([harness.PYDTRACE, "-x", "engine=kernel", "-qs", str(path)], timeout=90)
    assert run.status == 1 and not FORGOTTEN.search(run.stderr), run
    assert (
        "too large for one program of the kernel's" in run.stderr and "Divide them" in run.stderr
    ), run


@pytest.mark.parametrize(
    "error, said",
    [
        (MemoryError(), "no memory is left"),
        (SystemError("error return without exception set"), "no memory is left"),
        (OSError(errno.EMFILE, "x"), "`ulimit -n`"),
        (OSError(errno.ENFILE, "x"), "file-max"),
        (OSError(errno.ENOMEM, "x"), "no memory is left"),
        (RuntimeError("can't start new thread"), "`ulimit -u`"),
        (ImportError("a.so: cannot open shared object file: Too many open files"), "`ulimit -n`"),
        (ImportError("a.so: failed to map segment from shared object"), "no memory is left"),
    ],
)
def test_what_is_a_limit(error, said):
    assert said in explain_host_limit(error)


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOENT, "x"),
        OSError("x"),
        RuntimeError("x"),
        ImportError("no module"),
        ValueError("x"),
    ],
)
def test_what_is_none(error):
    assert explain_host_limit(error) is None
