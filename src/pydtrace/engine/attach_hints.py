"""Hints for a program that has no pyusdt or no provider python in it: what works now, and what after a restart."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ATTACH_SINCE = 14  # minor version of CPython that has sys.remote_exec
_START = "start it with: python -m pyusdt app.py"


def advise_start(pid: int) -> str:
    """For a Python process that the provider cannot enter."""
    return (
        f"without a restart: pyusdt dump {pid}, pyusdt profile {pid}; for function probes {_START}"
    )


def advise_attach(pids: Sequence[int]) -> str:
    """For running processes without the provider python."""
    pid = pids[0] if len(pids) == 1 else "PID"
    return (
        f"pyusdt attach {pid} adds the provider python (CPython 3.{ATTACH_SINCE} and later), or {_START};"
        f" without either: pyusdt profile {pid}"
    )


def advise_command() -> str:
    """For a command that -c has started, in which no provider python was seen."""
    return (
        "if the command starts Python itself (a shell, a launcher), name python* instead of python$target;"
        " python -I, -E and -S leave pyusdt out"
    )
