"""pydtrace --serve: the agent, which traces one host for a coordinator (pydtrace --hosts).

- The standard input has lines of JSON: trace (the script, what to trace), go, ping, flush, ack, stop.
  The standard output has lines of schema 2 (docs/reference/json.md), opened or refused first, and pong.
- The end of the coordinator, or of the connection, ends the tracing and the command of -c.
- That command has neither pipe: it reads nothing, and its output goes to the standard error.
- A coordinator that does not keep up gets fewer, larger epochs.
"""

from __future__ import annotations

import base64
import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from pydtrace.cli.parsing import arguments as cli
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.driver.driver import Driver
from pydtrace.engine import Targets
from pydtrace.hosts import hostlist, placement
from pydtrace.hosts.connection import HostError, parse_line
from pydtrace.hosts.request import FORWARDED, build_version, relay_request
from pydtrace.sinks.host_protocol_sink import HostProtocolSink
from pydtrace.sinks.output_file import Output
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .run_deadline import Deadline
from .serve_policy import Policy, PolicyDenied

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from pydtrace.cli.parsing.arguments import Arguments
    from pydtrace.program.program import Program

_POLL = 0.05  # s
_REQUEST_LIMIT = 4 << 20  # bytes of a line
_MAX_UNACKNOWLEDGED = 8  # epochs
_REASON_LIMIT = 4096  # characters: dtrace's words have the whole script in them
_PORTION_SIZE = 512 << 10  # bytes of events, of a line
_NO_MEMORY = "the memory that this host's policy gives is used up"


class RequestRefused(Exception):
    """The request is refused; the message is one line for who asked."""


class LockedOutput(Output):
    """Two threads write lines: what is traced, and answers to pings."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd, "<the coordinator>")
        self._lock = threading.Lock()

    def write(self, text: bytes) -> None:
        with self._lock:
            super().write(text)


class AgentSink(HostProtocolSink):
    """HostProtocolSink, and nothing on the standard error.  sender: an hosts.event_forwarding.ForwardingEngine, where events are to be sent."""

    sender: Any = None

    def __init__(self, output: Output) -> None:
        super().__init__(output, self.note, None)

    def note(self, message: str, error: bool = True) -> None:
        if error:
            self.write_line("notice", text=message)

    def fault(self, text: str, count: int = 0) -> None:
        """The coordinator has its line, and tells it."""

    def drop(self, kind: str, count: int, line: str) -> None:
        self.write_line("drops", kind=kind, count=count)

    def send_events(self) -> None:
        """The events that have come."""
        if self.sender is None:
            return
        data = self.sender.drain_events()
        for at in range(0, len(data), _PORTION_SIZE):
            self.write_line("events", data=base64.b64encode(data[at : at + _PORTION_SIZE]).decode())
        for names, rows in self.sender.drain_samples():
            self.write_line("samples", names=names, rows=rows)

    def end_epoch(self, **more: int) -> None:
        self.send_events()
        super().end_epoch(**more)

    def forward(self, record: bytes, error: int, origin: int) -> None:
        """One of a host that this one relays for."""
        self._extra_members = {"error": error, "origin": origin}
        self.records(record)
        self._extra_members = {}


class Coordinator(threading.Thread):
    """What it asks: going, stopping, flush (the last number), acked (the last epoch), gone, wall (ns, to be added to our times
    for its wall clock; None: it has not said)."""

    def __init__(self, file: BinaryIO, sink: AgentSink) -> None:
        super().__init__(daemon=True)
        self._file, self._sink = file, sink
        self.going = threading.Event()
        self.stopping = self.gone = False
        self.flush, self.acked = 0, -1
        self.wall: int | None = None

    def run(self) -> None:
        try:
            while line := self._file.readline(_REQUEST_LIMIT):
                self._handle_line(parse_line(line))
        except (OSError, HostError, ValueError, KeyError, TypeError):
            pass  # it is no coordinator, or is gone
        self.gone = True
        self.going.set()

    def _handle_line(self, line: dict[str, Any]) -> None:
        kind = line["type"]
        if "wall" in line:
            self.wall = _check_int64(line["wall"])
        if kind == "ping":
            self._sink.write_line("pong", id=line["id"], time=time.monotonic_ns())
        elif kind == "go":
            self.going.set()
        elif kind == "flush":
            self.flush = max(self.flush, int(line["id"]))
        elif kind == "ack":
            self.acked = max(self.acked, int(line["epoch"]))
        elif kind == "stop":
            self.stopping = True
            self.going.set()


def _check_int64(number: Any) -> int:
    if -(1 << 63) <= number < 1 << 63:
        return int(number)
    raise ValueError("no time")


def serve_coordinator(
    path: str | None,
    targets_of: Callable[[Arguments], Targets],
    compiled: Callable[[Arguments, int], Any],
    hide: Callable[[], None],
) -> int:
    """The exit status.  path: of the policy's file; targets_of, compiled, hide: pydtrace's own."""
    file, output = _take_standard_pipes()
    sink = AgentSink(output)
    coordinator = Coordinator(file, sink)
    policy = deadline = None
    try:
        policy = Policy(path)
        deadline = Deadline(
            policy.seconds_left,
            lambda: _refuse_request(
                sink, RequestRefused("the time that this host's policy gives is over"), policy
            ),
        )
        request = _read_request(file)
        arguments = _parse_arguments(request)
        if "hosts" in request:
            policy.check_relay(request["via"])
            arguments.options.update(
                hosts=relay_request(request, sink.forward),
                hostwait=int(request["wait"]),
                hostretry=int(request["retry"]),
            )
        policy.check_request(arguments, request["options"])
        if arguments.options.get("hostmode") == "central":
            policy.check_events()
            arguments.options["send"] = True
        with policy.no_memory_bound():
            found = Targets() if "hosts" in request else targets_of(arguments)
        deadline.command = found.command
        driver = Driver(
            arguments.options, found if "hosts" in request else policy.filter_targets(found)
        )
    except Exception as error:  # noqa: BLE001  (whatever it is, the coordinator is informed)
        if deadline and deadline.command:
            deadline.command.stop()
        return _refuse_request(sink, error, policy)
    coordinator.start()
    try:
        try:
            asked = dict(arguments.options)
            program = compiled(arguments, (*found.named_pids(), 0)[0]).program
            policy.check_program(arguments.options, program, asked)
            policy.write_audit("allowed")
            _open_driver(driver, program, sink)
            hide()
            deadline.begun = True
        except Exception as error:  # noqa: BLE001
            return _refuse_request(sink, error, policy)
        if not coordinator.going.wait(policy.seconds_left) or coordinator.gone:
            return 1
        if coordinator.stopping:  # exit() in BEGIN
            sink.end(0)
            return 0
        try:
            _run_tracing(driver, sink, coordinator, request["interval"], policy)
        except Exception as error:
            if not policy.is_out_of_memory(error):
                raise
            sink.note(_NO_MEMORY)
            return 1
        return driver.exit_status or 0
    finally:
        driver.close()


def _take_standard_pipes() -> tuple[BinaryIO, LockedOutput]:
    """The coordinator's, which from now on nobody else has."""
    there, here = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(there, "rb"), LockedOutput(here)


