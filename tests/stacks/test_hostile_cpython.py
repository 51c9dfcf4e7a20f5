"""Processes that show what is no CPython: the tracer neither fails nor waits, nor does it take in what they like."""

from __future__ import annotations

import json
import re
import subprocess
import time
from types import SimpleNamespace

import pytest

from pydtrace.cli.commands.dump import MAX_NAME_CHARACTERS
from pydtrace.driver import profile_samples
from pydtrace.profile.folded import fold_stacks
from pydtrace.profile.sampled_process import SampledProcess
from pydtrace.profile.sampler_options import ALL, SamplerOptions
from pydtrace.profile.stack_profile import Profile
from pydtrace.remote_python import code_objects, python_threads
from pydtrace.remote_python.code_objects import CodeObjects
from pydtrace.remote_python.remote_python import RemotePython, StackReadError
from tests.support import stacks_harness as harness


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    program = str(tmp_path_factory.mktemp("hostile") / "hostile")
    source = f"{harness.STACKS}/hostile_main.c"
    subprocess.run(
        ["gcc", "-std=gnu11", "-Wall", "-Werror", "-O1", "-rdynamic", source, "-o", program],
        check=True,
    )
    return program


def dump(hostile, how: str, *options: str) -> tuple[dict, float]:
    with harness.started([hostile, how]) as subject:
        began = time.monotonic()
        run = harness.pyusdt("dump", "--json", *options, subject.pid)
        assert (run.returncode, run.stderr) == (0, ""), run
        return json.loads(run.stdout), time.monotonic() - began


def marks(found: dict) -> list[list[str]]:
    return [thread["marks"] for thread in found["threads"]]


@pytest.mark.parametrize("how", ["wild", "circle", "texts"])
def test_native_frames_beside_nonsense(hostile, how):
    """Those of the program are there, whatever Python it shows."""
    found, _ = dump(hostile, how, "--native")
    [its_own] = [thread for thread in found["threads"] if thread["tid"]]
    assert (
        "_start" in [frame["function"] for frame in its_own["frames"]] and its_own["native"] is None
    )


@pytest.mark.parametrize("how", ["wild", "circle", "texts", "words"])
def test_variables_of_nonsense(hostile, how):
    """There are none, and soon."""
    found, seconds = dump(hostile, how, "--locals")
    frames = [frame for thread in found["threads"] for frame in thread["frames"]]
    assert all(frame["variables"] == [] for frame in frames) and seconds < 20


def test_endless_variables_of_endless_lists(hostile):
    """What is over the budget is not read, which is said, and nothing of it is shown without end."""
    with harness.started([hostile, "values"]) as subject:
        began = time.monotonic()
        run = harness.pyusdt("dump", "--locals", "--items", 10000, "--depth", 16, subject.pid)
        assert (run.returncode, run.stderr) == (0, "") and time.monotonic() - began < 30
    assert "(there was no room for its variables)" in run.stdout
    assert len(run.stdout) < 5 * MAX_NAME_CHARACTERS


def test_wild_pointers(hostile):
    found, _ = dump(hostile, "wild")
    assert (
        marks(found) == [["lost"]] and found["threads"][0]["frames"] == [] and found["tasks"] == []
    )


def test_circles(hostile):
    """Of interpreters, of threads, of frames."""
    found, seconds = dump(hostile, "circle")
    assert {tuple(each) for each in marks(found)} == {("lost",)} and len(found["threads"]) == 4096
    assert seconds < 20


@pytest.mark.parametrize(
    ("how", "options", "said"),
    [
        ("wild", [], "[lost]"),
        ("circle", [], "[lost]"),
        ("texts", [], "?"),
        ("long", ["--frames", "10"], "samples of stacks that were deeper"),
    ],
)
def test_a_profile_of_nonsense(hostile, how, options, said):
    """It ends in its time, says what was wrong, and the process goes on."""
    with harness.started([hostile, how]) as subject:
        run = harness.pyusdt("profile", "--wall", "-d", "1", *options, subject.pid)
        assert subject.process.poll() is None
    assert (run.returncode, run.stderr) == (0, "") and said in run.stdout, run


@pytest.mark.parametrize("how", ["wild", "circle", "texts", "long"])
def test_who_works_in_nonsense(hostile, how):
    """Nobody, or it can not be told; and soon."""
    with harness.started([hostile, how]) as subject:
        process = profile_samples._Process(subject.pid, 10, True)
        began = time.monotonic()
        found = [row for _ in range(3) for row in process.read_stacks(True)]
        assert time.monotonic() - began < 30
        assert all(
            re.fullmatch(rf"<{subject.pid}\.\d+(\.\?)?>".encode(), proc) for _, _, proc in found
        ), found
        assert process.unknown_tasks == sum(proc.endswith(b"?>") for _, _, proc in found)


