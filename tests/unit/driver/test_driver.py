"""The driver with the sink of dtrace's text and pydtrace's signals, on an engine that plays back records."""

import contextlib
import os
import signal
import struct
import time
from types import SimpleNamespace

import pytest

from pydtrace import _tracer
from pydtrace.cli.commands.list_command import NotFound
from pydtrace.cli.pydtrace.signals import InterruptHandler
from pydtrace.dlang.builtins import ACTIONS
from pydtrace.dlang.compile import compile_program
from pydtrace.driver.action_runner import ActionRunner
from pydtrace.driver.driver import Driver
from pydtrace.dtrace_text import runtime_errors
from pydtrace.engine import Engine, EngineError, Targets
from pydtrace.engine.embedded.engine import EmbeddedEngine
from pydtrace.program import d_types as t
from pydtrace.program import program as p
from pydtrace.sinks.dtrace_text_sink import DtraceTextSink
from pydtrace.sinks.output_file import Output, OutputError
from tests.support.formatter.formatter_cases import Aggregate, Case, header


class FakeEngine(Engine):
    """begins: called in begin(); buffers: what poll() returns, one after the other; last: what end() returns."""

    def __init__(self, program, buffers=(), last=b"", aggregations=(), begins=None):
        super().__init__(program, {})
        self.buffers, self.last, self.data = list(buffers), last, dict(aggregations)
        self.calls, self.begins, self.lost = [], begins, {}
        self.matched = [("probe", 1)]
        self.exiting = False

    finished = exiting = False

    def begin(self):
        self.calls.append("begin")
        if self.begins:
            self.begins()

    def poll(self, timeout):
        self.calls.append("poll")
        if len(self.buffers) <= 1:
            self.finished = True
        buffer = self.buffers.pop(0) if self.buffers else b""
        if callable(buffer):
            return buffer() or b""
        return buffer

    def end(self):
        self.calls.append("end")
        return self.last

    def probe(self, ident):
        return ("provider", "module", "function", f"probe-{ident}")

    def items(self, map_index):
        return self.data[map_index]

    def drops(self):
        return self.lost

    def close(self):
        pass


class FakeFormatter:
    """Prints each record as `<clause>`; the records of clause 9 are exit actions of it."""

    DONE, FULL, PROBE, ACTION, FAULT = range(5)

    def __init__(self):
        self.names = {}

    def probe(self, ident, provider, function, name):
        self.names[ident] = (function, name)

    def feed(self, records):
        self.records, self.offset, self.acted = records, 0, False

    def next(self):
        text = b""
        while self.offset < len(self.records):
            size, clause, probe = struct.unpack_from("=3I", self.records, self.offset)
            at = self.offset
            if clause & p.RECORD_FAULT:
                self.offset += size
                return self.FAULT, text, at, 0
            if probe not in self.names:
                return self.PROBE, text, at, 0
            if size > p.RECORD_DATA and not self.acted:
                self.acted = True
                return self.ACTION, text, at, 0
            text += b"<%d>" % clause
            self.offset, self.acted = self.offset + size, False
        return self.DONE, text, self.offset, 0


class FakeCommand:
    def __init__(self, error=None):
        self.argv, self.error, self.started = ["nosuch"], error, False

    def start(self):
        if self.error:
            raise self.error
        self.started = True

    def watch_group(self):
        pass

    def stop(self, user=None):
        pass


class Said(list):
    def __call__(self, message, error=True):
        self.append((message, error))


def exit_program():
    """A program whose clause 0 records nothing and whose clause 1 is exit()."""
    program = p.Program()
    for index in range(2):
        program.clauses.append(p.Clause(index, [], None))
    program.clauses[1].actions = [
        p.Action(ACTIONS["exit"], [p.Data(t.INT, p.RECORD_DATA, 4)], None, [], None)
    ]
    return program


def exit_record(status):
    return header(1, p.RECORD_DATA + 8) + struct.pack("=iI", status, 0)


PLAIN = header(0, p.RECORD_DATA)


