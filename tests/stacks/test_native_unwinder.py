"""Native frames: against gdb's backtrace, of tables that make no sense, and what the process notices of it."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import re
import signal
import struct
import subprocess
from types import SimpleNamespace

import pytest

from pydtrace import _tracer
from pydtrace.process import proc_threads
from pydtrace.remote_python import native_dump
from pydtrace.symbols import elf
from pydtrace.untrusted import watchdog
from pydtrace.unwind import dwarf_cfi, native_unwinder, unwind_table
from pydtrace.unwind.thread_capture import ThreadCopy
from tests.support import stacks_harness as harness

HERE = harness.STACKS


def by_us(pid: int) -> dict[int, list[native_unwinder.NativeFrame]]:
    """All native frames, those of the interpreter, too."""
    memory = _tracer.Memory(pid)
    threads = native_dump.dump_threads(pid, memory, None, None, None)
    assert [thread.native_remark for thread in threads] == [None] * len(threads)
    return {thread.kernel_thread.tid: thread.frames for thread in threads}


def is_name(frame: native_unwinder.NativeFrame, name: str | None) -> bool:
    """Whether gdb's name is of the same function; many have several."""
    if (
        name is None or name.partition(".")[0] == frame.name.partition(".")[0]
    ):  # of a part, or a copy, of the function
        return name is not None or frame.name.startswith("0x")
    file = elf.ElfFile(frame.file)
    debug = file._debug_path()
    starts = [
        {each.find_symbol(wanted) for each in (file, *([elf.ElfFile(debug)] if debug else []))}
        - {None}
        for wanted in (frame.name, name)
    ]
    return bool(starts[0] & starts[1])


def both(pid: int, folder):
    """What we and gdb see while nothing moves."""
    while True:
        ours, theirs = by_us(pid), harness.by_gdb(pid, folder)
        if positions(ours) == positions(by_us(pid)):
            return ours, theirs


def positions(threads: dict[int, list[native_unwinder.NativeFrame]]) -> dict[int, list[int]]:
    return {tid: [frame.pc for frame in frames] for tid, frames in threads.items()}


def compare(pid: int, folder, names: set[str]) -> None:
    """names: that must be there."""
    ours, theirs = both(pid, folder)
    assert ours.keys() == theirs.keys()
    assert positions(ours) == {
        tid: [position for position, *_ in frames] for tid, frames in theirs.items()
    }
    for tid, wanted in theirs.items():
        assert [
            (frame.name, name)
            for frame, (_, name, _) in zip(ours[tid], wanted, strict=True)
            if not is_name(frame, name)
        ] == []
    assert names <= {frame.name for frames in ours.values() for frame in frames}


def waits(pid: int) -> bool:
    return all(task.syscall for task in proc_threads.read_kernel_threads(pid).values())


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_a_python_has_the_frames_that_gdb_has(python, tmp_path):
    """The interpreter and libc, in a read, a select and a lock."""
    harness.skip_without_gdb()
    with harness.running(python, "waiting_threads.py") as subject:
        while not waits(subject.pid):
            pass
        compare(subject.pid, tmp_path, {"select"})


def test_a_postgresql_has_the_frames_that_gdb_has(tmp_path):
    """Debian's, a backend that waits for its user."""
    harness.skip_without_gdb()
    with harness.postgresql() as subject:
        while not waits(subject.pid):
            pass
        compare(subject.pid, tmp_path, {"PostgresMain", "PostgresSingleUserMain", "main"})


# ---- beside Python's ----


def dumped(pid: int, *options: str) -> dict:
    run = harness.pyusdt("dump", "--json", *options, pid)
    assert (run.returncode, run.stderr) == (0, ""), run
    return json.loads(run.stdout)


