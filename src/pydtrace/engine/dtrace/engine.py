"""The dtrace engine: the system's dtrace(1) runs the script, and its output becomes records.

- Records and aggregations are exactly those of the other engines: the script is rewritten so that
  dtrace prints for machines (script_rewriter.py).
- dtrace's own messages are parsed, or passed on.
- dtrace ends with this process.
"""

from __future__ import annotations

import os
import select
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from pydtrace.engine import Engine, EngineError, NotAllowed, no_such_process
from pydtrace.process.identity import is_alive
from pydtrace.program import program as p

from .framing import FrameReader
from .messages import parse_message
from .output_items import Drop, Fault
from .script_rewriter import needs_raw_bytes, rewrite_script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from pydtrace.engine import Targets
    from pydtrace.process.command import Command

_START_TIMEOUT = 120  # s until BEGIN must have run: dtrace may have to look at many probes first
_END_TIMEOUT = 90  # s from the interrupt to the last word
_COMMAND_TIMEOUT = 1  # s from the interrupt until the command that dtrace started is ended
_FOLDERS = ("/usr/sbin", "/sbin")  # which not everybody has on PATH
_FORWARDED_OPTIONS = (
    "aggsize",
    "bufsize",
    "dynvarsize",
    "jstackframes",
    "nspec",
    "specsize",
    "stackframes",
    "strsize",
    "ustackframes",
)
_FAULTS = {"divide-by-zero": p.FAULT_DIVZERO}
_FAULT_RECORD = struct.Struct("=IIIIQIIIIQ")


def find_dtrace() -> list[str]:
    """The words of the command: PYUSDT_DTRACE, else dtrace on PATH or where systems have it.  Raises EngineError."""
    if words := shlex.split(os.environ.get("PYUSDT_DTRACE", "")):
        return words
    folders = [*os.get_exec_path(), *_FOLDERS]
    found = [
        path
        for path in (os.path.join(folder, "dtrace") for folder in folders)
        if os.path.isfile(path) and os.access(path, os.X_OK)
    ]
    if not found:
        raise EngineError(
            "there is no dtrace(1) on this machine; where it has another name, PYUSDT_DTRACE says it"
        )
    for path in found:
        with open(path, "rb") as file:
            if b"python" not in file.read(64):
                return [path]
    raise EngineError(
        f"{found[0]} is SystemTap's header generator, not DTrace; PYUSDT_DTRACE can name another"
    )


def explain_failure(said: str) -> str:
    """What a dtrace that would not start means, in one line, with what to do."""
    text = (
        " ".join(line.removeprefix("dtrace: ") for line in said.splitlines() if line.strip())
        or "it said nothing"
    )
    lower = text.lower()
    if "privilege" in lower or "permission denied" in lower or "requires root" in lower:
        return (
            f"dtrace needs more rights than you have ({text}); run as root, or set "
            "PYUSDT_DTRACE='sudo -n dtrace' where sudo lets you"
        )
    if "sudo:" in lower:
        return f"sudo did not let dtrace run ({text}); `sudo -v` first, or allow dtrace in sudoers"
    if (
        "system integrity protection" in lower or "restricted" in lower
    ):  # "… executables signed with restricted entitlements"
        return f"System Integrity Protection keeps dtrace from this ({text}); `csrutil enable --without dtrace` allows it"
    return f"dtrace: {text}"


