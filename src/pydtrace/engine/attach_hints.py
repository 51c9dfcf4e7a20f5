"""Hints for a program that has no pyusdt or no provider python in it: what works now, and what after a restart."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ATTACH_SINCE = 10  # minor version of CPython that can be attached to
_START = "start it with: python -m pyusdt app.py"


def advise_start(pid: int) -> str:
    """For a Python process that the provider cannot enter."""
    return (
        f"without a restart: pyusdt dump {pid}, pyusdt profile {pid}; for function probes {_START}"
    )


def advise_attach(pids: Sequence[int]) -> str:
    """For running processes without the provider python."""
    pid = pids[0] if len(pids) == 1 else "PID"
    return f"--attach brings the provider python into a program that runs: pydtrace --attach -p {pid}; or {_START}"


def advise_command() -> str:
    """For a command that -c has started, in which no provider python was seen."""
    return (
        "if the command starts Python itself (a shell, a launcher), name python* instead of python$target;"
        " python -I, -E and -S leave pyusdt out"
    )
