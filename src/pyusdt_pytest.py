"""The pytest fixture `usdt`: say which probes must have fired, with what.

    def test_checkout(usdt):
        with usdt() as fired:
            checkout()
        fired.expect("user_trace-i4s4", times=1, i1=200, s1="/checkout")

A module of its own, so that pytest can load it without importing pyusdt.  Always: probes are off after the block; an expectation that
could not be checked (events were lost, a clause failed, there is no such probe or value) fails.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydtrace.consumer.tracing import Tracing
    from pydtrace.results.records import Record

_EVERYTHING = ("user_trace-s1", "user_trace-i4s4", "user_trace-n*")
_DEFAULT_TIMEOUT = 2.0  # s that expect() waits for records of other processes and of threads
_MAX_RECORDS = 20  # records in a message
_DROP_KINDS = ("principal", "dynamic", "speculation", "speculative")
_ARGUMENT = re.compile(r"arg(\d+)")


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
    def has_begun(self) -> bool:
        pump = self.tracing._pump
        return pump is not None and pump.begun

    @property
    def records(self) -> list[Record]:
        """All records so far, in the order of time: of all that was fired before this call."""
        self.tracing.flush()
        return self.so_far()

    def so_far(self) -> list[Record]:
        """Those that have come."""
        self._records += self.tracing.available()
        return self._records

    def matching(
        self,
        probe: str | None = None,
        *,
        after: Record | Sequence[Record] | None = None,
        **values: object,
    ) -> list[Record]:
        """Those of the probe (its name) that have all these values, and come after those of `after`.  LookupError for a probe or a value
        that this tracing can not have."""
        self._check_names(probe, values)
        self.tracing.flush()
        return self._find_matching(probe, after, values)

    def _find_matching(
        self, probe: str | None, after: Record | Sequence[Record] | None, values: dict[str, object]
    ) -> list[Record]:
        records = self.so_far()
        return [
            record
            for record in records[_index_after(records, after) :]
            if (probe is None or record.probe.name == probe)
            and all(_has_value(record, name, value) for name, value in values.items())
        ]

    def expect(
        self,
        probe: str | None = None,
        *,
        times: int | None = None,
        timeout: float | None = None,
        after: Record | Sequence[Record] | None = None,
        **values: object,
    ) -> list[Record]:
        """Fail unless such records are there: at least one, or exactly `times`.  Gives them.

        after: of a record, or of all that another expect() gave: only what fired later counts.  timeout: so many seconds more records may
        come, from other threads and processes; with times=0, so long none may.  Without it, all that was fired before this call counts,
        and what is expected may take two seconds to come.  LookupError for a probe or a value that this tracing can not have.
        """
        __tracebackhide__ = True
        self._check_names(probe, values)
        wanted = 1 if times is None else times
        waits_for_none = times == 0 and timeout is not None
        deadline = time.monotonic() + (_DEFAULT_TIMEOUT if timeout is None else timeout)
        self.tracing.flush()
        while len(found := self._find_matching(probe, after, values)) < wanted or (
            waits_for_none and not found
        ):
            if self.tracing.finished or time.monotonic() > deadline:
                break
            time.sleep(0.005)
        found = self._find_matching(
            probe, after, values
        )  # it may have finished between the two looks
        if wrong := self._explain_failure(found, times):
            if self._is_miscounted(found, times):
                wrong += "; what fired:" + self._format_records(probe)
            values_wanted = (f"{name}={value!r}" for name, value in values.items())
            pytest.fail(
                f"{' '.join([probe or 'any probe', *values_wanted])} should have fired "
                f"{'at least once' if times is None else f'{times} times'}{' after that' * (after is not None)}, {wrong}"
            )
        return found

    @staticmethod
    def _is_miscounted(found: list[Record], times: int | None) -> bool:
        return not found if times is None else len(found) != times

    def _explain_failure(self, found: list[Record], times: int | None) -> str:
        """Why it is not as expected, or why nobody knows."""
        if self._is_miscounted(found, times):
            return f"did {len(found)} times"
        lost = {
            kind: count
            for kind, count in self.tracing.drops.items()
            if count and kind in _DROP_KINDS
        }
        if lost and not (found and times is None):
            return f"did {len(found)} times, but records were lost: {lost}; give usdt() a larger buffer (bufsize='16m')"
        if self.tracing.faults and not (found and times is None):
            return f"did {len(found)} times, but clauses failed: {self.tracing.faults[0]}"
        return ""

    def _format_records(self, probe: str | None) -> str:
        """The records, of the probe first."""
        records = sorted(
            self.so_far(), key=lambda record: probe is not None and record.probe.name != probe
        )
        more = len(records) - _MAX_RECORDS
        return (
            "".join(f"\n  {record!r}" for record in records[:_MAX_RECORDS])
            + (f"\n  and {more} more" if more > 0 else "")
            or " nothing"
        )

    def _check_names(self, probe: str | None, values: dict[str, object]) -> None:
        probes, names = self.tracing.names(probe)
        if probe is not None and not probes:
            there = ", ".join(sorted(self.tracing.names()[0])[:_MAX_RECORDS])
            raise LookupError(f"no probe {probe} is traced here; there are: {there}")
        for name in values:
            if name not in names and not _ARGUMENT.fullmatch(name):
                raise LookupError(
                    f"{probe or 'no probe'} has no value {name}; there are: {', '.join(dict.fromkeys(names)) or 'none'}"
                )


def _has_value(record: Record, name: str, value: object) -> bool:
    if name in record.names:
        return bool(record[name] == value)
    number = _ARGUMENT.fullmatch(name)
    return bool(number) and int(number[1]) < len(record) and record[int(number[1])] == value  # type: ignore[index]


def _index_after(records: list[Record], after: Record | Sequence[Record] | None) -> int:
    """The place behind the last of these records."""
    if after is None:
        return 0
    those = {id(after)} if hasattr(after, "probe") else {id(each) for each in after}
    return max((place for place, record in enumerate(records, 1) if id(record) in those), default=0)


class Usdt:
    """The fixture's value."""

    def __init__(self, blocks: list[Fired] | None = None) -> None:
        self._blocks = [] if blocks is None else blocks  # all that were made, for the summary

    def _add_block(self, tracing: Tracing) -> Fired:
        self._blocks.append(made := Fired(tracing))
        return made

    def __call__(self, *probes: str, where: str | None = None, **more: Any) -> Fired:
        """Watch probes of this process (default: all of pyusdt's); arguments as for pyusdt.watch()."""
        from pydtrace.consumer.tracing import watch

        return self._add_block(watch(*(probes or _EVERYTHING), where=where, **_with_own_pid(more)))

    def trace(self, script: str, *arguments: object, **more: Any) -> Fired:
        """Trace this process with a script; arguments as for pyusdt.trace()."""
        from pydtrace.consumer.tracing import trace

        return self._add_block(trace(script, *arguments, **_with_own_pid(more)))