class DtraceEngine(Engine):
    name = "dtrace"
    has_fault_locations = False  # the pc is one of dtrace's own program

    def __init__(self, program: p.Program, options: Mapping[str, Any]) -> None:
        super().__init__(program, options)
        self._mark = os.urandom(16).hex()
        self._frames = FrameReader(program, self._mark)
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: str | None = None
        self._command: Command | None = None
        self._output = -1  # where the frames come from
        self._pids: tuple[int, ...] = ()
        self._drops = {
            "principal": 0,
            "order": 0,
            "aggregation": 0,
            "dynamic": 0,
            "speculation": 0,
            "speculative": 0,
        }
        self._errors = b""  # an unfinished line
        self._kept_messages: list[str] = []  # messages that are neither drops nor faults
        self._pending = b""
        self._output_ended = self._stale_reported = False
        self._deadline = self._command_deadline = 0.0  # of the end, once that was asked for

    def open(self, targets: Targets) -> None:
        """What matches only dtrace knows: it is asked in begin()."""
        if targets.allowed is not None:  # a clause of dtrace's may read any memory of the kernel's
            raise NotAllowed(
                "a policy allows only some processes, and dtrace(1) cannot be limited to them: use -x engine=embedded or kernel"
            )
        self._pids, self._command = targets.pids, targets.command
        if not all(map(is_alive, self._pids)):
            raise no_such_process(self._pids)
        target: int | None = None
        pids: tuple[int | str, ...] = self._pids if targets.only else ()
        if self._command:
            target, pids = self._command.pid, ("$target",) if targets.only else ()
        self._argv = self._build_arguments(
            find_dtrace(), rewrite_script(self.program, pids, target, self._mark)
        )
        if self._command:
            self._command.leave_start_to_engine()
        self.matched = [(desc, 1) for clause in self.program.clauses for desc in clause.probes]

    def _build_arguments(self, dtrace: list[str], texts: list[str]) -> list[str]:
        argv = [*dtrace, "-q", "-xargref", "-xswitchrate=20hz", "-xaggrate=20hz"]
        argv += [
            f"-x{name}={self.options[name]}" for name in _FORWARDED_OPTIONS if name in self.options
        ]
        argv += ["-xrawbytes"] * needs_raw_bytes(self.program) + ["-xnoresolve"] * bool(
            self.options.get("noresolve")
        )
        argv += ["-w"] * (
            p.WRITES in self.program.uses and bool(self.options.get("destructive"))
        )  # the rest is done here
        if (
            self.options.get("zdefs") or self._command
        ):  # the command has its probes only when it runs
            argv.append("-Z")
        for pid in self._pids:
            argv += ["-p", str(pid)]
        self._folder = tempfile.mkdtemp(prefix="pyusdt-dtrace-")
        if self._command:
            argv += ["-c", _join_command(self._command.argv), "-o", self._make_pipe(self._folder)]
        for i, text in enumerate(
            texts
        ):  # as scripts: -n does not take declarations before the first clause
            path = os.path.join(self._folder, f"{i}.d")
            with open(path, "wb") as file:
                file.write(text.encode("latin-1"))
            argv += ["-s", path]
        return argv + getattr(self.program, "arguments", [])[1:]

    def _make_pipe(self, folder: str) -> str:
        """A pipe with a name, for the frames: what the command prints must not stand between them."""
        path = os.path.join(folder, "frames")
        os.mkfifo(path, 0o600)
        self._output = os.open(
            path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
        )  # for writing, too: it never ends then
        return path

    def begin(self) -> None:
        try:
            self._process = subprocess.Popen(
                self._argv,
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                stdout=None if self._command else subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise EngineError(f"{self._argv[0]}: {error.strerror}") from None
        if not self._command:
            assert self._process.stdout
            self._output = os.dup(self._process.stdout.fileno())
            self._process.stdout.close()
        frames, deadline = self._frames, time.monotonic() + _START_TIMEOUT
        while not (frames.begun or frames.paused or frames.exiting or self._output_ended):
            if time.monotonic() > deadline:
                raise EngineError(f"dtrace did not begin within {_START_TIMEOUT} s")
            self._pending += self._read_records(0.5)
        if self._output_ended and not (frames.begun or frames.paused or frames.exiting):
            raise EngineError(explain_failure("\n".join(self._kept_messages)))

    def poll(self, timeout: float) -> bytes:
        if self._pending:
            records, self._pending = self._pending, b""
            return records
        if self._frames.paused:
            return self._frames.feed(b"")
        return b"" if self._output_ended else self._read_records(timeout)

    def _read_records(self, timeout: float) -> bytes:
        """Whatever dtrace says within the time, as records."""
        process, out = self._process, b""
        assert process and process.stderr
        pipes = [self._output] if self._output >= 0 else []
        if not process.stderr.closed:
            pipes.append(process.stderr.fileno())
        for pipe in select.select(pipes, [], [], timeout)[0]:
            data = os.read(pipe, 1 << 18)
            if pipe == self._output:
                out += self._frames.feed(data)
                self._close_output(not data)
            elif data:
                out += self._parse_messages(data)
            else:
                process.stderr.close()
        if self._command and process.poll() is not None:
            out += self._read_rest()
        self._output_ended = self._output < 0 and (
            process.stderr.closed or self._command is not None
        )
        if self._frames.target and self._command:
            self._command.set_pid(self._frames.target)
        if self._frames.text.strip():
            self._keep_message(self._frames.text)
        self._frames.text = b""
        return out

    def _read_rest(self) -> bytes:
        """What is left in the pipe that never ends, dtrace having ended."""
        out = b""
        while self._output >= 0 and not self._frames.paused:
            try:
                out += self._frames.feed(os.read(self._output, 1 << 18))
            except BlockingIOError:
                self._close_output(True)
        return out

    def _close_output(self, ended: bool) -> None:
        if ended and self._output >= 0:
            os.close(self._output)
            self._output = -1

    def _parse_messages(self, data: bytes) -> bytes:
        """Lines of the standard error: drops are counted, faults become records, the rest is kept; a command's own lines
        are passed on."""
        *lines, self._errors = (self._errors + data).split(b"\n")
        out = b""
        for line in lines:
            if self._command and not line.startswith(b"dtrace: "):
                os.write(2, line + b"\n")
                continue
            item = parse_message(line + b"\n")
            if isinstance(item, Drop):
                kind = {"dynamic variable": "dynamic"}.get(item.kind, item.kind)
                self._drops[kind if kind in self._drops else "principal"] += item.count
            elif (
                isinstance(item, Fault)
                and item.clause is not None
                and (record := self._fault_record(item, item.clause))
            ):
                out += record
            else:
                self._keep_message(line)
        return out

    def _fault_record(self, item: Fault, clause: int) -> bytes:
        """Its record; none where there is no such clause, or a number is none of dtrace's."""
        kind = _FAULTS.get(item.what, p.FAULT_BADADDR)
        if clause >= len(self.program.clauses) or max(item.id, item.pc) >> 32:
            return b""
        self._frames.names.setdefault(item.id, item.probe)
        return _FAULT_RECORD.pack(
            p.FAULT_RECORD_SIZE,
            clause | p.RECORD_FAULT,
            item.id,
            0,
            time.monotonic_ns(),
            0,
            0,
            kind,
            item.pc,
            item.address,
        )

    def _keep_message(self, text: bytes) -> None:
        self._kept_messages = [*self._kept_messages[-99:], text.decode("utf-8", "replace")]

    def end(self) -> bytes:
        if (
            self._process
            and not self._output_ended
            and self._process.poll() is None
            and not self._frames.exiting
        ):
            self._send_signal(signal.SIGINT)
        now = time.monotonic()
        self._deadline, self._command_deadline = now + _END_TIMEOUT, now + _COMMAND_TIMEOUT
        return self.drain_end()

    def drain_end(self) -> bytes:
        """Records up to one that has to be seen by itself, or to the end."""
        out, self._pending = self._pending, b""
        if out and self._frames.paused:
            return out
        while self._process and not self._output_ended or self._frames.paused:
            out += self._frames.feed(b"") if self._frames.paused else self._read_records(0.5)
            if self._frames.paused:
                return out
            now = time.monotonic()
            if self._command and now > self._command_deadline:  # dtrace waits for what it started
                self._command.stop()
            if self._process and now > self._deadline and not self._output_ended:
                self._process.kill()
                raise EngineError(f"dtrace did not end within {_END_TIMEOUT} s")
        if self._process and self._process.wait() != 0 and not self._frames.ended:
            raise EngineError(explain_failure("\n".join(self._kept_messages)))
        return out

    def _send_signal(self, number: int) -> None:
        if self._process:
            self._process.send_signal(number)  # to nobody, once it has ended

    def close(self) -> None:
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        self._close_output(True)
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stderr:
            process.stderr.close()

    @property
    def exiting(self) -> bool:
        return (self._frames.exiting or self._output_ended) and not self._pending

    @property
    def finished(self) -> bool:
        return bool(self._pids) and not any(is_alive(pid) for pid in self._pids)

    def probe(self, ident: int) -> tuple[str, ...]:
        return self._frames.names[ident]

    def name_of(self, pid: int, address: int) -> str | None:
        return self._frames.display_names.name(address)

    def _find_items(self, map_index: int) -> dict[bytes, bytes]:
        index = next(
            i
            for i, definition in enumerate(self.program.aggregations)
            if definition.map == map_index
        )
        return self._frames.items[index]

    def items(self, map_index: int) -> list[tuple[bytes, bytes]]:
        return list(self._find_items(map_index).items())

    def clear(self, map_index: int) -> None:
        """In our snapshot; dtrace did it where it stands in the script, and the next snapshot comes from there."""
        found = self._find_items(map_index)
        if self.program.maps[map_index].kind == "percpu_array":
            found.clear()
        for key, value in found.items():
            found[key] = bytes(len(value))

    def remove(self, map_index: int, keys: list[bytes]) -> None:
        found = self._find_items(map_index)
        for key in keys:
            found.pop(key, None)

    def warnings(self) -> list[str]:
        """Once, at the end: while tracing goes on another snapshot is to come."""
        if not self._frames.ended or self._stale_reported:
            return []
        self._stale_reported = True
        damaged = self._frames.damaged
        return [
            f"@{name} is that of an earlier moment: dtrace's table of it could not be read"
            for name in self._frames.stale_names()
        ] + [f"damaged in dtrace's output, and lost: {damaged} record{'s' * (damaged > 1)}"] * bool(
            damaged
        )

    def drops(self) -> dict[str, int]:
        return dict(self._drops)


def _join_command(argv: Sequence[str]) -> str:
    """A command as -c takes it: dtrace splits it at white space, and knows no quotes."""
    for word in argv:
        if word.split() != [word]:
            raise EngineError(
                f"dtrace cannot start a command with the word {word!r}, since it splits at white space: start it yourself "
                "and name its pid, or put it into a script"
            )
    return " ".join(argv)
