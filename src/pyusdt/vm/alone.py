"""Calls of the system that only a process of one thread may make: the watcher is not there while they run.

In:      os.unshare() and os.setns() of CPython 3.12 and later, as enable() finds them; paused(), around calls that go another way.
Out:     the same calls, before which the watcher's thread ends and after which it begins again.
Always:  what they take, return and raise is as without us.  docs/security.md, "The watcher", says why it is a thread.
"""

from __future__ import annotations

import os
from functools import wraps

from pyusdt._core import vm_pause, vm_resume

_CALLS = ("unshare", "setns")


class paused:
    """`with paused():` no thread of pyusdt's is in this process, and what traces it is noticed when the block has ended."""

    def __enter__(self) -> None:
        vm_pause()

    def __exit__(self, *_of: object) -> None:
        vm_resume()


def wrap_calls() -> None:
    for name in _CALLS:
        call = getattr(os, name, None)
        if call is not None and not hasattr(call, "__wrapped__"):
            setattr(os, name, _wrapped(call))


def _wrapped(call):
    @wraps(call)
    def alone(*values, **named):
        with paused():
            return call(*values, **named)

    return alone