def of_python(thread: dict) -> list[tuple[str, int]]:
    return [
        (frame["function"], frame["line"]) for frame in thread["frames"] if "address" not in frame
    ]


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_both_kinds_in_one_stack(python):
    """Python's frames are those that there are without --native, each in the place of the C function that runs it."""
    with harness.running(python, "waiting_threads.py") as subject:
        while not waits(subject.pid):
            pass
        plain, found = {}, None
        while found is None or {each["tid"]: of_python(each) for each in found} != plain:
            plain = {each["tid"]: of_python(each) for each in dumped(subject.pid)["threads"]}
            found = dumped(subject.pid, "--native")["threads"]
    assert [thread["native"] for thread in found] == [None] * 3
    names = {
        of_python(thread)[0][0]: [frame["function"] for frame in thread["frames"]]
        for thread in found
    }
    assert not any(
        name.startswith("_PyEval_EvalFrameDefault") for thread in names.values() for name in thread
    )
    selects, module = names["selects"], names["<module>"]
    assert (
        "select" in selects[: selects.index("selects")]
        and "PyEval_EvalCode" in module[module.index("<module>") :]
    )
    for thread in found:
        assert "address" in thread["frames"][0] and "address" in thread["frames"][-1]


def test_merged():
    """By what the interpreter's C function keeps on its stack, by its name, and what is left over."""

    def of_c(name: str, begin: int) -> native_unwinder.NativeFrame:
        frame = native_unwinder.NativeFrame(name, "", 0, 0)
        frame.begin, frame.end = begin, begin + 10
        return frame

    frames = [of_c("a", 0), of_c("0x1", 10), of_c("b", 20), of_c("_PyEval_EvalFrameDefault", 30)]
    assert [
        getattr(each, "name", each)
        for each in native_unwinder.interleave_frames(frames, [(["f", "g"], 15), (["h"], 0)])
    ] == ["a", "f", "g", "b", "h"]
    assert native_unwinder.interleave_frames(frames[:1], [(["f"], 0), (["g"], 15)])[1:] == [
        "f",
        "g",
    ]
    assert native_unwinder.interleave_frames(frames, []) == frames


def test_words_of_a_process_that_is_no_python():
    with harness.started(["sh", "-c", "echo ready; read line"]) as subject:
        while not waits(subject.pid):
            pass
        said = harness.pyusdt("dump", "--native", subject.pid).stdout
    assert re.match(
        rf"Process {subject.pid}: no CPython, 1 thread\n\nThread {subject.pid} \(sh\): waits in read\n    \S*read \(/",
        said,
    )


# ---- what the process notices ----


@pytest.fixture(scope="module")
def notices(tmp_path_factory):
    program = str(tmp_path_factory.mktemp("notices") / "notices")
    subprocess.run(["gcc", "-O1", "-pthread", f"{HERE}/notices_main.c", "-o", program], check=True)
    return program


def test_no_call_is_interrupted_and_no_signal_is_lost(notices):
    with harness.started([notices]) as subject:
        spinning(subject.pid)
        for n in range(30):
            os.kill(subject.pid, signal.SIGUSR1)
            by_us(subject.pid)
            while True:
                subject.write_line()
                interrupted, signals = map(int, subject.hear().split())
                if signals == n + 1:
                    break
        assert interrupted == 0


def spinning(pid: int) -> int:
    """The thread that runs, once the two others wait."""
    while True:
        tasks = proc_threads.read_kernel_threads(pid)
        if len(tasks) == 3 and sum(task.syscall is not None for task in tasks.values()) == 2:
            return next(tid for tid, task in tasks.items() if task.syscall is None)


def test_another_tracer_that_comes_between(notices):
    """As long as one tracer has a thread, the other reads it as it stands."""
    seize, interrupt = 0x4206, 0x4207
    ptrace = ctypes.CDLL(None).ptrace
    with harness.started([notices]) as subject:
        tid = spinning(subject.pid)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                if ptrace(seize, tid, None, None) == ptrace(interrupt, tid, None, None) == 0:
                    os.write(write, b".")
                signal.pause()
            finally:
                os._exit(1)
        os.close(write)
        try:
            assert os.read(read, 1) == b"."
            while proc_threads.read_state_letter(subject.pid, tid) != "t":
                pass
            threads = {
                thread["tid"]: thread for thread in dumped(subject.pid, "--native")["threads"]
            }
            assert (
                threads[tid]["frames"][0]["function"] == "spins"
                and threads[tid]["state"] == "stopped by a debugger"
            )
            assert {thread["native"] for thread in threads.values()} == {None}
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        while proc_threads.read_state_letter(subject.pid, tid) != "R":
            pass
    os.close(read)


