"""pydtrace --json=2: what is traced as lines that those of several hosts can be merged with
(docs/reference/json.md has the schema).

There is a hello, then epochs: records, faults, losses, what was added to the aggregations since
the last epoch, and a heartbeat.

- The lines of all epochs, merged, are what the engine has counted. An epoch without a heartbeat
  is incomplete.
- The coordinator does what reads, clears, truncates or normalizes aggregations: a record says
  what it is.
"""

from __future__ import annotations

import json
import os
import struct
import time
from typing import TYPE_CHECKING, Any

from pydtrace.aggregation import merge_values
from pydtrace.driver.aggregation_deltas import AggregationDeltas
from pydtrace.hosts import host_protocol
from pydtrace.program import program as p
from pydtrace.results.aggregations import make_key_reader

from .output_file import OutputError, OutputSink

if TYPE_CHECKING:
    from pydtrace.driver.aggregation_state import AggregationState
    from pydtrace.driver.sink import TraceInfo
    from pydtrace.program.program import Clause

    from .output_file import Notify, Output

SCHEMA = 2
_MAX_ROWS = 500  # of a line
_HEADER = struct.Struct("=IIIIQII")  # size, clause, probe, cpu, time, pid, tid
_FAULT = struct.Struct("=IIQ")  # kind, pc, value, at FAULT_KIND


class HostProtocolSink(OutputSink):
    """The sink.  interval: seconds of an epoch; None: who uses it calls end_epoch()."""

    def __init__(self, output: Output, notify: Notify, interval: float | None = 1.0) -> None:
        super().__init__(output, notify)
        self._interval = interval
        self.epoch_number = 0  # of the epoch that is open
        self._extra_members: dict[str, int] = {}  # members of the lines of records

    def write_line(self, type: str, **members: Any) -> None:
        line = json.dumps({"type": type, **members}, separators=(",", ":"), allow_nan=False)
        self.output.write(line.encode() + b"\n")

    def begin(self, info: TraceInfo) -> None:
        if info.engine == "dtrace":
            raise OutputError(
                "--json=2 is not possible with the dtrace engine: it tells values, not what they are made of"
            )
        self._info = info
        self._deltas = AggregationDeltas(info.actions.aggregates)
        self._clauses = [_ClauseReader(clause, info) for clause in info.program.clauses]
        self._probes: set[int] = set()  # those that were named
        self._error_reporter = info.make_error_reporter(self.fault)
        self._due = time.monotonic() + (self._interval or 0)
        self.write_line(
            "hello",
            schema=SCHEMA,
            host=os.uname().nodename,
            pid=os.getpid(),
            incarnation=os.urandom(8).hex(),
            engine=info.engine,
            reason=info.reason,
            clocks={"monotonic": info.clock.now(), "wall": int(info.clock.wall() * 1e9)},
            aggregations=[
                {
                    "name": each.name,
                    "function": each.row.function_name,
                    "params": list(each.params or ()),
                    "keys": len(each.keys),
                }
                for each in info.program.aggregations
            ],
        )

    # --- records --------------------------------------------------------------------------------------
    def records(self, buffer: bytes) -> None:
        at = 0
        while at < len(buffer):
            size, clause, probe, cpu, when, pid, tid = _HEADER.unpack_from(buffer, at)
            record = buffer[at : at + size]
            self._write_probe(probe)
            where = {
                "clause": clause & ~p.RECORD_FLAGS,
                "probe": probe,
                "time": when,
                "pid": pid,
                "tid": tid,
                "cpu": cpu,
                **({"uncertain": True} if clause & p.RECORD_UNSURE else {}),
                **self._extra_members,
            }
            if clause & p.RECORD_FAULT:
                kind, pc, value = _FAULT.unpack_from(record, p.FAULT_KIND)
                self.write_line("fault", **where, kind=kind, pc=pc, value=value)
                self._error_reporter.report_error(record)
            else:
                self._write_record(self._clauses[clause & ~p.RECORD_FLAGS], record, where)
            at += size
        if self._interval and time.monotonic() >= self._due:
            self.end_epoch()

    def _write_probe(self, probe: int) -> None:
        if probe not in self._probes:
            self._probes.add(probe)
            self.write_line(
                "probe", id=probe, names=host_protocol.encode_value(self._info.probe(probe))
            )

    def _write_record(self, clause: _ClauseReader, record: bytes, where: dict[str, Any]) -> None:
        self.write_line(
            "record",
            **where,
            values=host_protocol.encode_value(clause.read_values(record)),
            **clause.deferred_members,
        )
        for action in clause.local_actions:
            self._info.actions.run_action(action, record)

    # --- epochs ---------------------------------------------------------------------------------------
    def end_epoch(self, **more: int) -> None:
        """What came since the last one, and the heartbeat that ends it.  more: members of that."""
        self._due = time.monotonic() + (self._interval or 0)
        for definition in self._info.program.aggregations:
            rows = [
                [host_protocol.encode_value(key), merge_values.encode_words(definition.row, words)]
                for key, words in self._deltas.collect_delta(definition).items()
            ]
            for first in range(0, len(rows), _MAX_ROWS):
                self.write_line(
                    "delta",
                    epoch=self.epoch_number,
                    name=definition.name,
                    function=definition.row.function_name,
                    params=list(definition.params or ()),
                    rows=rows[first : first + _MAX_ROWS],
                )
        self.write_line(
            "heartbeat", **{"epoch": self.epoch_number, "time": self._info.clock.now(), **more}
        )
        self.epoch_number += 1

    def snapshot(self, aggregates: AggregationState) -> None:
        self.end_epoch()

    def end(self, status: int) -> None:
        self.write_line("exit", epochs=self.epoch_number, status=status)

    # --- the rest -------------------------------------------------------------------------------------
    def text(self, text: bytes) -> None:
        self.write_line("text", text=text.decode("utf-8", "replace"))

    def drop(self, kind: str, count: int, line: str) -> None:
        self.write_line("drops", kind=kind, count=count)
        super().drop(kind, count, line)


class _ClauseReader:
    """Of one clause.  read: a record's values; does: what its line says that it does to aggregations or to the tracing, for who merges;
    here: the actions that are done where the lines are made."""

    def __init__(self, clause: Clause, info: TraceInfo) -> None:
        self.read_values = make_key_reader(host_protocol.data_of(clause), info.actions.symbols)
        others = [
            action for action in clause.actions if action.row.has_record and not action.row.is_value
        ]
        names = [action.row.name for action in others if action.args or action.row.ends_tracing]
        self.deferred_members = {"does": names} if names else {}
        self.local_actions = [action for action in others if not action.args]
