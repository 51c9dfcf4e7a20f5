"""The dtrace engine beside a dtrace of our own making: what is run, what is read, what is told when it can not."""

import stat

import pytest

import pyusdt
from pyusdt.consumer.records import arguments
from pyusdt.engine.dtrace_frames import unescape
from pyusdt.engine.dtrace_script import rewrite

TRACER = "pyusdt*:::user_trace-i4s4"


@pytest.fixture
def dtrace(tmp_path, monkeypatch):
    """dtrace(out, err, status): from now on dtrace(1) is a program that prints this and ends."""

    def make(out=b"", err="", status=0):
        (tmp_path / "out").write_bytes(out)
        (tmp_path / "err").write_text(err)
        path = tmp_path / "dtrace"
        path.write_text(f"#!/bin/sh\ncat {tmp_path}/out; cat {tmp_path}/err >&2; exit {status}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PYUSDT_DTRACE", str(path))

    return make


def trace(script, **more):
    return pyusdt.trace(script, all=True, engine="dtrace", **more)


def failure(script="BEGIN { trace(1); }"):
    with pytest.raises(pyusdt.EngineError) as caught, trace(script):
        pass
    return str(caught.value)


@pytest.mark.parametrize("said, told", [
    ("dtrace: failed to initialize dtrace: DTrace requires additional privileges", "run as root"),
    ("sudo: a password is required", "sudo -v"),
    ("dtrace: system integrity protection is on, some features will not be available", "csrutil enable --without dtrace"),
    ("dtrace: invalid probe specifier x: probe description ::: does not match any probes", "does not match any probes"),
])
def test_why_dtrace_does_not_run(dtrace, said, told):
    dtrace(err=said + "\n", status=1)
    assert told in failure()


def test_where_there_is_no_dtrace(monkeypatch, tmp_path):
    monkeypatch.setenv("PYUSDT_DTRACE", str(tmp_path / "nothing"))
    assert "No such file" in failure()
    monkeypatch.delenv("PYUSDT_DTRACE")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("pyusdt.engine.dtrace._PLACES", ())
    assert "no dtrace(1) on this machine" in failure()
    (tmp_path / "dtrace").write_text("#!/usr/bin/python3\n")
    (tmp_path / "dtrace").chmod(0o755)
    assert "SystemTap" in failure()


def frame(*fields):
    return b"\1" + b"\3".join(field if isinstance(field, bytes) else str(field).encode() for field in fields) + b"\4"


def record(*values):
    return frame("R0", 1, 0, 123, 4, 5, "dtrace", "", "", "BEGIN", *values)


def test_frames_become_records(dtrace):
    dtrace(record(b"0\0057", rb"1" + b"\5" + rb"a\\\n\0") + frame("B") + frame("E"))
    with trace('BEGIN { trace(1); trace("x\\ny"); }') as t:
        records = list(t)
    assert [(rec.values, rec.time, rec.pid, rec.tid, rec.probe.name) for rec in records] == [
        ((7, "a\\\n"), 123, 4, 5, "BEGIN")]


def test_damaged_frames_do_no_harm(dtrace):
    dtrace(b"noise" + frame("R99", 1) + frame("Zwhat") + frame("B") + record(b"0\0055") + frame("E") + b"\1R0\3unfinished")
    with trace("BEGIN { trace(1); }") as t:
        assert [rec.values for rec in t] == [(5,)]


def test_drops_and_faults_come_from_the_messages(dtrace):
    dtrace(frame("B") + frame("E"), """dtrace: 12 drops on CPU 0
dtrace: 3 aggregation drops on CPU 1
dtrace: error on enabled probe ID 1 (ID 1: dtrace:::BEGIN): invalid address (0x10) in action #1 at DIF offset 4
""")
    with pytest.warns(pyusdt.TraceWarning), trace("BEGIN { trace(1); }") as t:
        assert list(t) == []
    assert (t.drops["principal"], t.drops["aggregation"]) == (12, 3)
    assert "invalid address (0x10)" in t.faults[0]


def test_no_string_can_forge_a_record():
    """%S escapes what frames are made of, and itself."""
    assert unescape(rb"a\001R0\003b\004\\c\0") == b"a\x01R0\x03b\x04\\c"
    assert unescape(rb"\303\266\n\t\"") == 'ö\n\t"'.encode()


def rewritten(script, pids=()):
    from pyusdt.dlang.compile import compile_program

    return rewrite(compile_program(script), pids)[0]


def test_what_the_user_wrote_stays():
    text = rewritten(TRACER + ' /arg2 > 1 && copyinstr(arg6) != "{"/ { x = 1; @[arg2] = count(); printf("%d}", arg2); }')
    assert '/arg2 > 1 && copyinstr(arg6) != "{"/ { printf(' in text
    assert "x = 1; @[arg2] = count(); printf(" in text
    assert text.count("{") == 2 and text.endswith(r' ; printf("\004"); }')


@pytest.mark.parametrize("script", [TRACER, TRACER + " { }", TRACER + " /arg2/ { }"])
def test_the_default_action_is_recorded(script):
    assert rewritten(script).rstrip().endswith(r'printf("\004"); }')


def test_clauses_that_record_nothing_are_left_alone():
    assert rewritten("BEGIN { n = 1; @ = count(); }") == ":::BEGIN { n = 1; @ = count(); }"


def test_providers_stand_for_the_processes_asked_for():
    assert rewritten("pyusdt*:::x,b*:m:f:y { n = 1; }", (12, 7)).startswith("pyusdt12:::x,pyusdt7:::x,b12:m:f:y,b7:m:f:y {")


def test_arguments_of_calls():
    assert arguments('printf("a,b(%d)", f(x, "),\\""), y[1, 2])') == ['"a,b(%d)"', 'f(x, "),\\"")', "y[1, 2]"]
    assert arguments("trace(a)") == ["a"]


def test_commands_are_refused(dtrace):
    dtrace()
    with pytest.raises(pyusdt.EngineError, match="does not start commands"), pyusdt.trace(
        "BEGIN { }", cmd=["true"], engine="dtrace"):
        pass


def test_what_can_not_be_rewritten_is_refused(dtrace):
    dtrace()
    assert "printa() yet" in failure("BEGIN { @ = count(); printa(@); }")
