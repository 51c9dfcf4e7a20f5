"""The tracing itself: an opened engine in, dtrace's output out, until everything is over.

Ties the engine, the formatter, the output and the signals together, in dtrace's order: BEGIN, the command
starts, records as they come, END, an empty line, the aggregations.  Always: END runs and aggregations print
after exit(), after the end of the targets and after the first Ctrl-C; a second Ctrl-C stops at once.
"""

import errno
import os
import signal
import struct

from ..data import faults
from ..data import program as p
from ..data.harmless import harmless
from ..engine import EngineError
from .actions import Actions
from .speculations import DEFAULT_SIZE, Held

_POLL = 0.1  # s, at most: so long a pause without records may delay drop messages and the command's end

_LAYOUT = ("quiet", "rawbytes", "flowindent")  # options, in the order of Formatter.flags()


class OutputError(Exception):
    """The output can not be written to; the message is one line for the user."""


class Output:
    """Where the text goes: a file descriptor and its name for messages.  What is written is out at once."""

    __slots__ = ("fd", "name", "_first")

    def __init__(self, fd, name):
        self.fd, self.name = fd, name
        self._first = fd, name

    def reopen(self, path):
        """Write to another file from now on (bytes; empty: to the first one); OSError."""
        fd, name = self._first
        if path:
            fd, name = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666), os.fsdecode(path)
        if self.fd != self._first[0]:
            os.close(self.fd)
        self.fd, self.name = fd, name

    def truncate(self):
        """Empty the file, if it is one."""
        try:
            os.ftruncate(self.fd, 0)
            os.lseek(self.fd, 0, os.SEEK_SET)
        except OSError:
            pass

    def write(self, text):
        """Write bytes; BrokenPipeError where the reader is gone, OutputError for other failures."""
        view = memoryview(text)
        try:
            while view:
                view = view[os.write(self.fd, view) :]
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            raise OutputError(f"failed to write to {self.name}: {error.strerror}") from None


class Interrupts:
    """Ctrl-C and SIGTERM while tracing.  count: how many came; newline: the first of them is not yet
    answered with an empty line."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self):
        self.count = 0
        self.newline = False
        self._before = {}

    def __enter__(self):
        for number in self.SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup and background jobs stay so
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *exception):
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number, frame):
        self.newline = self.newline or self.count == 0
        self.count += 1


def lay_out(formatter, options):
    """Tell the formatter what the options say about lines."""
    formatter.flags(*[bool(options.get(name)) for name in _LAYOUT])


class Run:
    """One tracing session.  program: dlang.program.Program; engine: opened; formatter: _tracer.Formatter
    (or what has its methods); output: Output; notify(text, error=True): a line on the standard error,
    error: False where quiet silences it; options: options.Options, or a dict where no setopt() is."""

    def __init__(self, program, engine, formatter, output, notify, options):
        self.program, self.engine, self.formatter = program, engine, formatter
        self.output, self.notify, self.options = output, notify, options
        self.actions = Actions(program, engine, output, notify, options, formatter.another, self._option_changed)
        self.held = Held(options.get("specsize", DEFAULT_SIZE)) if program.speculates else None
        self._drops = {}

    def run(self, command=None):
        """Trace; command: engine.command.Command to start once tracing is on.  Returns the exit status.

        EngineError, OutputError and BrokenPipeError mean that tracing ended early.
        """
        with Interrupts() as interrupts:
            self.engine.begin()
            if self.options.get("destructive"):
                self.notify("allowing destructive actions", error=False)
            if command:  # after an exit() in BEGIN, too: as with dtrace it runs until we end
                self._start(command)
            self._trace(interrupts)
            self._newline()
            if interrupts.count < 2:
                self._print_rest()
        return self.actions.status

    def _start(self, command):
        try:
            command.go()
        except OSError as error:
            raise EngineError(f"failed to start {command.argv[0]}: {error.strerror}") from None

    def _trace(self, interrupts):
        engine = self.engine
        timeout = min(self.options.get("switchrate", 1_000_000_000) / 1e9, _POLL)
        while True:
            if interrupts.newline:
                interrupts.newline = False
                self._newline()
            over = engine.exiting or engine.finished or interrupts.count
            records = engine.end() if over else engine.poll(timeout)
            for text in engine.warnings():
                self.notify(text)
            if interrupts.count < 2:
                self._print(records)
            while over and interrupts.count < 2 and (records := engine.more()):
                self._print(records)
            self._report_drops()
            if over:
                return

    def _newline(self):
        self.output.write(b"\n")

    def _print_rest(self):
        """The aggregations that were not printed yet."""
        self.output.write(self.actions.aggregates.rest())

    def _print(self, records):
        """Print a buffer of records, and do what the formatter leaves to us."""
        formatter = self.formatter
        if self.held:
            records = self.held.sift(records)
        formatter.feed(records)
        while True:
            stop, text, offset, action = formatter.next()
            if text:
                self.output.write(text)
            if stop == formatter.DONE:
                return
            if stop == formatter.PROBE:
                probe = struct.unpack_from("=I", records, offset + p.RECORD_PROBE)[0]
                provider, _, function, name = self.engine.probe(probe)
                formatter.probe(probe, *map(harmless, (provider, function, name)))
            elif stop == formatter.FAULT:
                size = struct.unpack_from("=I", records, offset)[0]
                self._tell_fault(records[offset : offset + size])
            elif stop == formatter.ACTION:
                self._act(records, offset, action)

    def _tell_fault(self, record):
        """dtrace's line, then the place in the source; DTrace's own suite compares, and gets dtrace's alone."""
        line = faults.fault_line(record, self.engine.probe, self.program.clauses)
        place = faults.fault_place(record, self.program.clauses) if self.engine.has_places else ""
        if place and "_DTRACE_TESTING" not in os.environ:
            line += f"\n    at {place}"
        self.notify(line)

    def _act(self, records, offset, index):
        """An action that is not printing.  index: of its clause's actions."""
        size, clause = struct.unpack_from("=II", records, offset)
        self.actions.act(self.program.clauses[clause].actions[index], records[offset : offset + size])

    def _option_changed(self, name):
        """setopt() while tracing."""
        if name in _LAYOUT:
            lay_out(self.formatter, self.options)

    @property
    def lost(self):
        """Something was dropped, or came out of order."""
        return bool(self._drops)

    def _dropped(self, kind, count):
        """So many more were lost; the user is told on the standard error."""

    def _report_drops(self):
        drops = self.engine.drops()
        if self.held:
            drops["speculative"] = drops.get("speculative", 0) + self.held.lost
        for kind, count in drops.items():
            new = count - self._drops.get(kind, 0)
            if new > 0:
                self._drops[kind] = count
                self._dropped(kind, new)
                self.notify(faults.drop_line(kind, new, bool(self.options.get("droptags")), self.engine.cpu))
