"""`pydtrace --erlang-port`: the program behind erltrace's port, with which
erlang_nif/src/erltrace_server.erl communicates.

Standard input: frames of 4 bytes of length and a term of the External Term Format:
    {start, #{target => Pid, pids => [Pid], command => [Word] | none, buffer => N, strict => boolean(),
              metrics => [Line] | none, alerts => [Clause],
              cluster => {Socket, [{Name, Pid}]} | none}}     first, once; the list has all nodes, as they are now
    {Tag, watch}: begins what `metrics` and `alerts` ask for; answered
    {Tag, Command}: setopt, compile, go, consume, walk, stop, snapshot; answered
    {stream, Milliseconds | infinity, Batch}, {credit, N}, {nodes, [{Name, Pid}]}: not answered
Standard output, in the same frames:
    {reply, Tag, Result}
    {records, [Item], Lost}, {aggregations, [{Name, Rows}]}     each costs a credit of the stream
    {metrics, [Family]}, {alert, Note}     likewise, where they were asked for; metrics in the place of aggregations
    {over, State, Status}     the stream's end: all that was recorded has been sent

- The program ends when its input does, with everything undone.
- An error in a command is its answer.
- Memory is bounded by `buffer`, whatever Erlang does.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
import time
from typing import Any

from pydtrace.erlang_node import etf
from pydtrace.erlang_node.etf import Atom

from .erlang_cluster import ErlangCluster
from .port_session import CommandError, Session

_POLL = 0.02  # s: so long a command may have to wait while tracing
_MAX_FRAME = 64 << 20  # bytes of a frame
_OK, _ERROR, _REPLY, _DTRACE = Atom("ok"), Atom("error"), Atom("reply"), Atom("dtrace")
_METRICS, _ALERT = Atom("metrics"), Atom("alert")
_RECORDS, _AGGREGATIONS, _OVER, _NO_PROG = (
    Atom("records"),
    Atom("aggregations"),
    Atom("over"),
    Atom("no_prog"),
)


class PortClosed(Exception):
    """Erlang has gone."""


class FramePipe:
    """Frames over two file descriptors."""

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        self._bytes = bytearray()

    def receive_term(self, timeout: float | None) -> Any:
        """The next term; None where none comes in time."""
        while (term := self._parse_frame()) is None:
            ready, _, _ = select.select([self._source], [], [], timeout)
            if not ready:
                return None
            data = os.read(self._source, 1 << 16)
            if not data:
                raise PortClosed
            self._bytes += data
        return term

    def _parse_frame(self) -> Any:
        if len(self._bytes) < 4:
            return None
        (size,) = struct.unpack_from(">I", self._bytes)
        if size > _MAX_FRAME:
            raise ValueError(f"a frame of {size} bytes")
        if len(self._bytes) < 4 + size:
            return None
        term = etf.decode(bytes(self._bytes[4 : 4 + size]))
        del self._bytes[: 4 + size]
        return term

    def send_term(self, term: Any) -> None:
        data = etf.encode(term)
        view = memoryview(struct.pack(">I", len(data)) + data)
        try:
            while view:
                view = view[os.write(self._sink, view) :]
        except BrokenPipeError:
            raise PortClosed from None


class Stream:
    """What is sent unasked: at most a message for a credit."""

    def __init__(
        self, pipe: FramePipe, session: Session, interval: float | None, batch: int
    ) -> None:
        self._pipe, self._session, self._interval, self._batch = pipe, session, interval, batch
        self._next = None if interval is None else time.monotonic() + interval
        self.credit = 0
        self._final = False  # the aggregations of the end have been sent
        self.over = False

    def send_due(self) -> None:
        """All that there is, and that there is credit for."""
        session = self._session
        while self.credit and (note := session.take_note()) is not None:
            self._send_message((_ALERT, note))
        while self.credit and (session.queue or session.drops):
            found = session.take_terms(self._batch)
            self._send_message((_RECORDS, found, 0 if session.queue else session.take_drops()))
        ended = session.state in ("stopped", "exited")
        now = time.monotonic()
        if (
            self.credit
            and not self._final
            and (ended or (self._next is not None and now >= self._next))
        ):
            metrics = session.read_metrics()
            self._send_message(
                (_AGGREGATIONS, session.snapshot()) if metrics is None else (_METRICS, metrics)
            )
            self._next, self._final = (
                None if self._interval is None else now + self._interval,
                ended,
            )
        if self._final and not (session.has_pending or self.over):
            self._pipe.send_term((_OVER, Atom(session.state), session.status))
            self.over = True

    def _send_message(self, message: Any) -> None:
        self.credit -= 1
        self._pipe.send_term(message)


class Port:
    """Commands in, answers out, tracing between them.  pipe: the first term that comes says what is traced."""

    def __init__(self, pipe: FramePipe) -> None:
        self._pipe = pipe
        self._stream: Stream | None = None
        term = pipe.receive_term(None)
        self._start_options = given = term[1]
        words = given["command"]
        command = None if words == "none" else [os.fsdecode(word) for word in words]
        cluster = (
            None
            if given["cluster"] == "none"
            else ErlangCluster(given["cluster"][0].decode(), given["cluster"][1])
        )
        self._session = Session(
            given["target"],
            tuple(_to_integers(given["pids"])),
            command,
            given["buffer"],
            given["strict"],
            cluster,
        )

    def run(self) -> None:
        session = self._session
        try:
            while True:
                tracing = session.state == "tracing"
                if tracing:
                    session.poll(_POLL)
                term = self._pipe.receive_term(0 if tracing else None)
                while term is not None:
                    self._handle_term(term)
                    term = self._pipe.receive_term(0)
                if self._stream:
                    self._stream.send_due()
        finally:
            session.close()

    def _handle_term(self, term: Any) -> None:
        if term[0] == "credit":
            if self._stream:
                self._stream.credit += term[1]
        elif term[0] == "nodes":
            self._session.update_nodes(term[1])
        elif term[0] == "stream":
            interval = None if term[1] == "infinity" else term[1] / 1000
            self._stream = Stream(self._pipe, self._session, interval, term[2])
        else:
            tag, command = term
            name, *arguments = command if isinstance(command, tuple) else (command,)
            try:
                result = getattr(self, f"_do_{name}")(*arguments)
            except CommandError as error:
                result = (_ERROR, (_DTRACE, str(error)))
            self._pipe.send_term((_REPLY, tag, result))

    # --- commands -----------------------------------------------------------------------------

    def _do_watch(self) -> Any:
        lines, clauses = self._start_options["metrics"], self._start_options["alerts"]
        self._session.watch(
            None if lines == "none" else [line.decode() for line in lines],
            [clause.decode() for clause in clauses],
        )
        return _OK

    def _do_setopt(self, name: bytes, value: bytes) -> Any:
        self._session.setopt(name.decode(), value.decode())
        return _OK

    def _do_compile(self, script: bytes, arguments: list[bytes]) -> Any:
        if self._session.state != "new":
            return _ERROR, Atom("already_running")
        self._session.compile(script, [each.decode() for each in arguments])
        return _OK

    def _do_go(self) -> Any:
        if self._session.state == "compiled":
            self._session.go()
            return _OK
        return _ERROR, _NO_PROG if self._session.state == "new" else Atom("already_running")

    def _do_stop(self) -> Any:
        if self._session.state == "new":
            return _ERROR, _NO_PROG
        if self._session.state == "tracing":
            self._session.stop()
        return _OK

    def _do_consume(self) -> Any:
        session = self._session
        found = session.take_terms(len(session.queue))
        if lost := session.take_drops():
            found.append((Atom("lost"), lost))
        return (_OK, found) if found else self._answer_without_terms()

    def _do_walk(self) -> Any:
        found = (
            self._session.walk() if self._session.state in ("tracing", "stopped", "exited") else []
        )
        return (_OK, found) if found else self._answer_without_terms()

    def _answer_without_terms(self) -> Any:
        state = self._session.state
        if state == "new":
            return _ERROR, _NO_PROG
        return (_ERROR, Atom(state)) if state in ("stopped", "exited") else _OK

    def _do_snapshot(self) -> Any:
        return _OK, self._session.snapshot() if self._session.state in (
            "tracing",
            "stopped",
            "exited",
        ) else []


def _to_integers(value: Any) -> list[int]:
    """A list of integers, which comes as a string where all are small."""
    return [ord(each) for each in value] if isinstance(value, str) else value


def main() -> int:
    """The standard output is Erlang's alone: whatever else prints goes to the standard error.  A Ctrl-C in Erlang's
    shell is not meant for us, who share its terminal."""
    signal.signal(
        signal.SIGINT, lambda number, frame: None
    )  # not SIG_IGN: a dtrace(1) would inherit that
    sink = os.dup(1)
    os.set_inheritable(sink, False)
    os.dup2(2, 1)
    from pyusdt import _core

    _core.unpublish()  # a tracer is no target
    try:
        Port(FramePipe(0, sink)).run()
    except PortClosed:
        return 0
    except Exception as error:
        if "PYUSDT_DEBUG" in os.environ:
            raise
        print(f"pydtrace: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0
