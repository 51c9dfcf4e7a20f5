"""jstack() under the kernel engine: the frames of Python that the program itself had at the firing.

- What is compared is the program's word (tests/stacks/programs/stack_checksums.py) and the
  tracer's, frame by frame; no frame is left out.
"""

import json
import subprocess
import sys
import zlib

import pytest

from pydtrace.unwind import python_frame_words
from pydtrace.unwind.merge_frames import interleave_texts
from tests.support import stacks_harness as harness
from tests.support.kernel_harness import PYDTRACE, compile_c

pytestmark = [
    pytest.mark.usefixtures("bpf"),
    pytest.mark.xdist_group("kernel/test_bpf_python_unwinder"),
]  # of processes that are named
TIMES = 400
SYSCALL = "syscall::getpriority:entry /pid == $target && arg0 >= 1000/ { trace(arg0); trace(arg1); jstack(120); }"
USDT = "pyusdt$target:::user_trace-i4s4 { trace(arg2); trace(arg3); jstack(120); }"
ON = "tick-10ms /!on/ { on = 1; trace(-1); }"


def rows(process, times):
    """The values of so many records of pydtrace's, once it traces; it goes on."""
    found = []
    while len(found) < times:
        line = process.stdout.readline()
        assert line, process.communicate()
        row = json.loads(line)
        if row["type"] == "record":
            found.append(row["values"])
    return found


