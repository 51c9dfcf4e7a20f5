"""ustack() under the kernel engine where there are no frame pointers: against gdb's backtrace at the same place.

- Both stacks are of the same wait for a line; no frame is left out but the interpreter's, in
  whose place Python's stand.
"""

import contextlib
import json
import os
import re
import subprocess
import time

import pytest

from pydtrace.engine.kernel import uprobe_attach as attach
from pydtrace.engine.kernel.unwind import bpf_native_unwinder
from tests.support import stacks_harness as harness
from tests.support.kernel_harness import DATA, PYDTRACE, compile_c

pytestmark = [
    pytest.mark.usefixtures("bpf"),
    pytest.mark.xdist_group("kernel/test_bpf_python_unwinder"),
]  # of processes that are named
READS = "import sys\nprint('ready', flush=True)\ndef reads():\n    sys.stdin.readline()\nwhile True:\n    reads()\n"
ON = "tick-10ms /!on/ { on = 1; trace(-1); }"


@pytest.fixture(scope="module", autouse=True)
def here():
    if why := bpf_native_unwinder.find_table_obstacle(os.uname().machine, attach.kernel_version()):
        pytest.skip(f"host: {why}")


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return compile_c(
        f"{DATA}/no_pointers.c", tmp_path_factory.mktemp("bare") / "bare", "-fomit-frame-pointer"
    )


@contextlib.contextmanager
def tracing(subject, clause):
    """Its messages from now on; it has begun."""
    arguments = [
        "-x",
        "engine=kernel",
        "--json",
        "-q",
        "-n",
        f"{ON} {clause}",
        "-p",
        str(subject.pid),
    ]
    tracer = subprocess.Popen(
        [PYDTRACE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        while json.loads(tracer.stdout.readline()).get("values") != [-1]:
            pass
        yield map(json.loads, tracer.stdout)
        tracer.terminate()
        err = tracer.communicate(timeout=60)[1]
        assert err == "", err
    finally:
        tracer.kill()
        tracer.communicate()


def at_read(subject, line=""):
    """The frames of the read in which it waits, once it has had a line.  Large tables are read once more where there was no time."""
    for _ in range(10):
        with tracing(
            subject, "syscall::read:entry /pid == $target/ { ustack(120); exit(0); }"
        ) as messages:
            subject.write_line(line)
            found = next(row["values"][0] for row in messages if row["type"] == "record")
        if "[not looked at yet]" not in found:
            break
    return found


def alike(ours, theirs):
    """Whether frames are gdb's [(position, name, distance from the name)]: where we have a name, which may be another of the same place, the
    distance from it is; else the position."""

    def is_one(frame, position, distance):
        name, _, after = frame.partition("`")[2].partition("+")
        return (
            int(name, 16) == position
            if name.startswith("0x")
            else int(after or "0", 16) == distance
        )

    return len(ours) == len(theirs) and all(
        is_one(frame, position, distance) for frame, (position, _, distance) in zip(ours, theirs)
    )


def compared(subject, folder, line=""):
    """The frames, which are gdb's."""
    return are_gdb_s(at_read(subject, line), subject, folder)


def are_gdb_s(found, subject, folder):
    """The same frames, which are those of its only thread."""
    [theirs] = harness.by_gdb(subject.pid, folder).values()
    native = [frame for frame in found if "`" in frame]
    wanted = [
        frame for frame in theirs if not (frame[1] or "").startswith("_PyEval_EvalFrameDefault")
    ]
    assert alike(native, wanted), (found, theirs)
    return found


def names(frames):
    return [re.split("[`+]", frame)[1] for frame in frames if "`" in frame]


def test_of_a_program_without_frame_pointers(bare, tmp_path):
    """Behind a signal, a frame of 70,000 bytes, one that is aligned, and a callback of the C library's."""
    harness.skip_without_gdb()
    with harness.started([bare]) as subject:
        found = names(compared(subject, tmp_path))
    assert [
        name
        for name in found
        if name in ("waits", "handler", "large", "compares", "sorts", "main", "_start")
    ] == ["waits", "handler", "large", "compares", "sorts", "main", "_start"]


def test_of_a_library_that_is_loaded_later(tmp_path):
    """The tracer knows nothing of it when it has begun; some lines later it does."""
    harness.skip_without_gdb()
    source, options = f"{DATA}/loads.c", ("-fomit-frame-pointer",)
    program = compile_c(source, tmp_path / "loads", *options)
    library = compile_c(source, tmp_path / "late.so", "-DLIBRARY", "-shared", "-fPIC", *options)
    with (
        harness.started([program, library]) as subject,
        tracing(
            subject, "syscall::read:entry /pid == $target && arg0 == 0/ { ustack(120); }"
        ) as messages,
    ):
        for _ in range(200):
            subject.write_line()
            found = next(row["values"][0] for row in messages if row["type"] == "record")
            if "main" in names(found) and "later" in names(found):
                break
            time.sleep(0.05)
        are_gdb_s(found, subject, tmp_path)
    assert [
        name for name in names(found) if name in ("waits", "later_inner", "later", "main", "_start")
    ] == ["waits", "later_inner", "later", "main", "_start"]


@pytest.mark.parametrize("python", ["/usr/bin/python3"])
def test_of_a_python(python, tmp_path):
    harness.skip_without_gdb()
    with harness.started([python, "-c", READS]) as subject:
        found = compared(subject, tmp_path)
    assert [frame.split()[0] for frame in found if "`" not in frame] == ["reads", "<module>"]
    assert "read" in found[0] and "PyEval_EvalCode" in "".join(
        found[found.index(next(each for each in found if each.startswith("<module>"))) :]
    )


@pytest.mark.long
def test_of_a_postgresql(tmp_path):
    harness.skip_without_gdb()
    with harness.postgresql() as subject:
        found = names(compared(subject, tmp_path, "select 1;"))
    assert {"PostgresMain", "PostgresSingleUserMain", "main"} <= set(found)
