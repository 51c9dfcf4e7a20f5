"""cleanpath() and progenyof(), in the interpreter; the first against Python's posixpath and what the real dtrace printed."""

import posixpath
import random

import pytest

from pydtrace.dlang.compile import compile_program
from tests.support.compiler.bpf_machine import Machine

RECORDED = {  # by the real dtrace
    "/a/./b//c/../d": "/a/b/d", "a/b/../../../c": "../c", "/..": "/", "/a/..": "/", "": "", "./x/": "x", "..": "..",
    "/a/b/": "/a/b", "a//": "a", "/../../a": "/a", "a/.b/..c/...": "a/.b/..c/...", "/./": "/",
}  # fmt: skip


def cleaned(paths, strsize=256):
    program = compile_program(
        "".join(f'BEGIN {{ trace(cleanpath("{path}")); }}' for path in paths),
        options={"strsize": strsize},
    )
    machine = Machine(program)
    return [value.split(b"\0")[0].decode() for _, (value,) in machine.fire(range(len(paths)))]


def test_paths_are_what_dtrace_makes_of_them():
    assert cleaned(RECORDED) == list(RECORDED.values())


def test_random_paths_are_what_python_makes_of_them():
    source = random.Random(3)
    paths = [
        "/" * source.randrange(2)
        + "/".join(
            source.choice(["", ".", "..", "a", "bc", "..d"]) for _ in range(source.randrange(1, 9))
        )
        for _ in range(200)
    ]
    paths = [
        path for path in paths if path and not path.startswith("//")
    ]  # where POSIX has a meaning of its own
    assert len(paths) > 100
    for at in range(0, len(paths), 50):
        assert cleaned(paths[at : at + 50]) == [
            posixpath.normpath(path) for path in paths[at : at + 50]
        ]


@pytest.mark.parametrize("strsize", [2, 3, 8])
def test_short_strings(strsize):
    assert cleaned(["abc", "/../abc", ".."], strsize) == [
        posixpath.normpath(path[: strsize - 1]) for path in ("abc", "/../abc", "..")
    ]


@pytest.mark.parametrize(
    "pid, expected", [(7, 1), (5, 1), (3, 1), (1, 1), (4, 0), (-5, 0), ((1 << 32) + 5, 1)]
)
def test_progeny_is_the_process_and_what_comes_before_it(pid, expected):
    program = compile_program(f"BEGIN {{ trace(progenyof({pid})); }}")
    assert program.uses == {"ancestors"}
    machine = Machine(program)
    assert machine.fire([0], pid=7, ancestors=(5, 3, 1))[0][1] == [expected]