def test_ctrl_z_waits_until_the_thread_goes_on(notices):
    with harness.started([notices]) as subject:
        tid = spinning(subject.pid)
        tracer = os.fork()
        if tracer == 0:
            try:
                os.setpgid(0, 0)  # in an orphaned group SIGTSTP does nothing
                signal.signal(signal.SIGTSTP, signal.SIG_DFL)
                with watchdog.watchdog(
                    "the process does not answer"
                ):  # a thread of the tracer's own, as in pyusdt profile
                    _tracer.stop_threads(_tracer.Memory(subject.pid), [tid], False)
                    os.kill(os.getpid(), signal.SIGTSTP)
                    _tracer.continue_threads([tid])
            finally:
                os._exit(signal.SIGTSTP in signal.sigpending())
        try:
            assert os.WIFSTOPPED(os.waitpid(tracer, os.WUNTRACED)[1])
            while (
                proc_threads.read_state_letter(subject.pid, tid) != "R"
            ):  # the holder lets it go a moment later
                pass
            os.kill(tracer, signal.SIGCONT)
            assert os.waitpid(tracer, 0)[1] == 0
        except BaseException:
            os.kill(tracer, signal.SIGKILL)
            raise


# ---- tables of strangers ----


class Mutated:
    """A file of which a few bytes are others."""

    def __init__(self, path: str, choose: random.Random):
        file = elf.ElfFile(path)
        self.sections = file.sections
        with open(path, "rb") as data:
            self._data = bytearray(data.read())
        self.segments: list[tuple[int, int, int]] = []
        for name in (".eh_frame", ".eh_frame_hdr") * 3:
            _, _, offset, size, _ = self.sections[name]
            self._data[offset + choose.randrange(size)] = choose.randrange(256)

    def read(self, offset: int, size: int) -> bytes:
        if not 0 <= offset <= len(self._data) - size:
            raise elf.BadFile("it is cut off")
        return bytes(self._data[offset : offset + size])


def test_tables_that_make_no_sense(notices):
    """They raise what is expected of them, and nothing else; and no walk by them is endless."""
    functions = [address for address, _, _ in elf.ElfFile(notices).read_functions()]
    for seed in range(400):
        choose = random.Random(seed)
        try:
            tables = dwarf_cfi.FrameTables(Mutated(notices, choose))
        except native_unwinder._WRONG:
            continue
        with contextlib.suppress(
            elf.BadFile, unwind_table.NoTable
        ):  # all that whoever reads all of them is ready for
            unwind_table.build_table(Mutated(notices, random.Random(seed)))
        stack = ThreadCopy(
            {native_unwinder.SP: 4096, native_unwinder.PC: 0}, choose.randbytes(4096), None
        )
        registers = {number: 4096 + 8 * number for number in range(17)}
        for address in functions:
            try:
                row = tables.find_row(address + 1)
                if row:
                    native_unwinder._step_by_table(registers, row, stack.read_word)
            except native_unwinder._WRONG:
                pass


def test_a_circle_ends():
    """Frames of code without tables, each of which says that the next is itself."""
    code = SimpleNamespace(
        describe_address=lambda pc, called: (
            native_unwinder.NativeFrame("f", "", pc, pc),
            None,
            True,
        )
    )
    stack = ThreadCopy(
        {native_unwinder.SP: 0, native_unwinder.PC: 5, native_unwinder.FP: 16},
        struct.pack("=8Q", 0, 0, 16, 5, 0, 0, 0, 0),
        None,
    )
    frames, why = native_unwinder.NativeUnwinder(code).unwind_copy(stack)
    assert (len(frames), why) == (2, "it does not end in a function")


def test_expressions():
    """As libc's table for the trampoline of signals has them, and a few that make no sense."""
    stack = ThreadCopy({native_unwinder.SP: 0}, struct.pack("=4Q", 10, 20, 30, 40), None)
    assert dwarf_cfi.evaluate_expression(b"\x77\x08\x06", {7: 8}, stack.read_word) == 30
    assert (
        dwarf_cfi.evaluate_expression(
            b"\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", {7: 8, 16: 15}, stack.read_word
        )
        == 24
    )
    assert dwarf_cfi.evaluate_expression(b"\x23\x05", {}, stack.read_word, 7) == 12
    for wrong in (b"", b"\x06", b"\xff", b"\x77", b"\x30" * 100, b"\x31\x3f\x24\x22"):
        with pytest.raises(native_unwinder._WRONG):
            dwarf_cfi.evaluate_expression(wrong, {7: 8}, stack.read_word)
