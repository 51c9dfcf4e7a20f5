"""The pytest fixture `usdt`: say which probes must have fired, with what.

    def test_checkout(usdt):
        with usdt() as fired:
            checkout()
        fired.expect("user_trace-i4s4", times=1, i1=200, s1="/checkout")

A module of its own, so that pytest can load it without importing pyusdt.  Always: probes are off after the block.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyusdt.api.tracing import Tracing
    from pyusdt.data.records import Record

_EVERYTHING = ("user_trace-s1", "user_trace-i4s4", "user_trace-n*")
_LAG = 2.0  # s that expect() waits for what was fired in the block it stands in


class Fired:
    """What fired since the block began.  tracing: the Tracing, for its aggregations and drops."""

    def __init__(self, tracing: Tracing) -> None:
        self.tracing = tracing
        self._records: list[Record] = []

    def __enter__(self) -> Fired:  # noqa: PYI034
        self.tracing.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self.tracing.__exit__(*exception)

    @property
    def records(self) -> list[Record]:
        """All records so far, in the order of time."""
        self._records += self.tracing.available()
        return self._records

    def matching(self, probe: str | None = None, **values: object) -> list[Record]:
        """Those of the probe (its name) that have all these values."""
        return [record for record in self.records if (probe is None or record.probe.name == probe)
                and all(name in record.names and record[name] == value for name, value in values.items())]

    def expect(self, probe: str | None = None, *, times: int | None = None, **values: object) -> list[Record]:
        """Fail unless such records are there: at least one, or exactly `times`.  Gives them."""
        __tracebackhide__ = True
        deadline = time.monotonic() + _LAG
        while len(found := self.matching(probe, **values)) < (1 if times is None else times):
            if self.tracing.finished or time.monotonic() > deadline:
                break
            time.sleep(0.005)
        if not found if times is None else len(found) != times:
            wanted = " ".join([probe or "any probe", *(f"{name}={value!r}" for name, value in values.items())])
            often = "at least once" if times is None else f"{times} times"
            there = "".join(f"\n  {record!r}" for record in self.records) or " nothing"
            pytest.fail(f"{wanted} should have fired {often}, did {len(found)} times; what fired:{there}")
        return found


class Usdt:
    """The fixture's value."""

    def __call__(self, *probes: str, where: str | None = None, **more: Any) -> Fired:
        """Watch probes of this process (default: all of pyusdt's); arguments as for pyusdt.watch()."""
        from pyusdt.api.tracing import watch

        return Fired(watch(*(probes or _EVERYTHING), where=where, **_here(more)))

    def trace(self, script: str, *arguments: object, **more: Any) -> Fired:
        """Trace this process with a script; arguments as for pyusdt.trace()."""
        from pyusdt.api.tracing import trace

        return Fired(trace(script, *arguments, **_here(more)))


def _here(more: dict[str, Any]) -> dict[str, Any]:
    return more if {"pid", "cmd", "all"} & more.keys() else {**more, "pid": os.getpid()}


@pytest.fixture
def usdt() -> Usdt:
    """Trace this process's probes in a test; see pyusdt's docs/guide/api.md."""
    return Usdt()
