"""pydtrace --alert CLAUSE=RECEIVER: send the records of a clause to a receiver as alerts.

Options: `alert` ["CLAUSE=RECEIVER" …], `alertends`, `alertrepeat` (ns), `alertrate` (alerts a
minute), `alertstacks`. docs/howto/alerts.md has the members of a note.

- The condition is D's: whatever the clause records is an alert. A clause with the same texts
  among its values is one alert, sent when it begins, again while it lasts, and when no record has
  come for a while.
- What is not sent is counted and reported.
- The tracing thread never waits for a receiver.
"""

from __future__ import annotations

import os
import platform
import struct
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from pydtrace.driver.cumulative_totals import format_label as as_label
from pydtrace.driver.sink import Sink
from pydtrace.engine import EngineError
from pydtrace.process.identity import start_ticks
from pydtrace.program import program as p
from pydtrace.program.float_values import replace_nonfinite
from pydtrace.results.records import Probe, iter_records
from pydtrace.sinks.json_sink import make_value_members

from .alert_receivers import CLOSE_TIMEOUT, ReceiverError, StackDump, open_receiver

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from pydtrace.driver.sink import TraceInfo
    from pydtrace.engine import ProbeDesc
    from pydtrace.program.program import Clause
    from pydtrace.results.records import Record
    from pydtrace.sinks.output_file import Notify

    from .alert_receivers import Receiver

NOTE_VERSION = 1  # of a note's members
_ENDS, _REPEAT, _RATE = 60 * 10**9, 3600 * 10**9, 60  # the options' defaults
_MAX_ALERTS = 1000  # alerts at once
_EVIDENCE_LINES = 20  # records before an alert, and lines of an aggregation
_REPORT_INTERVAL = 60.0  # s between two messages about what was lost
_REMOTE_ENGINES = (
    "remote",
    "replay",
)  # engines; a process of ours may have the number of one of theirs


class _Alert:
    """One that lasts.  first, last: seconds since 1970, of its first and its last record; seen: the same of the last one, monotonic;
    due: when each receiver is notified again, monotonic; empty: none has been notified yet; note: of its first record."""

    __slots__ = ("count", "due", "first", "labels", "last", "name", "note", "last_seen")

    def __init__(self, name: str, labels: dict[str, str]) -> None:
        self.name, self.labels = name, labels
        self.first = self.last = time.time()
        self.count, self.last_seen = 0, 0.0
        self.due: dict[Receiver, float] = {}
        self.note: dict[str, Any] = {}