def test_long_lists(hostile):
    """What is over the budget of a walk is not read."""
    found, _ = dump(hostile, "long", "--frames", "10")
    assert len(found["threads"]) == 3000 and set(map(tuple, marks(found))) == {("cut",)}
    with harness.started([hostile, "long"]) as subject:
        python = RemotePython(subject.pid)
        raws = python_threads.read_raw_threads(python.make_walker(16384, 64), subject.pid)[::-1]
    frames = [len(raw.stack) // 16 for raw in raws]
    assert len(raws) == 3000 and frames[0] == 3000 and frames[-1] == 0 and sum(frames) <= 1 << 20
    assert (raws[0].marks, raws[-1].marks) == ([], ["lost"])


def test_long_stacks_of_long_names(hostile):
    """No more is shown of them than there is room for, whatever is asked for."""
    with harness.started([hostile, "words"]) as subject:
        run = harness.pyusdt("dump", subject.pid)
        assert (run.returncode, run.stderr) == (0, "")
        assert run.stdout.count("(there was no room for more frames)") > 100
        assert len(run.stdout) < 5 * MAX_NAME_CHARACTERS
        assert json.loads(harness.pyusdt("dump", "--json", subject.pid).stdout)["threads"][-1][
            "marks"
        ] == ["cut", "left out"]


def test_a_profile_of_long_names(hostile, monkeypatch):
    """What all outputs together would write has a bound."""
    monkeypatch.setattr("pydtrace.profile.stack_profile.MAX_SHOWN", 10 * (8003 * 100 + 9))
    profile = Profile(100, "threads")
    with harness.started([hostile, "words"]) as subject:
        process = SampledProcess(subject.pid, profile, SamplerOptions(ALL, frames=100))
        process.sample_threads()
        process.close()
    for n in range(20):
        profile.add_sample(
            (("thread", f"thread {n}"),),
            next(stack for _, stack in profile.stacks if len(stack) == 100),
        )
    assert profile.counts["left_out"] == 11 and len(fold_stacks(profile)) < 11 * 8003 * 100


def test_endless_texts(hostile):
    found, _ = dump(hostile, "texts")
    assert found["threads"][0]["frames"] == [{"function": "?", "file": "?", "line": None}]


def test_offsets_that_can_not_be(hostile):
    """A Python that tells that texts begin before their length is no program error of pyusdt's."""
    with harness.started([hostile, "told"]) as subject:
        for command in ("dump",), ("profile", "--wall", "--duration", "1"):
            run = harness.pyusdt(*command, subject.pid)
            assert (run.returncode, run.stdout) == (1, "")
            assert run.stderr == (
                f"pyusdt: process {subject.pid}: its Python's memory holds impossible values: no memory, or offsets that cannot be\n"
            )


def test_more_tables_and_names_than_there_is_room_for(hostile, monkeypatch):
    """What was read of them is kept within bounds, and read again; a frame without room for its name has none."""
    with harness.started([hostile, "many"]) as subject:
        python = RemotePython(subject.pid)
        codes = CodeObjects(python)
        raws = python_threads.read_raw_threads(python.make_walker(1000, 1), subject.pid)
        for raw in raws[:2]:
            assert {frame.name for frame in raw.read_frames(codes)} == {"\0" * 5}
            assert (
                sum(len(each.table) for each in codes._known.values())
                <= code_objects._TABLES + code_objects.LARGEST
            )
        monkeypatch.setattr(code_objects, "_TEXTS", 20_000 + 995)
        assert sum(frame.name == "?" for frame in raws[2].read_frames(codes)) == 1000 - 100
        codes.expire_frames()
        assert {frame.name for frame in raws[3].read_frames(codes)} == {"\0" * 5}


@pytest.mark.parametrize(("command", "what"), [("dump", "waits"), ("attach", "withheld")])
def test_memory_that_nobody_provides(hostile, command, what):
    """The read of it waits in the kernel for ever; the command says so and ends."""
    with harness.started([hostile, what]) as subject:
        if subject.said != "ready":
            pytest.skip("host: no userfaultfd")
        run = harness.pyusdt(command, subject.pid)
    assert run.returncode == 1 and run.stdout == ""
    what = {"dump": "its memory", "attach": "its memory or its files"}[command]
    assert run.stderr == f"pyusdt: process {subject.pid} does not let {what} be read: gave up\n"


def test_a_process_that_ends_between_its_stacks_and_their_names(hostile):
    """Who has its id by then may be somebody else: no sample has names of that one's memory."""
    profile = Profile(100, "threads")
    with harness.started([hostile, "names"]) as subject:
        process = SampledProcess(subject.pid, profile, SamplerOptions(ALL))
        process.sample_threads()
        process.sample_threads()
        process.looker.forget_all()  # stacks are read by names once more
        process.python.memory = SimpleNamespace(is_same_process=lambda: False)
        with pytest.raises(StackReadError, match=f"process {subject.pid} has ended"):
            process.sample_threads()
        process.close()
    assert profile.samples == 2  # those of the first looks