def told(python, how, script, times=TIMES, command=(PYDTRACE,)):
    """[[1000 + number of frames, checksum, frames]] of what the program told."""
    with harness.running(python, "stack_checksums.py", times, how) as subject:
        arguments = [
            "-x",
            "engine=kernel",
            "--json",
            "-q",
            "-n",
            f"{ON} {script}",
            "-p",
            str(subject.pid),
        ]
        tracer = subprocess.Popen(
            [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            rows(tracer, 1)
            subject.write_line()
            assert subject.hear() == "told"
            found = rows(tracer, times)
            subject.write_line()
            assert tracer.communicate(timeout=60)[1] == ""
        finally:
            tracer.kill()
            tracer.communicate()
    return found


def wrong(found):
    return [
        row
        for row in found
        if zlib.crc32("\n".join(row[2]).encode()) & 0x7FFFFFFF != row[1]
        or len(row[2]) != row[0] - 1000
    ]


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_at_system_calls(python):
    assert wrong(told(python, "syscall", SYSCALL)) == []


def test_at_usdt_probes():
    assert wrong(told(sys.executable, "usdt", USDT)) == []


def test_at_functions_of_c():
    script = SYSCALL.replace("syscall::getpriority:entry", "pid$target:libc.so.6:getpriority:entry")
    assert wrong(told(sys.executable, "syscall", script)) == []


def traced(pid, script):
    """A pydtrace of a process that traces already."""
    command = [
        PYDTRACE,
        "-x",
        "engine=kernel",
        "--json",
        "-q",
        "-n",
        f"{ON} {script}",
        "-p",
        str(pid),
    ]
    tracer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while rows(tracer, 1) != [[-1]]:
        pass
    return tracer


def keys(tracer):
    """Of its aggregation, once it ends."""
    out, err = tracer.communicate(timeout=60)
    assert err == ""
    return [
        row["keys"] for row in map(json.loads, out.splitlines()) if row["type"] == "aggregation"
    ]


@pytest.mark.parametrize(
    "probe, program, function",
    [("profile-997", "in_turn.py", "in_turn"), ("sched:::off-cpu", "states.py", "states")],
)
def test_as_keys_of_what_the_kernel_fires(probe, program, function):
    """A spinning program and one that waits: every frame is named, and is of the program or of what it imports."""
    with harness.running(sys.executable, program) as subject:
        script = f"{probe} /pid == $target && n < 50/ {{ n++; @[jstack()] = count(); }} tick-10ms /n >= 50/ {{ exit(0); }}"
        tracer = traced(subject.pid, script)
        found = [frame for [stack] in keys(tracer) for frame in stack]
    assert any(f"/{function}.py:" in frame for frame in found), found
    assert [frame for frame in found if not frame.endswith(")")] == []


def test_a_thread_that_comes_has_no_frames_of_the_one_that_goes():
    """These were shown, named as the other process's."""
    with harness.running(sys.executable, "states.py") as subject:
        script = "sched:::on-cpu /pid == $target/ { n++; @[jstack()] = count(); } tick-10ms /n >= 50/ { exit(0); }"
        found = [frame for [stack] in keys(traced(subject.pid, script)) for frame in stack]
    assert [frame for frame in found if ".py:" in frame] == []


def test_a_child_and_a_program_that_takes_the_process_s_place():
    """Each is asked for by its first firing; what the one before was called is not believed of it."""
    with harness.running(sys.executable, "forks_and_execs.py") as subject:
        tracer = traced(subject.pid, "syscall::getpriority:entry /arg0 == 4242/ { jstack(2); }")
        for said, function in (("before", "before"), ("child", "in_child"), ("after", "after")):
            assert subject.said == said
            while not rows(tracer, 1)[0][0][-1].startswith(f"{function} ("):
                pass
            subject.write_line()
            if said != "after":
                subject.said = subject.hear()
        tracer.kill()
        tracer.communicate()


def test_before_bpf_loop():
    """As Linux 5.8 to 5.16 do it."""
    old = "from pydtrace.engine.kernel.unwind import bpf_python_unwinder as walk; walk.BPF_LOOP = (99, 0); from pydtrace.cli.pydtrace.main import main; main()"
    assert (
        wrong(told(sys.executable, "syscall", SYSCALL, command=(sys.executable, "-c", old))) == []
    )


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_ustack_has_them_in_the_place_of_the_interpreter_s(python):
    """Half of the frames are for native ones, which there are more of before CPython 3.11; none of the interpreter's is left out."""
    found = told(python, "syscall", SYSCALL.replace("jstack", "ustack"))
    assert all(
        "getpriority" in row[2][0]
        and not any("`_PyEval_EvalFrameDefault" in each for each in row[2])
        for row in found
    )
    assert (
        wrong(
            [
                [
                    *row[:2],
                    [each for each in row[2] if "`" not in each and each != "[not looked at yet]"],
                ]
                for row in found
            ]
        )
        == []
    )


# --- what is no Python, or hardly one -------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return compile_c(
        f"{harness.STACKS}/hostile_main.c",
        tmp_path_factory.mktemp("hostile") / "hostile",
        "-rdynamic",
    )


def shown(hostile, how):
    """(frames of a stack of the program's, pydtrace's standard error)."""
    with harness.started([hostile, how]) as subject:
        if subject.said != "ready":
            pytest.skip("host: no userfaultfd")
        with traced(
            subject.pid, "syscall::getppid:entry /pid == $target/ { jstack(); exit(0); }"
        ) as tracer:
            subject.write_line()
            [[found]] = rows(tracer, 1)
            return found, tracer.communicate(timeout=60)[1].replace(str(subject.pid), "PID")


@pytest.mark.parametrize("how, frames, told", [
    ("wild", ["?", "[lost]"], ""),
    ("circle", ["?"] * 50, ""),
    ("long", ["?"] * 50, ""),
    ("texts", ["?"], ""),
    ("told", ["?"], "dtrace: jstack(): process PID: its Python's memory holds impossible values: no memory, or offsets that cannot be\n"),
    ("waits", ["[lost]"], ""),
    ("unnamed", ["?"], "dtrace: process PID: its memory cannot be read in time: its frames have no names\n"),
])  # fmt: skip
def test_a_process_that_shows_nonsense_leads_nowhere(hostile, how, frames, told):
    found, err = shown(hostile, how)
    if how == "told":  # it is no Python, and has its native frames, as far as they can be followed
        assert "`getppid" in found[0]
        del found[1:]
    assert ([each if each.startswith("[") else "?" for each in found], err) == (frames, told)


def words(*calls):
    """Of calls of the interpreter, each of so many frames."""
    return [
        python_frame_words.MARK | 1 << 40 | (python_frame_words.FIRST if last else 0)
        for n in calls
        for last in [False] * (n - 1) + [True]
    ]


@pytest.mark.parametrize("native, calls, found", [
    (["libc`read", "py`_PyEval_EvalFrameDefault+0x2", "py`call", "py`_PyEval_EvalFrameDefault+0x9", "py`main"], (2, 1),
     ["libc`read", "0", "1", "py`call", "2", "py`main"]),
    (["libc`read", "0x7f12", "libc`never"], (1, 1), ["libc`read", "0", "1"]),
    (["py`_PyEval_EvalFrameDefault+0x2", "py`main"], (3,), ["0", "1", "2", "py`main"]),
])  # fmt: skip
def test_where_native_frames_are_known_python_s_take_the_interpreter_s_place(native, calls, found):
    texts = [str(number) for number in range(sum(calls))]
    assert interleave_texts(native, texts, words(*calls)) == found
