"""Waits for the provider `python` of processes that have just started.

A process that has the provider, or has run for YOUNG_AGE, is not waited for.
"""

from __future__ import annotations

import os
import time

from pydtrace import _tracer
from pydtrace.process.identity import is_alive, start_ticks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

YOUNG_AGE = 5.0  # s: by then a program has imported what it enables the provider by
_POLL_INTERVAL = 0.02  # s


def is_python_probe(description: Any) -> bool:
    """Whether a description names the provider."""
    return bool(description.provider.startswith("python"))


def has_python_provider(pid: int) -> bool:
    """Whether a process has the provider."""
    return has_provider(pid, "python")


def has_provider(pid: int, name: str) -> bool:
    """Whether a process has one of this name, without its id."""
    try:
        return any(probe[1] == f"{name}{pid}" for probe in _tracer.list_probes(None, pid))
    except OSError:
        return False


def is_young(pid: int) -> bool:
    """Whether a process has started just now."""
    began = start_ticks(pid)
    if began is None:
        return False
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began / os.sysconf("SC_CLK_TCK") < YOUNG_AGE


def await_python_provider(pids: Iterable[int]) -> None:
    """Returns once each of the young among them has the provider, or is young no more."""
    for pid in pids:
        while not has_python_provider(pid) and is_alive(pid) and is_young(pid):
            time.sleep(_POLL_INTERVAL)