def _with_own_pid(more: dict[str, Any]) -> dict[str, Any]:
    return more if {"pid", "cmd", "all", "hosts"} & more.keys() else {**more, "pid": os.getpid()}


@pytest.fixture
def usdt(request: pytest.FixtureRequest) -> Iterator[Usdt]:
    """Trace this process's probes in a test; see pyusdt's docs/reference/api.md."""
    done: list[Fired] = []
    yield Usdt(done)
    request.config.stash[_SUMMARY].add_blocks(done)


class _Summary:
    """What all tests traced together."""

    def __init__(self) -> None:
        self.blocks = self.records = self.drops = 0

    def add_blocks(self, done: list[Fired]) -> None:
        for fired in done:
            if fired.has_begun:
                self.blocks += 1
                self.records += len(fired.so_far())
                self.drops += sum(fired.tracing.drops.values())


_SUMMARY = pytest.StashKey[_Summary]()
_MARKER = (
    "usdt(probe, times=None, **values): the probe must have fired in the test, with these values, exactly so many times or at least "
    "once (pyusdt help api)"
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    config.stash[_SUMMARY] = _Summary()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    markers = list(item.iter_markers("usdt"))
    if not markers:
        yield
        return
    done: list[Fired] = []
    with Usdt(done)(*dict.fromkeys(marker.args[0] for marker in markers)) as fired:
        outcome: Any = yield
        for marker in markers if outcome.excinfo is None else ():
            try:
                fired.expect(*marker.args, **marker.kwargs)
            except (LookupError, pytest.fail.Exception) as error:
                outcome.force_exception(error)
                break
    item.config.stash[_SUMMARY].add_blocks(done)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    summary = config.stash[_SUMMARY]
    if summary.blocks:
        lost = f", {summary.drops} LOST" if summary.drops else ", none lost"
        terminalreporter.write_line(
            f"usdt: {summary.blocks} blocks traced, {summary.records} records{lost}"
        )