class AlertsSink(Sink):
    """The sink, which looks on beside another (sinks/tee.py).  opens: a receiver by its text.  EngineError: an option names no clause or no
    receiver; at begin()."""

    def __init__(
        self, notify: Notify, make_receiver: Callable[[str], Receiver] = open_receiver
    ) -> None:
        self._notify, self._make_receiver = notify, make_receiver
        self._active: dict[Any, _Alert] = {}
        self._receivers: dict[str, list[Receiver]] = {}  # by what the option calls the clause
        self._recent: deque[bytes] = deque(maxlen=_EVIDENCE_LINES)
        self._suppressed = 0
        self._reported = 0
        self._next_report = 0.0

    def begin(self, info: TraceInfo) -> None:
        self._info, options = info, info.options
        self._ends, self._repeat = (
            options.get("alertends", _ENDS) / 1e9,
            options.get("alertrepeat", _REPEAT) / 1e9,
        )
        self._bucket = _TokenBucket(options.get("alertrate", _RATE))
        self._decoder = info.make_decoder()
        self._names: dict[int, list[str]] = {}  # what the options call each clause
        if options.get("alertstacks") and info.engine in _REMOTE_ENGINES:
            raise EngineError(
                "-x alertstacks does not work with --hosts and --replay: the processes are not on this host"
            )
        try:
            self._open_receivers(options["alert"])
        except ReceiverError as error:
            self.close()
            raise EngineError(f"--alert {error}") from None

    def _open_receivers(self, texts: list[str]) -> None:
        for text in texts:
            name, equals, receiver = text.partition("=")
            if not equals:
                raise ReceiverError(
                    f"'{text}': expected CLAUSE=RECEIVER, such as 1=exec:./notify.sh"
                )
            clauses = _find_clauses(name, self._info.program.clauses)
            if not clauses:
                raise ReceiverError(
                    f"'{text}': no clause is called '{name}'; this script has: {_list_clauses(self._info.program.clauses)}"
                )
            for clause in clauses:
                if not clause.record_size:
                    raise ReceiverError(
                        f"'{text}': the clause records nothing; an alert is what it records, for example by printf()"
                    )
                names = self._names.setdefault(clause.index or 0, [])
                names += [name] * (name not in names)
            self._receivers.setdefault(name, []).append(self._make_receiver(receiver))

    # --- what comes ---------------------------------------------------------------------------

    def records(self, buffer: bytes) -> None:
        for record, clause, probe, pid, tid in iter_records(buffer):
            for name in self._names.get(clause, ()):
                self._add_record(name, clause, record, probe, (pid, tid))
            self._recent.append(record)
        self._update_alerts(time.monotonic())

    def text(self, text: bytes) -> None:
        """Shown by the other one."""

    def notice(self, text: str, error: bool = True) -> None:
        """Likewise."""

    def _add_record(
        self, name: str, clause: int, raw: bytes, probe: int, ids: tuple[int, int]
    ) -> None:
        found = self._decoder.decode(raw)
        values = _record_values(found[0]) if found else {}
        labels = _record_labels(found[0], self._decoder.string_indexes(clause)) if found else {}
        key = name, tuple(labels.items())
        alert = self._active.get(key)
        if alert is None:
            if len(self._active) >= _MAX_ALERTS:
                self._suppressed += 1
                return
            alert = self._active[key] = _Alert(name, labels)
        alert.count += 1
        alert.last_seen, alert.last = time.monotonic(), time.time()
        if not alert.due:  # those after it change nothing but the count
            alert.note = {
                "values": values,
                "probe": str(Probe(*self._info.probe(probe))),
                "pid": ids[0],
                "tid": ids[1],
            }
            self._begin_alert(alert, struct.unpack_from("=Q", raw, p.RECORD_TIME)[0])

    def _begin_alert(self, alert: _Alert, when: int) -> None:
        if not self._bucket.take_token(alert.last_seen):
            return  # its next record tries again
        alert.note["evidence"] = self._collect_evidence(alert.note["pid"], when)
        for receiver in self._receivers[alert.name]:
            self._send_note(alert, "firing", receiver)

    def _update_alerts(self, now: float) -> None:
        """Those that have ended, and those that are to be sent again."""
        for key, alert in list(self._active.items()):
            over = now - alert.last_seen >= self._ends
            if over:
                del self._active[key]
                self._suppressed += not alert.due
            for receiver, due in alert.due.items():
                if over or now >= due:
                    self._send_note(alert, "resolved" if over else "firing", receiver)
        if now >= self._next_report:
            self._report_lost(now)

    # --- what goes ----------------------------------------------------------------------------

    def _send_note(self, alert: _Alert, state: str, receiver: Receiver) -> None:
        alert.due[receiver] = time.monotonic() + (receiver.repeat_interval or self._repeat)
        receiver.add_note(
            {
                "version": NOTE_VERSION,
                "state": state,
                "alert": alert.name,
                "host": platform.node(),
                "labels": alert.labels,
                "count": alert.count,
                "began": round(alert.first, 3),
                "last": round(alert.last, 3),
                "sent": round(time.time(), 3),
                **alert.note,
            }
        )

    def _collect_evidence(self, pid: int, when: int) -> dict[str, Any]:
        records = [found.to_dict() for raw in self._recent for found in self._decoder.decode(raw)]
        for each in records:
            each["values"] = replace_nonfinite(each["values"])
        evidence: dict[str, Any] = {
            "records": records,
            "aggregations": self._snapshot_aggregations(),
        }
        if self._info.options.get("alertstacks") and pid not in (
            0,
            os.getpid(),
        ):  # ticks fire in the tracer
            began = start_ticks(pid)
            evidence["stacks"] = StackDump(pid, began if self._info.existed_at(pid, when) else None)
        return evidence

    def _snapshot_aggregations(self) -> list[dict[str, Any]]:
        aggregates = self._info.actions.aggregates
        return [
            {"name": definition.name, "keys": list(key), **make_value_members(value)}
            for definition in self._info.program.aggregations
            for key, value in list(aggregates.take_snapshot(definition).items())[-_EVIDENCE_LINES:]
        ]

    def _all_receivers(self) -> list[Receiver]:
        return [receiver for receivers in self._receivers.values() for receiver in receivers]

    def _report_lost(self, now: float) -> None:
        """What was sent to nobody."""
        self._next_report = now + _REPORT_INTERVAL
        lost = sum(receiver.lost_count for receiver in self._all_receivers()) + self._suppressed
        if lost > self._reported:
            self._reported = lost
            beyond = (
                f", {self._suppressed} of them beyond -x alertrate or {_MAX_ALERTS} at once"
                if self._suppressed
                else ""
            )
            why = "".join(f"; {each.reason}" for each in self._all_receivers() if each.reason)
            self._notify(f"--alert: {lost} notes of alerts could not be delivered{beyond}{why}")

    def close(self) -> None:
        self._suppressed += sum(not alert.due for alert in self._active.values())
        until = time.monotonic() + CLOSE_TIMEOUT  # of all of them
        for receiver in self._all_receivers():
            receiver.stop_accepting()
        for receiver in self._all_receivers():
            receiver.close(until)
        self._report_lost(0.0)
        self._receivers = {}


