"""`%load_ext pyusdt` in IPython and Jupyter: the magics `%%pydtrace`, `%pyusdt watch` and `%%pyusdt watch`.

    %%pydtrace -p 4711 -s 10           the cell is D: it runs for 10 s
    %%pydtrace -n 'SCRIPT'             the cell is Python: it runs in this kernel, traced by SCRIPT
    %pyusdt watch checkout -p 4711     the calls of a function in another process
    %%pyusdt watch checkout            the cell is Python: its calls of a function, in this kernel

- The value of the cell is the Tracing; its aggregations are shown as pictures, or as tables of
  pandas or polars.
"""

from __future__ import annotations

import argparse
import os
import shlex
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from pydtrace.watch_script import format_call, make_script, parse_function
from pyusdt import vm
from pyusdt._core import vm_apply_demand

from .tracing import Tracing, trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SECONDS = 5.0
_PRINT_INTERVAL = 0.2  # s
_USAGE = """%%pydtrace [-p PID | -c COMMAND] [-s SECONDS] [-x NAME[=VALUE]]… [-o VARIABLE] [--pandas | --polars]
    the cell is a script in D; without -p and -c it traces all processes of this user
%%pydtrace -n SCRIPT [-x …] [-o …] [--pandas | --polars]
    the cell is Python, traced by SCRIPT while it runs in this kernel"""

_WATCH_USAGE = """%pyusdt watch [MODULE:]FUNCTION -p PID [-s SECONDS] [--where EXPR] [--calls] [-o VARIABLE]
    the calls of a function in a process that runs
%%pyusdt watch [MODULE:]FUNCTION [--where EXPR] [--calls] [-o VARIABLE]
    the cell is Python: its calls of a function, in this kernel"""


class MagicError(ValueError):
    """Wrong options of the magic; the message has the usage."""


class _Parser(argparse.ArgumentParser):
    def __init__(self, usage: str) -> None:
        super().__init__(add_help=False, allow_abbrev=False)
        self._usage = usage

    def error(self, message: str) -> NoReturn:
        raise MagicError(f"{message}\n{self._usage}")


def _make_watch_parser() -> _Parser:
    made = _Parser(_WATCH_USAGE)
    made.add_argument("command", choices=["watch"])
    made.add_argument("function", type=parse_function)
    made.add_argument("-p", dest="pid", type=int)
    made.add_argument("-s", dest="seconds", type=float, default=_SECONDS)
    made.add_argument("-o", dest="variable")
    made.add_argument("--where")
    made.add_argument("--calls", action="store_true")
    return made


def _make_parser() -> _Parser:
    made = _Parser(_USAGE)
    made.add_argument("-p", dest="pid", type=int, action="append")
    made.add_argument("-c", dest="cmd")
    made.add_argument("-n", dest="script")
    made.add_argument("-s", dest="seconds", type=float)
    made.add_argument("-o", dest="variable")
    made.add_argument("-x", dest="options", action="append", default=[])
    form = made.add_mutually_exclusive_group()
    form.add_argument("--pandas", dest="form", action="store_const", const="to_pandas")
    form.add_argument("--polars", dest="form", action="store_const", const="to_polars")
    return made


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext pyusdt` calls."""

    def run_cell(line: str, cell: str) -> Tracing:
        return run_magic(shell, line, cell)

    def run_watch(line: str, cell: str | None = None) -> Tracing:
        return run_watch_magic(shell, line, cell)

    shell.register_magic_function(run_cell, "cell", "pydtrace")
    shell.register_magic_function(run_watch, "line_cell", "pyusdt")


def run_magic(shell: Any, line: str, cell: str) -> Tracing:
    """Trace, show the aggregations, return the Tracing.  MagicError, and what trace() raises."""
    options = _make_parser().parse_args(shlex.split(line))
    if options.script is not None:
        if options.pid or options.cmd or options.seconds is not None:
            raise MagicError(f"-n traces this kernel while the cell runs\n{_USAGE}")
        traced = _trace_cell(options, lambda: shell.run_cell(cell).raise_error())
    else:
        traced = _trace_script(options, cell)
    _keep_result(shell, options.variable, traced)
    _show_results(traced, options.form)
    return traced


def run_watch_magic(shell: Any, line: str, cell: str | None) -> Tracing:
    """Show the calls of a function.  cell: None for a line.  MagicError, and what trace() raises."""
    options = _make_watch_parser().parse_args(shlex.split(line))
    if (cell is None) != (options.pid is not None):
        raise MagicError(f"a line needs -p PID, a cell has none\n{_WATCH_USAGE}")
    try:
        script = make_script(options.function, options.where, only_calls=options.calls)
    except ValueError as error:
        raise MagicError(f"{error}\n{_WATCH_USAGE}") from None
    if cell is None:
        with trace(script, pid=options.pid) as traced:
            _print_calls(traced, options.seconds)
    else:
        with _enabled_provider():
            traced = _run_traced(script, lambda: shell.run_cell(cell).raise_error())
    _print_calls(traced, 0)
    _print_drops(traced)
    _keep_result(shell, options.variable, traced)
    return traced


def _print_calls(traced: Tracing, seconds: float) -> None:
    end = time.monotonic() + seconds
    over = False
    while not over:
        left = max(0.0, end - time.monotonic())
        over = _wait_for(traced, min(left, _PRINT_INTERVAL)) or not left
        for record in traced.available():
            print(format_call(record))


@contextmanager
def _enabled_provider() -> Iterator[None]:
    """The provider python in this kernel, for so long."""
    was_known, was_on = vm.is_enabled(), vm_apply_demand()
    vm.enable(sites=False)
    try:
        yield
    finally:
        if not was_known:
            vm.withdraw()
        elif not was_on:
            vm.disable()


def _keep_result(shell: Any, variable: str | None, traced: Tracing) -> None:
    if variable:
        shell.push({variable: traced})


def _trace_cell(options: argparse.Namespace, run: Callable[[], object]) -> Tracing:
    return _run_traced(options.script, run, **_read_options(options.options))


def _run_traced(script: str, run: Callable[[], object], **options: Any) -> Tracing:
    with trace(script, pid=os.getpid(), **options) as traced:
        run()
    return traced


def _trace_script(options: argparse.Namespace, script: str) -> Tracing:
    """For its seconds, to its command's end, or until the kernel is interrupted."""
    seconds = options.seconds
    if seconds is None and options.cmd is None:
        seconds = _SECONDS
    more = _read_options(options.options)
    with trace(script, pid=options.pid, cmd=options.cmd, all=not (options.pid or options.cmd), **more) as traced:  # fmt: skip
        _wait_for(traced, seconds)
    return traced


def _wait_for(traced: Tracing, seconds: float | None) -> bool:
    """Whether it is over: what came until a KeyboardInterrupt is shown."""
    try:
        return traced.wait(seconds)
    except KeyboardInterrupt:
        return True


def _read_options(words: list[str]) -> Any:
    pairs = (word.partition("=") for word in words)
    return {name: value if equals else True for name, equals, value in pairs}


def _show_results(traced: Tracing, form: str | None) -> None:
    from IPython.display import display

    for text in traced.printed:
        print(text, end="" if text.endswith("\n") else "\n")
    for name, found in traced.aggregations.items():
        if found:
            print(f"@{name}" if name else f"@ = {found.function}()")
            display(getattr(found, form)() if form else found)
    _print_drops(traced)


def _print_drops(traced: Tracing) -> None:
    for kind, count in traced.drops.items():
        if count:
            print(f"{count} {kind} drops")
