"""The dtrace engine: the system's dtrace(1) runs the script, its output becomes the program's records.

In: a compiled program and processes, whatever probes dtrace finds in them.  Out: the same records and aggregations as
from the other engines, exact: the script that dtrace runs is rewritten so that it prints for machines
(dtrace_script.py).  Always: dtrace's own messages are understood or passed on; dtrace ends with us.
"""

import os
import select
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from ..dlang import program as p
from . import Engine, EngineError
from .dtrace_frames import Frames
from .dtrace_items import Drop, Fault
from .dtrace_messages import parse
from .dtrace_script import rewrite

_START = 60  # s until BEGIN must have run: dtrace may have to look at many probes first
_END = 30  # s from the interrupt to the last word
_PLACES = ("/usr/sbin/dtrace", "/sbin/dtrace")
_HANDED_ON = ("aggsize", "bufsize", "dynvarsize", "nspec", "specsize", "strsize")
_FAULTS = {"divide-by-zero": p.FAULT_DIVZERO}
_FAULT_RECORD = struct.Struct("=IIIIQIIIIQ")


def find():
    """The words of the command: PYUSDT_DTRACE, else dtrace on PATH or where systems have it.  Raises EngineError."""
    if words := shlex.split(os.environ.get("PYUSDT_DTRACE", "")):
        return words
    path = shutil.which("dtrace") or next((place for place in _PLACES if os.access(place, os.X_OK)), None)
    if path is None:
        raise EngineError("there is no dtrace(1) on this machine; where it has another name, PYUSDT_DTRACE says it")
    with open(path, "rb") as file:
        if b"python" in file.read(64):
            raise EngineError(f"{path} is SystemTap's header generator, not DTrace; PYUSDT_DTRACE can name another")
    return [path]


def explain(said):
    """What a dtrace that would not start means, in one line, with what to do."""
    text = " ".join(line.removeprefix("dtrace: ") for line in said.splitlines() if line.strip()) or "it said nothing"
    lower = text.lower()
    if "privilege" in lower or "permission denied" in lower or "requires root" in lower:
        return (f"dtrace needs more rights than you have ({text}); run as root, or set "
                "PYUSDT_DTRACE='sudo -n dtrace' where sudo lets you")
    if "sudo:" in lower:
        return f"sudo did not let dtrace run ({text}); `sudo -v` first, or allow dtrace in sudoers"
    if "system integrity protection" in lower:
        return f"System Integrity Protection keeps dtrace from this ({text}); `csrutil enable --without dtrace` allows it"
    return f"dtrace: {text}"


