"""Stacks read from outside, against what the program itself says about them."""

from __future__ import annotations

import ast
import contextlib
import ctypes
import errno
import itertools
import json
import os
import subprocess
import time
from collections import Counter

import pytest

from pydtrace import _tracer
from pydtrace.profile.sampled_process import SampledProcess
from pydtrace.profile.sampler_options import ALL, SamplerOptions
from pydtrace.profile.stack_profile import Profile
from pydtrace.remote_python import python_threads
from pydtrace.remote_python.code_objects import CodeObjects
from pydtrace.remote_python.remote_python import RemotePython
from pydtrace.remote_python.thread_names import ThreadNames
from pydtrace.untrusted.cpu_time_budget import CpuTimeBudget
from tests.support import stacks_harness as harness
from tests.support.python_stack_reader import Reader

THREADS = 20


def compare(python: str, rounds: int) -> int:
    """How many stacks were the same; fails where one was not."""
    seen = 0
    with harness.running(python, "many_stacks.py", THREADS, rounds) as subject:
        reader = Reader(subject.pid)
        for _ in range(rounds):
            subject.write_line()
            told = json.loads(subject.hear())
            found = {raw.ident: raw for raw in reader.read()}
            for ident, wanted in told.items():
                raw = found[int(ident)]
                assert reader.rows(raw) == wanted, (raw.marks, ident)
                assert raw.marks == []
                seen += 1
            subject.write_line()
    return seen


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_stacks_are_what_the_program_says(python):
    """Functions, files and lines, of recursion, generators, coroutines, C callbacks, eval and names beyond ASCII."""
    assert compare(python, 15) == 15 * THREADS


