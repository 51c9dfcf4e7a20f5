"""The environment that a process was started with, as /proc has it. The process may have overwritten it: it is untrusted."""

from __future__ import annotations

_LIMIT = 1 << 20  # bytes that are read


def read_start_variable(pid: int, name: str) -> bytes | None:
    """The value of a variable; None: it is not set, or cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read(_LIMIT).split(b"\0")
    except OSError:
        return None
    begin = f"{name}=".encode()
    return next((entry[len(begin) :] for entry in entries if entry.startswith(begin)), None)