class DtraceEngine(Engine):
    name = "dtrace"

    def __init__(self, program, options):
        super().__init__(program, options)
        self._frames = Frames(program)
        self._process = self._folder = None
        self._pids = ()
        self._drops = {"principal": 0, "order": 0, "aggregation": 0, "dynamic": 0}
        self._errors, self._said = b"", []  # an unfinished line, and the messages that were no more than said
        self._over = False

    def open(self, targets):
        """What matches only dtrace knows: it is asked in begin()."""
        if targets.command:  # DTrace for Linux does not see the probes of a process that becomes another program
            raise EngineError("the dtrace engine does not start commands yet: start it yourself, and name its pid")
        self._pids = targets.pids
        for pid in self._pids:
            if not _exists(pid):
                raise EngineError("No such process")  # dtrace's own words
        if getattr(self.program, "speculates", False):
            raise EngineError("the dtrace engine does not have speculations yet")
        self._argv = self._arguments(find(), rewrite(self.program, self._pids if targets.only else ()))
        self.matched = [(desc, 1) for clause in self.program.clauses for desc in clause.probes]

    def _arguments(self, dtrace, texts):
        argv = [*dtrace, "-q", "-xargref", "-xswitchrate=20hz", "-xaggrate=20hz"]
        argv += [f"-x{name}={self.options[name]}" for name in _HANDED_ON if name in self.options]
        if self.options.get("zdefs"):
            argv.append("-Z")
        if self.options.get("destructive"):
            argv.append("-w")
        for pid in self._pids:
            argv += ["-p", str(pid)]
        self._folder = tempfile.mkdtemp(prefix="pyusdt-dtrace-")
        for i, text in enumerate(texts):  # as scripts: -n does not take declarations before the first clause
            path = os.path.join(self._folder, f"{i}.d")
            with open(path, "wb") as file:
                file.write(text.encode("latin-1"))
            argv += ["-s", path]
        return argv + getattr(self.program, "arguments", [])[1:]

    def begin(self):
        try:
            self._process = subprocess.Popen(self._argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                             stderr=subprocess.PIPE, start_new_session=True)
        except OSError as error:
            raise EngineError(f"{self._argv[0]}: {error.strerror}") from None
        self._pending = b""
        deadline = time.monotonic() + _START
        while not self._frames.begun and not self._over and not self._frames.exiting:
            if time.monotonic() > deadline:
                raise EngineError(f"dtrace did not begin within {_START} s")
            self._pending += self._read(0.5)
        if self._over and not self._frames.begun and not self._frames.exiting:
            raise EngineError(explain("\n".join(self._said)))

    def poll(self, timeout):
        if self._pending:
            records, self._pending = self._pending, b""
            return records
        return b"" if self._over else self._read(timeout)

    def _read(self, timeout):
        """Whatever dtrace says within the time, as records."""
        process = self._process
        pipes = [pipe for pipe in (process.stdout, process.stderr) if not pipe.closed]
        ready, _, _ = select.select(pipes, [], [], timeout)
        out = b""
        for pipe in ready:
            data = os.read(pipe.fileno(), 1 << 18)
            if not data:
                pipe.close()
            elif pipe is process.stdout:
                out += self._frames.feed(data)
            else:
                out += self._messages(data)
        if process.stdout.closed and process.stderr.closed:
            self._over = True
        if self._frames.text.strip():
            self._say(self._frames.text)
        self._frames.text = b""
        return out

    def _messages(self, data):
        """Lines of the standard error: drops are counted, faults become records, the rest is kept."""
        *lines, self._errors = (self._errors + data).split(b"\n")
        out = b""
        for line in lines:
            item = parse(line + b"\n")
            if item.__class__ is Drop:
                kind = {"dynamic variable": "dynamic"}.get(item.kind, item.kind)
                self._drops[kind if kind in self._drops else "principal"] += item.count
            elif item.__class__ is Fault and item.clause is not None and item.clause < len(self.program.clauses):
                out += self._fault(item)
            else:
                self._say(line)
        return out

    def _fault(self, item):
        self._frames.names.setdefault(item.id, item.probe)
        kind = _FAULTS.get(item.what, p.FAULT_BADADDR)
        return _FAULT_RECORD.pack(p.FAULT_RECORD_SIZE, item.clause | p.RECORD_FAULT, item.id, 0, time.monotonic_ns(), 0, 0,
                                  kind, item.pc, item.address)

    def _say(self, text):
        self._said = [*self._said[-99:], text.decode("utf-8", "replace")]

    def end(self):
        out, self._pending = self._pending, b""
        if self._process and not self._over:
            if self._process.poll() is None and not self._frames.exiting:
                self._signal(signal.SIGINT)
            deadline = time.monotonic() + _END
            while not self._over and time.monotonic() < deadline:
                out += self._read(0.5)
        if self._process and not self._over:
            self._process.kill()
            raise EngineError(f"dtrace did not end within {_END} s")
        if self._process and self._process.wait() != 0 and not self._frames.ended:
            raise EngineError(explain("\n".join(self._said)))
        return out

    def _signal(self, number):
        try:
            os.kill(self._process.pid, number)
        except ProcessLookupError:
            pass

    def close(self):
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.kill()
            process.wait()
        for pipe in (process.stdout, process.stderr):
            pipe.close()

    @property
    def exiting(self):
        return (self._frames.exiting or self._over) and not self._pending

    @property
    def finished(self):
        return bool(self._pids) and not any(_exists(pid) for pid in self._pids)

    def probe(self, ident):
        return self._frames.names[ident]

    def items(self, map_index):
        index = next(i for i, definition in enumerate(self.program.aggregations) if definition.map == map_index)
        return list(self._frames.items[index].items())

    def drops(self):
        return dict(self._drops)


def _exists(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