@pytest.fixture
def pipe():
    """(Output, function that gives what was written to it)."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    yield Output(writer, "<pipe>"), lambda: os.read(reader, 1 << 16)
    os.close(writer)
    os.close(reader)


def trace(engine, pipe, options=None, command=None):
    """(exit status, text, messages)."""
    said = Said()
    driver = drive(engine, DtraceTextSink(pipe[0], said, FakeFormatter()), options, command)
    return driver.exit_status or 0, pipe[1](), said


def drive(engine, sink, options=None, command=None):
    """Trace as pydtrace does."""
    driver = Driver(options or {}, Targets((), command))
    driver.adopt(engine.program, engine, "it is a test's")
    with contextlib.closing(driver), InterruptHandler(driver) as interrupts:
        driver.begin(sink)
        driver.run(0, interrupts.acknowledge)
    return driver


def test_records_end_and_the_empty_line_come_in_order(pipe):
    engine = FakeEngine(exit_program(), [PLAIN, PLAIN + PLAIN], last=PLAIN)
    assert trace(engine, pipe) == (0, b"<0><0><0><0>\n", [])
    assert engine.calls == ["begin", "poll", "poll", "end"]


def test_the_exit_status_is_the_last_exit_action_s(pipe):
    engine = FakeEngine(exit_program(), [exit_record(3)], last=exit_record(7))
    assert trace(engine, pipe)[0] == 7


def test_the_command_starts_after_an_exit_in_begin_too(pipe):
    engine = FakeEngine(exit_program(), [], last=exit_record(2))
    engine.exiting = True
    command = FakeCommand()
    assert trace(engine, pipe, command=command)[0] == 2
    assert command.started
    assert engine.calls == ["begin", "end"]


def test_a_command_that_does_not_start_is_the_user_s_error(pipe):
    command = FakeCommand(FileNotFoundError(2, "No such file or directory"))
    with pytest.raises(EngineError, match="failed to start nosuch: No such file or directory"):
        trace(FakeEngine(exit_program()), pipe, command=command)


def test_aggregations_print_after_the_empty_line(pipe):
    found = Case(
        "x", [[Aggregate("b", [("int", 2)], "count"), Aggregate("a", [], "sum", -4)]]
    ).aggregations()
    program = exit_program()
    for number, (aggdef, _) in enumerate(found):
        aggdef.map = number
        program.aggregations.append(aggdef)
    engine = FakeEngine(
        program, aggregations=[(number, entries) for number, (_, entries) in enumerate(found)]
    )
    expected = b"\n        2                1\n               -4\n"
    assert trace(engine, pipe)[1] == expected


def interrupt(times, number=signal.SIGINT):
    for _ in range(times):
        os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_interrupt_ends_tracing_as_exit_does(pipe, number):
    before = signal.getsignal(number)
    engine = FakeEngine(exit_program(), [lambda: interrupt(1, number), PLAIN, PLAIN], last=PLAIN)
    assert trace(engine, pipe) == (0, b"\n<0>\n", [])
    assert engine.calls == ["begin", "poll", "end"]
    assert signal.getsignal(number) is before


def interrupt_twice():
    """Further apart than the two signals of timeout(1), which count as one."""
    interrupt(1)
    time.sleep(0.3)
    interrupt(1)


def test_the_second_interrupt_prints_nothing_more(pipe):
    found = Case("x", [[Aggregate("a", [], "count")]]).aggregations()
    found[0][0].map = 0
    program = exit_program()
    program.aggregations = [found[0][0]]
    engine = FakeEngine(program, [interrupt_twice], last=PLAIN, aggregations=[(0, found[0][1])])
    assert trace(engine, pipe) == (0, b"\n\n", [])


def test_ignored_interrupts_stay_ignored(pipe):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        engine = FakeEngine(exit_program(), [lambda: interrupt(1), PLAIN], last=PLAIN)
        assert trace(engine, pipe)[1] == b"<0><0>\n"
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_fault_is_told_and_tracing_goes_on(pipe):
    data = struct.pack("=IIQ", p.FAULT_BADADDR, 12, 0x1F)
    fault = header(4 | p.RECORD_FAULT, p.FAULT_RECORD_SIZE, probe=6) + data
    status, text, said = trace(FakeEngine(exit_program(), [PLAIN + fault + PLAIN]), pipe)
    message = "error in dt_clause_4 for probe ID 6 (provider:module:function:probe-6): invalid address (0x1f) at BPF pc 12"
    assert (status, text, said) == (0, b"<0><0>\n", [(message, True)])


def test_drops_are_told_once(pipe):
    engine = FakeEngine(exit_program(), [])

    def lose(count):
        engine.lost = {"principal": count, "order": 1}

    engine.buffers = [lambda: lose(2), lambda: lose(2), lambda: lose(3)]
    assert [message for message, _ in trace(engine, pipe)[2]] == [
        "2 drops",
        "1 event out of order",
        "1 drop",
        "3 drops in all: aggregate (@ = count()), name fewer probes, or raise -b",
    ]


def test_speculations_lost_by_the_engine_and_by_us_are_added(pipe):
    program = exit_program()
    program.speculates = True
    record = header(0 | p.RECORD_SPECULATIVE, p.RECORD_DATA + 8) + struct.pack("=II", 1, 0)
    engine = FakeEngine(program, [record, record])
    engine.lost = {"speculative": 5}
    assert [message for message, _ in trace(engine, pipe, {"specsize": 40})[2]] == [
        "5 speculative drops",
        "1 speculative drop",
        "6 speculative drops in all: raise -x specsize or -x nspec",
    ]


def test_what_has_no_room_is_refused_before_begin(pipe):
    program = exit_program()
    program.clauses[1].record_size = p.RECORD_DATA + 8
    program.options["bufsize"] = 8
    engine = FakeEngine(program)
    with pytest.raises(
        EngineError, match="could not enable tracing: Enabling exceeds size of buffer"
    ):
        trace(engine, pipe)
    assert engine.calls == []


@pytest.mark.parametrize("error", [OSError("of the sink"), EngineError("of the engine")])
def test_close_closes_all_whatever_fails(error):
    closed = []
    driver = Driver(
        {},
        Targets(
            (),
            SimpleNamespace(
                watch_group=lambda: None,
                stop=lambda user=None: closed.append("command"),
                start=lambda: None,
            ),
        ),
    )

    def fail():
        closed.append("failed")
        raise error

    engine = FakeEngine(exit_program())
    sink = DtraceTextSink(None, Said(), FakeFormatter())
    sink.close, engine.close = (
        (fail, lambda: closed.append("engine"))
        if isinstance(error, OSError)
        else (lambda: closed.append("sink"), fail)
    )
    driver.adopt(engine.program, engine, "")
    driver.begin(sink)
    with pytest.raises(type(error)):
        driver.close()
    assert closed == (
        ["failed", "engine", "command"]
        if isinstance(error, OSError)
        else ["sink", "failed", "command"]
    )
    driver.close()
    assert closed[3:] == ["command"]


def test_drops_with_tags():
    assert (
        runtime_errors.format_drops("aggregation", 5, tags=True)
        == "[DTRACEDROP_AGGREGATION] 5 aggregation drops"
    )
    assert runtime_errors.format_drops("dynamic", 1) == "1 dynamic variable drop"


def test_division_by_zero_is_dtrace_s_line():
    record = header(0 | p.RECORD_FAULT, p.FAULT_RECORD_SIZE) + struct.pack(
        "=IIQ", p.FAULT_DIVZERO, 216, 0
    )
    line = runtime_errors.format_error(record, lambda ident: ("dtrace", "", "", "BEGIN"))
    assert (
        line == "error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): divide-by-zero at BPF pc 216"
    )


def told(records, places=True):
    """What a Teller says of faults of a program with an absent string: [(text, count)]."""
    said, program = [], compile_program("BEGIN { trace(copyinstr(arg1)); trace(1 / arg2); }")
    teller = runtime_errors.ErrorReporter(
        program, lambda ident: ("dtrace", "", "", "BEGIN"), lambda *what: said.append(what), places
    )
    for record in records:
        teller.report_error(record)
    teller.report_counts()
    teller.report_counts()
    return said


def fault(kind, pc, value=0):
    return header(0 | p.RECORD_FAULT, p.FAULT_RECORD_SIZE) + struct.pack("=IIQ", kind, pc, value)


def test_the_same_fault_is_told_a_few_times_and_then_counted(monkeypatch):
    absent = [fault(p.FAULT_BADADDR, 20)] * 1000
    line = (
        "error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0) at BPF pc 20"
    )
    said = told(absent)
    assert (said[0], said[1]) == (
        (
            f'{line}\n    at -n:1:9\n    hint: a string that is absent is NULL: arg1 ? copyinstr(arg1) : ""',
            0,
        ),
        (f"{line}\n    at -n:1:9", 0),
    )
    assert [count for _, count in said] == [0, 0, 0, 997] and said[-1][0] == f"997 more of: {line}"
    monkeypatch.setenv("_DTRACE_TESTING", "1")
    assert told(absent) == [(line, 0)] * 1000


def test_each_fault_of_a_clause_is_counted_by_itself():
    said = told(
        [fault(p.FAULT_BADADDR, 20, 7), fault(p.FAULT_DIVZERO, 20), fault(p.FAULT_DIVZERO, 21)] * 5,
        places=False,
    )
    assert [count for _, count in said] == [0] * 9 + [2] * 3
    assert not any("\n    at " in text or "hint" in text for text, _ in said)


def test_notices_are_silenced_by_quiet_alone(pipe):
    assert trace(FakeEngine(exit_program()), pipe, {"destructive": True})[2] == [
        ("allowing destructive actions", False)
    ]


def test_a_reader_that_is_gone_ends_the_run():
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        trace(FakeEngine(exit_program()), (Output(writer, "<pipe>"), None))
    os.close(writer)


def test_a_full_disk_is_told_with_the_file_s_name():
    fd = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(OutputError, match="failed to write to x.txt: No space left on device"):
        trace(FakeEngine(exit_program()), (Output(fd, "x.txt"), None))
    os.close(fd)


def test_names_of_probes_can_not_command_the_terminal(pipe):
    names = ("pro\x1bvider", "", "func\ntion", "na\x9bme")
    engine = FakeEngine(exit_program(), [PLAIN])
    engine.probe = lambda ident: names
    formatter = FakeFormatter()
    drive(engine, DtraceTextSink(pipe[0], Said(), formatter))
    assert list(formatter.names.values()) == [(r"func\ntion", r"na\x9bme")]
    record = struct.pack("=IIIIQIIIIQ", 48, p.RECORD_FAULT, 7, 0, 0, 0, 0, p.FAULT_DIVZERO, 0, 0)
    assert r"(pro\x1bvider::func\ntion:na\x9bme)" in runtime_errors.format_error(
        record, lambda ident: names
    )


# --- strangers' words ---------------------------------------------------------------

EVIL, SHOWN = "evil\x1b[2J\nname", r"evil\x1b[2J\nname"


def test_what_engines_tell_obeys_nobody(pipe):
    """A name with an escape sequence or a new line in it is shown, not done."""
    engine = FakeEngine(exit_program(), [exit_record(0)])
    engine.warnings = lambda: [f"no probe on {EVIL}"]
    assert trace(engine, pipe)[2][0] == (f"no probe on {SHOWN}", True)
    assert str(EngineError(f"failed to attach in /{EVIL}")) == f"failed to attach in /{SHOWN}"


def test_what_the_core_tells_obeys_nobody(tmp_path):
    """Paths in its messages are where a process says that its files are; who passes them on escapes them."""
    with pytest.raises(OSError) as raised:
        _tracer.list_probes(str(tmp_path / EVIL))
    for told in (
        EmbeddedEngine._explain_error(None, raised.value),
        NotFound(raised.value.strerror),
    ):
        assert SHOWN in str(told) and "\x1b" not in str(told)


def test_what_actions_complain_of_obeys_nobody(pipe):
    said = Said()
    engine = FakeEngine(exit_program())
    engine.probe = lambda ident: ("provider", "module", EVIL, "name")
    ActionRunner(
        engine.program, engine, DtraceTextSink(pipe[0], said, FakeFormatter()), {}
    ).report_error(PLAIN, "why")
    assert said == [
        (f"error in dt_clause_0 for probe ID 1 (provider:module:{SHOWN}:name): why", True)
    ]
