"""`%load_ext pyusdt` in IPython and Jupyter: the cell magic `%%pydtrace`.

    %%pydtrace -p 4711 -s 10           the cell is D: it runs for 10 s
    %%pydtrace -n 'SCRIPT'             the cell is Python: it runs in this kernel, traced by SCRIPT

- The value of the cell is the Tracing; its aggregations are shown as pictures, or as tables of
  pandas or polars.
"""

from __future__ import annotations

import argparse
import os
import shlex
from typing import TYPE_CHECKING, Any, NoReturn

from .tracing import Tracing, trace

if TYPE_CHECKING:
    from collections.abc import Callable

_USAGE = """%%pydtrace [-p PID | -c COMMAND] [-s SECONDS] [-x NAME[=VALUE]]… [-o VARIABLE] [--pandas | --polars]
    the cell is a script in D; without -p and -c it traces all processes of this user
%%pydtrace -n SCRIPT [-x …] [-o …] [--pandas | --polars]
    the cell is Python, traced by SCRIPT while it runs in this kernel"""


class MagicError(ValueError):
    """Wrong options of the magic; the message has the usage."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise MagicError(f"{message}\n{_USAGE}")


def _make_parser() -> _Parser:
    made = _Parser(prog="%%pydtrace", add_help=False, allow_abbrev=False)
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

    shell.register_magic_function(run_cell, "cell", "pydtrace")


def run_magic(shell: Any, line: str, cell: str) -> Tracing:
    """Trace, show the aggregations, return the Tracing.  MagicError, and what trace() raises."""
    options = _make_parser().parse_args(shlex.split(line))
    if options.script is not None:
        if options.pid or options.cmd or options.seconds is not None:
            raise MagicError(f"-n traces this kernel while the cell runs\n{_USAGE}")
        traced = _trace_cell(options, lambda: shell.run_cell(cell).raise_error())
    else:
        traced = _trace_script(options, cell)
    if options.variable:
        shell.push({options.variable: traced})
    _show_results(traced, options.form)
    return traced


def _trace_cell(options: argparse.Namespace, run: Callable[[], object]) -> Tracing:
    with trace(options.script, pid=os.getpid(), **_read_options(options.options)) as traced:
        run()
    return traced


def _trace_script(options: argparse.Namespace, script: str) -> Tracing:
    """For its seconds, to its command's end, or until the kernel is interrupted."""
    seconds = options.seconds
    if seconds is None and options.cmd is None:
        seconds = 5.0
    more = _read_options(options.options)
    with trace(script, pid=options.pid, cmd=options.cmd, all=not (options.pid or options.cmd), **more) as traced:  # fmt: skip
        try:
            traced.wait(seconds)
        except KeyboardInterrupt:
            pass  # what came until then is shown
    return traced


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
    for kind, count in traced.drops.items():
        if count:
            print(f"{count} {kind} drops")