def _refuse_request(sink: AgentSink, error: Exception, policy: Policy | None) -> int:
    why = error.summary() if isinstance(error, CompileError) else str(error) or type(error).__name__
    if policy and policy.is_out_of_memory(error):
        why = _NO_MEMORY
    if policy:
        with contextlib.suppress(PolicyDenied):  # then it is the error itself
            policy.write_audit(f"refused: {why}")
    sink.write_line(
        "refused",
        why=why
        if len(why) <= _REASON_LIMIT
        else f"{why[: _REASON_LIMIT // 2]} … {why[-_REASON_LIMIT // 2 :]}",
    )
    return 1


def _read_request(file: BinaryIO) -> dict[str, Any]:
    line = file.readline(_REQUEST_LIMIT)
    try:
        request: dict[str, Any] = parse_line(line)
    except HostError:
        raise RequestRefused(
            "pydtrace --serve is started by pydtrace --hosts: it reads a request from its standard input"
        ) from None
    if request["type"] != "trace" or request.get("schema") != 2:
        raise RequestRefused(
            "this pydtrace serves requests of schema 2: the coordinator's is of another version"
        )
    if (theirs := str(request.get("release"))) != (ours := build_version()):
        raise RequestRefused(
            f"the coordinator has pyusdt {escape_for_terminal(theirs[:80])}, and this is pyusdt {ours}: they do not understand each other; "
            "install the same build for both"
        )
    return request


def _parse_arguments(request: dict[str, Any]) -> Arguments:
    """The command line that it stands for."""
    arguments = cli.Arguments()
    arguments.mode = "serve"
    arguments.hosts = hostlist.check_host_name(request["host"])
    arguments.width = min(max(int(request["width"]), 0), hostlist.MAX_NAME)
    arguments.requests = [
        cli.Request(each["text"], None, each["level"]) for each in request["requests"]
    ]
    arguments.operands = [str(each) for each in request["operands"]]
    arguments.pids = [int(pid) for pid in request["pids"]]
    arguments.commands = [request["command"]] if request["command"] else []
    for key, value in request["options"].items():
        if key in FORWARDED:
            arguments.options.set_received(key, value)
    arguments.options["zdefs"] = True
    return arguments


def _open_driver(driver: Driver, program: Program, sink: AgentSink) -> None:
    descriptions = [desc for clause in program.clauses for desc in clause.probes]
    for clause in program.clauses if "hosts" not in driver.options else ():
        clause.probes = [
            desc
            for desc in clause.probes
            if placement.HOSTS in placement.description_placement(desc)
        ]
    driver.open(program)
    counts = {id(desc): count for desc, count in driver.engine.matched}
    sink.write_line("opened", matched=[counts.get(id(desc), 0) for desc in descriptions])
    for note in driver.engine.startup_notices:
        sink.note(note)


def _run_tracing(
    driver: Driver, sink: AgentSink, coordinator: Coordinator, interval: float, policy: Policy
) -> None:
    due, flushed = time.monotonic() + interval, 0
    wall: int | None = None
    engine: Any = driver.engine
    relay = engine if engine.name == "relay" else None
    comes = engine if engine.name in ("relay", "sending") else None

    def end_epoch_if_due() -> None:
        nonlocal due, flushed
        set_wall()
        driver.stopping = (
            driver.stopping or coordinator.stopping or coordinator.gone or policy.seconds_left == 0
        )
        driver.aborting = driver.aborting or coordinator.gone
        sink.send_events()
        wanted, now = coordinator.flush, time.monotonic()
        if wanted > flushed or (
            now >= due and sink.epoch_number - coordinator.acked <= _MAX_UNACKNOWLEDGED
        ):
            if wanted > flushed and relay:
                relay.bring_up_to_date()
            write_epoch(wanted)
            due, flushed = now + interval, wanted

    def write_epoch(flush: int) -> None:
        sink.end_epoch(flush=flush, **({"time": comes.complete_until} if comes else {}))

    def set_wall() -> None:
        nonlocal wall
        if coordinator.wall is not None and coordinator.wall != wall:
            engine.set_wall_offset(wall := coordinator.wall)

    set_wall()
    driver.begin(sink)
    if engine.name == "sending":
        sink.sender = engine
    write_epoch(0)  # the first one says that the probes are on
    driver.run(_POLL, end_epoch_if_due)
