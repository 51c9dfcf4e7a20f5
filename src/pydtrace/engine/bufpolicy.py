"""The options bufpolicy, bufsize and switchrate: when the records of an engine become visible.

- bufpolicy=ring: the last bufsize bytes, at the end.
- bufpolicy=fill: the first bufsize bytes; tracing ends when the next record does not fit.
- bufpolicy=switch with a switchrate: at that rate. With a bufsize, BEGIN and END record only as
  much as dtrace's buffer holds, which dtrace reads before and after them.
- Records are whole and in order. exit() takes effect when a clause calls it, whenever its record
  becomes visible.

Source: the DTrace guide, "Buffers and Buffering".
"""

from __future__ import annotations

import struct
import time
from fnmatch import fnmatchcase

from pydtrace.program import program as p
from pydtrace.program.dtrace_buffer_sizes import (
    FAULT_RECORD,
    LOSS_RECORD,
    record_size,
    ring_bytes,
    ring_size,
)

from . import BEGIN, END

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from pydtrace import _tracer
    from pydtrace.engine import Engine

_DEFAULT_SIZE = 4 << 20  # bytes, dtrace's
_HEADER = struct.Struct("=III")  # size, clause, probe, at the beginning of a record


def wrap_with_policy(engine: Engine, program: p.Program, options: Mapping[str, Any]) -> Engine:
    """The engine, or one around it where an option asks for that."""
    policy = options.get("bufpolicy", "switch")
    if policy == "ring":
        return RingEngine(engine, options.get("bufsize") or _DEFAULT_SIZE)
    if policy == "fill":
        return FillEngine(engine, options.get("bufsize") or _DEFAULT_SIZE)
    if "bufsize" in options and _may_overflow(program, ring_size(options["bufsize"])):
        engine = BoundedEngine(engine, program, ring_size(options["bufsize"]))
    # what reads an aggregation must see it as it was: those records do not wait
    waits = not any(action.args for clause in program.clauses for action in clause.actions)
    if waits and options.get("switchrate"):
        return SwitchEngine(engine, options.get("bufsize") or _DEFAULT_SIZE, options["switchrate"])
    return engine


def _may_overflow(program: p.Program, size: int) -> bool:
    """Whether all that the clauses of BEGIN or END record, a fault of each included, may have no room at once."""
    for name in ("BEGIN", "END"):
        clauses = [
            clause
            for clause in program.clauses
            if any(fnmatchcase(name, each.name or "*") for each in clause.probes)
        ]
        if (
            sum(
                max(ring_bytes(record_size(clause, program.strsize)), FAULT_RECORD)
                for clause in clauses
            )
            >= size
        ):
            return True
    return False


if TYPE_CHECKING:
    _Base = Engine
else:
    _Base = object  # what Engine defines itself must come from the engine inside, by __getattr__


class BufferedEngine(_Base):
    """An engine whose records wait here.  All but set_formatter(), poll() and end() is the engine's own."""

    def __init__(self, engine: Engine, size: int) -> None:
        self._engine, self._size = engine, size
        self._held = bytearray()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def set_formatter(self, formatter: _tracer.Formatter) -> None:
        """They are records until they are seen, which bufsize counts, and which an action among them may change."""

    def catch_up(self, seconds: float) -> Iterator[bytes]:
        for records in self._engine.catch_up(seconds):
            self._hold_records(records)
            yield self._release_records()

    def end(self) -> bytes:
        self._hold_records(self._engine.end())
        return self._release_records()

    def _hold_records(self, records: bytes) -> None:
        self._held += records

    def _release_records(self) -> bytes:
        records = bytes(self._held)
        self._held.clear()
        return records


class EndBufferedEngine(BufferedEngine):
    """Nothing is seen before."""

    def poll(self, timeout: float) -> bytes:
        self._hold_records(self._engine.poll(timeout))
        return b""

    def catch_up(self, seconds: float) -> Iterator[bytes]:
        for records in self._engine.catch_up(seconds):
            self._hold_records(records)
            yield b""

    def end(self) -> bytes:
        records = self._engine.end()
        while records:
            self._hold_records(records)
            records = self._engine.drain_end()
        return self._release_records()


