"""Exceptions of the package go through pickle, as a ProcessPoolExecutor sends them, and say the same afterwards."""

import concurrent.futures
import importlib
import multiprocessing
import pickle
import pkgutil

import pytest

import pydtrace
import pyusdt
from pydtrace.attach.refusal import NotAttached
from pydtrace.bpf import asm, syscalls
from pydtrace.cli.commands.list_command import NotFound
from pydtrace.cli.parsing.arguments import UsageError
from pydtrace.dlang.compile import Compiler
from pydtrace.engine import EngineError, NoPyusdt, NoSuchProcess
from pydtrace.engine.kernel.probes import return_sites
from pydtrace.process.cgroups import CgroupNotFound
from pydtrace.program import printf_format
from pydtrace.remote_python.remote_python import StackReadError


def refused(script):
    compiler = Compiler()
    try:
        compiler.compile_text(script, None)
        compiler.generate_program()
    except pyusdt.CompileError as error:
        return error
    raise AssertionError(f"{script} compiles")


def raise_it(script):
    raise refused(script)


MADE = [  # of those with a constructor of their own; cli's UsageError adds nothing to its arguments
    refused("BEGIN { trace(argO); }"),
    refused('BEGIN { printf("%d", "x"); }'),
    NoSuchProcess(17),
    StackReadError("no process 17"),
    EngineError("no \x1b here"),
    NotFound("no such file"),
    NotAttached("process 17 is stopped\nhint: let it go on"),
    CgroupNotFound("no process is in \x1b", "list them"),
    NoPyusdt("process 17 has no pyusdt in it"),
    return_sites.ReturnsNotFound("its symbol has no size", True),
    printf_format.FormatError("D_PRINTF_FMT_EMPTY", "no format", 1),
    asm.AsmError(3, "no such register"),
    syscalls.ProgramRejected(OSError(13, "Permission denied"), "R1 is not a pointer"),
]


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_goes_through_pickle(error, protocol):
    again = pickle.loads(pickle.dumps(error, protocol))
    assert type(again) is type(error) and str(again) == str(error) != ""
    assert set(vars(again)) == set(vars(error))
    for name, value in vars(error).items():
        assert str(vars(again)[name]) == str(value)


def test_a_compile_error_is_whole():
    error = MADE[0]
    again = pickle.loads(pickle.dumps(error))
    assert (again.tag, again.message, again.hint) == (error.tag, error.message, error.hint)
    assert (again.loc.line, again.loc.column) == (1, 15) and again.render(True) == error.render(
        True
    )


def test_it_comes_out_of_another_process():
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        error = pool.submit(raise_it, "BEGIN { trace(argO); }").exception(timeout=60)
    assert type(error) is pyusdt.CompileError and error.render() == MADE[0].render()


def test_each_with_a_constructor_is_tried():
    for module in pkgutil.walk_packages(pydtrace.__path__, "pydtrace."):
        importlib.import_module(module.name)
    found, left = set(), [Exception]
    while left:
        left += (
            kinds := [
                kind
                for kind in left.pop().__subclasses__()
                if kind.__module__.split(".")[0] in ("pydtrace", "pyusdt", "builtins")
            ]
        )
        found |= {
            kind
            for kind in kinds
            if kind.__module__.startswith(("pydtrace.", "pyusdt.")) and "__init__" in vars(kind)
        }
    assert {type(error) for error in MADE} | {UsageError} == found
