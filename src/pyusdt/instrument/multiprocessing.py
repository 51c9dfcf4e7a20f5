"""multiprocessing: process:::start and process:::done in the started process, around
BaseProcess._bootstrap(), which each start method calls.

- A process that is started anew (spawn, forkserver) has the probes by `pyusdt run`, or if its
  main module calls enable().
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

from .core import function_name, suppress_errors, wrap_method
from .probes import provider_probes
from .wrap_calls import wrap_call

_start, _done = provider_probes("process")


class _Process:
    """One process that is traced, until it ends."""

    __slots__ = ("began", "function", "name")

    def __init__(self, process: Any) -> None:
        self.name, self.function = (
            str(process.name),
            function_name(process._target or type(process).run),
        )
        _start(self.name, self.function)
        self.began = perf_counter_ns()

    @suppress_errors
    def done(self, status: Any, _error: BaseException | None = None) -> None:
        _done(
            self.name,
            -1 if status is None else status,
            perf_counter_ns() - self.began,
            self.function,
        )


@suppress_errors
def _begin_process(process: Any, *_more: Any, **_named: Any) -> _Process | None:
    return _Process(process) if _start or _done else None


def install_processes(process: Any) -> None:
    wrap_method(process.BaseProcess, "_bootstrap", wrap_call(_begin_process))