class RingEngine(EndBufferedEngine):
    """bufpolicy=ring."""

    def _hold_records(self, records: bytes) -> None:
        self._held += records
        if len(self._held) > 2 * self._size:
            self._drop_oldest()

    def _release_records(self) -> bytes:
        self._drop_oldest()
        return super()._release_records()

    def _drop_oldest(self) -> None:
        """The oldest records, until the others have room."""
        at, excess = 0, len(self._held) - self._size
        while at < excess:
            at += _HEADER.unpack_from(self._held, at)[0]
        del self._held[:at]


class FillEngine(EndBufferedEngine):
    """bufpolicy=fill."""

    _is_full = False

    def _hold_records(self, records: bytes) -> None:
        """Those that have room, and END's, for which dtrace keeps room."""
        at = 0
        while at < len(records):
            size, _, probe = _HEADER.unpack_from(records, at)
            fits = len(self._held) + size <= self._size
            if probe == END or (fits and not self._is_full):
                self._held += records[at : at + size]
            else:
                self._is_full = True
            at += size

    @property
    def exiting(self) -> bool:
        return self._is_full or self._engine.exiting


class BoundedEngine(BufferedEngine):
    """bufpolicy=switch with a bufsize that is small for BEGIN or END."""

    def __init__(self, engine: Engine, program: p.Program, size: int) -> None:
        super().__init__(engine, size)
        self._rooms = [
            ring_bytes(record_size(clause, program.strsize)) for clause in program.clauses
        ]
        self._free = {BEGIN: size - 1, END: size - 1}
        self._dropped = 0
        self._dropped_on = None  # CPU
        self._drop_pending = False  # the ring tells of a loss in front of the next record

    def poll(self, timeout: float) -> bytes:
        self._hold_records(self._engine.poll(timeout))
        return self._release_records()

    def drain_end(self) -> bytes:
        self._hold_records(self._engine.drain_end())
        return self._release_records()

    def drop_cpu(self, kind: str) -> int | None:
        own = kind == "principal" and not self._engine.drops().get(kind)
        return self._dropped_on if own else self._engine.drop_cpu(kind)

    def drops(self) -> dict[str, int]:
        drops = dict(self._engine.drops())
        return {**drops, "principal": drops.get("principal", 0) + self._dropped}

    def _hold_records(self, records: bytes) -> None:
        at = 0
        while at < len(records):
            size, clause, probe = _HEADER.unpack_from(records, at)
            if self._has_room(clause, probe):
                self._held += records[at : at + size]
            else:
                self._dropped += 1
                self._dropped_on = struct.unpack_from("=I", records, at + p.RECORD_CPU)[0]
            at += size

    def _has_room(self, clause: int, probe: int) -> bool:
        if probe not in self._free or clause & p.RECORD_SETTLED:
            return True
        room = FAULT_RECORD if clause & p.RECORD_FAULT else self._rooms[clause & ~p.RECORD_FLAGS]
        size = room + LOSS_RECORD * self._drop_pending
        self._drop_pending = size > self._free[probe]
        if not self._drop_pending:
            self._free[probe] -= size
        return not self._drop_pending


class SwitchEngine(BufferedEngine):
    """bufpolicy=switch with a switchrate.  rate: ns."""

    def __init__(self, engine: Engine, size: int, rate: int) -> None:
        super().__init__(engine, size)
        self._rate = rate / 1e9
        self._switched = time.monotonic()

    def poll(self, timeout: float) -> bytes:
        self._hold_records(self._engine.poll(timeout))
        now = time.monotonic()
        if (
            now - self._switched < self._rate
            and len(self._held) < self._size
            and not self._engine.exiting
        ):
            return b""
        self._switched = now
        return self._release_records()