class _TokenBucket:
    """At most `rate` a minute, and as many at once."""

    def __init__(self, rate: int) -> None:
        self._rate, self._tokens, self._at = rate, float(rate), 0.0

    def take_token(self, now: float) -> bool:
        self._tokens = min(self._rate, self._tokens + (now - self._at) * self._rate / 60)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


def _find_clauses(name: str, clauses: list[Clause]) -> list[Clause]:
    """Those that are called so: by number, or by the name of a probe as the clause writes it, with or without macros."""
    if name.isascii() and name.isdigit():
        return [clause for number, clause in enumerate(clauses, 1) if number == int(name)]
    return [
        clause
        for clause in clauses
        if any(
            name in (str(probe), str(probe).rpartition(":")[2], _written_description(probe))
            for probe in clause.probes
        )
    ]


def _written_description(probe: ProbeDesc) -> str:
    """Its text in the script, where $target still is $target."""
    return str(probe.loc.text).strip() if probe.loc else ""


def _list_clauses(clauses: list[Clause]) -> str:
    """Their numbers and probes, of many the first."""
    shown = [
        f"{number} ({', '.join(dict.fromkeys(str(probe).lstrip(':') for probe in clause.probes))})"
        for number, clause in enumerate(clauses[:5], 1)
    ]
    return ", ".join(shown) + (f" and {len(clauses) - 5} more" if len(clauses) > 5 else "")


def _record_labels(record: Record, texts: Container[int]) -> dict[str, str]:
    """Its texts by their names, likewise; bytes that are no UTF-8 as \\xff, as metrics have them."""
    made: dict[str, str] = {}
    for at, (name, value) in enumerate(zip(record.names, record.values, strict=True)):
        if at in texts or isinstance(value, str):
            made.setdefault(name, as_label(value))
    return made


def _record_values(record: Record) -> dict[str, Any]:
    """Its values by their names; the first of those that are named alike."""
    found: dict[str, Any] = {}
    for name, value in zip(record.names, replace_nonfinite(list(record.values)), strict=True):
        found.setdefault(name, value)
    return found