@pytest.mark.long
@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_a_hundred_thousand_stacks(python):
    assert compare(python, 100_000 // THREADS) == 100_000


# ---- stacks that move ----


@contextlib.contextmanager
def stepping(pid: int):
    """A function that lets a process go on by one instruction; else it stands still."""
    attach, single_step, detach = 16, 9, 17
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.restype, ptrace.argtypes = (
        ctypes.c_long,
        [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p],
    )

    def ask(what: int) -> None:
        assert ptrace(what, pid, None, None) == 0, os.strerror(ctypes.get_errno())

    def step() -> None:
        ask(single_step)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSTOPPED(status), status

    ask(attach)
    os.waitpid(pid, 0)
    yield step
    ask(detach)


MOVES = os.path.join(harness.STACKS, "programs", "fast_calls.py")


def calls_of(path: str) -> dict[str, dict[str, set[int]]]:
    """{function: {function that it calls: lines}} of a module; "<module>" is one."""
    found: dict[str, dict[str, set[int]]] = {}
    with open(path) as file:
        tree = ast.parse(file.read())
    for top in tree.body:
        name = top.name if isinstance(top, ast.FunctionDef) else "<module>"
        for node in ast.walk(top):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                found.setdefault(name, {}).setdefault(node.func.id, set()).add(node.lineno)
    return found


def is_possible(rows: list[list], calls, lines: bool) -> bool:
    """Whether each frame can have called the one inside of it; lines: from where it is, too."""
    return rows[-1][0] == "<module>" and all(
        inner in calls.get(outer, {}) and (not lines or line in calls[outer][inner])
        for (inner, _, _), (outer, _, line) in itertools.pairwise(rows)
    )


def test_possible_stacks():
    calls = calls_of(MOVES)
    line = min(calls["<module>"]["main"])
    assert is_possible([["main", "", 0], ["<module>", "", line]], calls, True)
    assert not is_possible([["main", "", 0], ["<module>", "", line - 1]], calls, True)
    assert not is_possible([["leaf_a", "", 0], ["<module>", "", line]], calls, False)


def sample(python: str, wanted: int, whole: int) -> Counter[str]:
    """Counts of what was read of a program that never holds still: `wanted` stacks, and more until `whole` of them were whole."""
    calls, counts = calls_of(MOVES), Counter()
    with harness.running(python, "fast_calls.py") as subject:
        reader = Reader(subject.pid, tries=8)
        while counts.total() < wanted or counts["whole"] < whole:
            [raw] = reader.read()
            rows, marks = reader.rows(raw), raw.marks
            unknown = any(
                name == "?" for name, _, _ in rows
            )  # what it had run was read too late to say what it was
            kind = (
                "unknown"
                if unknown
                else "torn"
                if {"torn", "lost"} & {*marks}
                else "moved"
                if "moved" in marks
                else "whole"
            )
            counts[kind] += 1
            assert kind != "whole" or is_possible(rows, calls, True), rows
            time.sleep(0.0003)
    assert counts["unknown"] <= counts.total() / 100, counts
    return counts


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_a_stack_that_moves_is_true_or_marked(python):
    """How many of them are is the machine's affair, how long it takes, too: a hundred are needed to say that they are right."""
    print(harness.name_of(python), sample(python, 1000, whole=100))


def test_looks_do_not_go_in_step_with_a_program(tmp_path):
    """The walk over a program in a model, in a loop as long as one look or several: of 37,440 walks few show a stack that never was.

    507 did so with two looks at even distances, 249 with four."""
    program, core = (
        str(tmp_path / "moving"),
        os.path.join(os.path.dirname(harness.STACKS), "..", "c"),
    )
    sources = [
        f"{harness.STACKS}/moving_main.c",
        *(f"{core}/pystack/{name}.c" for name in ("python_walk", "stack_reading", "thread_list")),
        f"{core}/pystack/cpython_offsets.c",
    ]
    subprocess.run(
        ["gcc", "-std=gnu11", "-Wall", "-Werror", "-O1", f"-I{core}", *sources, "-o", program],
        check=True,
    )
    whole, wrong = map(
        int, subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    )
    assert whole > 200 and wrong < 10


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_at_each_instruction_of_the_interpreter(python):
    """A program that stands still is true, wherever in a call or a return of the interpreter it does, and whole all but always."""
    calls, known, whole = calls_of(MOVES), {}, 0
    with harness.running(python, "fast_calls.py") as subject:
        reader = Reader(subject.pid, tries=1)
        with stepping(subject.pid) as step:
            for _ in range(3000):
                step()
                [raw] = reader.read()
                assert raw.marks in ([], ["lost"])
                whole += raw.marks == []
                if raw.marks == [] and raw.stack not in known:
                    known[raw.stack] = rows = reader.rows(raw)
                    assert is_possible(rows, calls, True), rows
    assert len(known) > 5 and whole > 2900


# ---- ends ----


def test_what_is_deep_is_cut():
    with harness.running(harness.INTERPRETERS[0], "many_stacks.py", 1, 1) as subject:
        subject.write_line()
        told = json.loads(subject.hear())
        reader = Reader(subject.pid, frames=2)
        raw = next(each for each in reader.read() if str(each.ident) in told)
        assert raw.marks == ["cut"] and reader.rows(raw) == told[str(raw.ident)][:2]


def test_a_process_that_has_ended():
    with harness.running(harness.INTERPRETERS[0], "waits.py") as subject:
        reader = Reader(subject.pid)
        memory = _tracer.Memory(subject.pid)
        assert memory.is_same_process()
    assert not memory.is_same_process()
    with pytest.raises(OSError) as error:
        reader.make_walker.walk()
    assert error.value.errno == errno.ESRCH


def test_the_id_of_a_thread_is_no_process():
    for pid in (0, -1, 1 << 22):
        with pytest.raises(OSError) as error:
            _tracer.Memory(pid)
        assert error.value.errno == errno.ESRCH


def change_bytes(pid: int, address: int, size: int) -> None:
    """Each of them becomes another."""
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(address)
        data = memory.read(size)
        memory.seek(address)
        memory.write(bytes(255 - byte for byte in data))


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_what_lies_behind_a_name_is_no_part_of_it(python):
    """Functions that live as long as the program became "?", now and then, where the object behind their name in memory changed.  The
    program waits meanwhile."""
    program = "def f(): print('ready'); input()\ndef größer(): f()\ngrößer()"
    with harness.started([python, "-u", "-c", program]) as subject:
        process = SampledProcess(subject.pid, Profile(100, "all threads"), SamplerOptions(ALL))
        there, looker = process.python, process.looker
        [raw] = python_threads.read_raw_threads(there.make_walker(100, 8), subject.pid)
        layout, codes = there.layout, CodeObjects(there)
        assert len(raw.code_addresses) == 3
        for code in raw.code_addresses:
            name = there.read_word(code + (layout["code_qualname"] or layout["code_name"]))
            text = codes.read_text(name)
            end = layout["unicode_ascii_data" if text.isascii() else "unicode_data"] + len(text)
            before = looker.read_identities([code])
            change_bytes(subject.pid, name + end, 40)
            assert looker.read_identities([code]) == before != [None]
            change_bytes(subject.pid, name + end, 40)
            change_bytes(subject.pid, name + end - 1, 1)
            assert looker.read_identities([code]) != before
            change_bytes(subject.pid, name + end - 1, 1)
        process.close()


def test_the_name_of_a_thread_stays():
    """Where the time for reading names is used up, as for hundreds of threads: their samples would have the kernel's name from then on."""
    with harness.running(harness.INTERPRETERS[0], "named_threads.py") as subject:
        there = RemotePython(subject.pid)
        names, found = (
            ThreadNames(there, CodeObjects(there)),
            python_threads.read_raw_threads(there.make_walker(100, 8), subject.pid),
        )
        before = [names.find_name(raw.home, raw.ident, None) for raw in found]
        assert "indexer" in before
        names._time = CpuTimeBudget(-1.0, 1000)
        names._known = {thread: (name, -1000.0) for thread, (name, _) in names._known.items()}
        assert not names._time.is_available
        assert [names.find_name(raw.home, raw.ident, None) for raw in found] == before
