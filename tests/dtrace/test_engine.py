"""The dtrace engine beside a dtrace of our own making: what is run, what is read, what is told when it can not."""

import os
import re
import stat
import struct
import subprocess
import sys
import time

import pytest

import pyusdt
from pydtrace.driver.address_symbolizer import AddressSymbolizer
from pydtrace.engine.dtrace.framing import unescape
from pydtrace.engine.dtrace.script_rewriter import rewrite_script
from pydtrace.process.identity import is_alive
from pydtrace.results.aggregation_values import MergeError
from pydtrace.results.aggregations import Aggregation
from pydtrace.results.records import Decoder, split_arguments
from pydtrace.untrusted.terminal_escape import escape_for_terminal
from tests.support.dtrace_frames import frame, frames_of

TRACER = "pyusdt*:::user_trace-i4s4"


@pytest.fixture
def dtrace(tmp_path, monkeypatch):
    """dtrace(out, err, status): from now on dtrace(1) is a program that prints this and ends."""

    def make(out=b"", err="", status=0, command=""):
        (tmp_path / "out").write_bytes(out)
        (tmp_path / "err").write_text(err)
        path = tmp_path / "dtrace"
        # -o FILE: the output goes there, and what `command` prints is the command's
        path.write_text(f"""#!/bin/sh
echo "$@" >{tmp_path}/arguments
to=/dev/stdout
while [ $# -gt 0 ]; do [ "$1" = -o ] && to=$2; shift; done
exec 3>"$to"
cat {tmp_path}/out >&3; cat {tmp_path}/err >&2
{command}
exit {status}
""")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PYUSDT_DTRACE", str(path))

    return make


def trace(script, **more):
    return pyusdt.trace(script, all=True, engine="dtrace", **more)


def failure(script="BEGIN { trace(1); }"):
    with pytest.raises(pyusdt.EngineError) as caught, trace(script):
        pass
    return str(caught.value)


@pytest.mark.parametrize(
    "said, told",
    [
        (
            "dtrace: failed to initialize dtrace: DTrace requires additional privileges",
            "run as root",
        ),
        ("sudo: a password is required", "sudo -v"),
        (
            "dtrace: system integrity protection is on, some features will not be available",
            "csrutil enable --without dtrace",
        ),
        (
            "dtrace: failed to execute /bin/ls: dtrace cannot control executables signed with restricted entitlements",
            "csrutil",
        ),
        (
            "dtrace: invalid probe specifier x: probe description ::: does not match any probes",
            "does not match any probes",
        ),
    ],
)
def test_why_dtrace_does_not_run(dtrace, said, told):
    dtrace(err=said + "\n", status=1)
    assert told in failure()


def test_where_there_is_no_dtrace(monkeypatch, tmp_path):
    monkeypatch.setenv("PYUSDT_DTRACE", str(tmp_path / "nothing"))
    assert "No such file" in failure()
    monkeypatch.delenv("PYUSDT_DTRACE")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("pydtrace.engine.dtrace.engine._FOLDERS", ())
    assert "no dtrace(1) on this machine" in failure()


def test_systemtaps_dtrace_is_none(monkeypatch, tmp_path):
    """SystemTap's program of that name makes headers.  It stands in /usr/bin, before the real one, which may be in /usr/sbin."""
    for folder, first in (
        ("bin", "#!/usr/bin/python3"),
        ("sbin", "#!/bin/sh\necho this is the real one >&2\nexit 1"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "dtrace").write_text(first + "\n")
        (tmp_path / folder / "dtrace").chmod(0o755)
    monkeypatch.delenv("PYUSDT_DTRACE", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{tmp_path}/sbin")
    assert "this is the real one" in failure()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    monkeypatch.setattr("pydtrace.engine.dtrace.engine._FOLDERS", ())
    assert f"{tmp_path}/bin/dtrace is SystemTap's" in failure()
    monkeypatch.setattr("pydtrace.engine.dtrace.engine._FOLDERS", (f"{tmp_path}/sbin",))
    assert "this is the real one" in failure()


@pytest.mark.parametrize("system", ["darwin", "freebsd14", "sunos5"])
def test_it_is_chosen_where_no_linux_is_and_no_pyusdt(dtrace, monkeypatch, system):
    """A process without pyusdt is dtrace's, one with it the embedded engine's; where no dtrace is either, both reasons are told."""
    dtrace(frame("B") + frame("E"))
    monkeypatch.setattr("pydtrace.select_engine.sys.platform", system)
    process = subprocess.Popen(["sleep", "60"])
    try:
        with pyusdt.trace(
            "BEGIN { n = 1; } proc:::exec { n = 2; }", pid=process.pid, zdefs=True
        ) as t:
            assert (t.engine, t.engine_reason) == (
                "dtrace",
                f"process {process.pid} has no pyusdt in it",
            )
        monkeypatch.delenv("PYUSDT_DTRACE")
        monkeypatch.setattr("pydtrace.engine.dtrace.engine._FOLDERS", ())
        monkeypatch.setenv("PATH", "/nowhere")
        with (
            pytest.raises(
                pyusdt.EngineError, match=r"has no pyusdt in it, and there is no dtrace\(1\)"
            ),
            pyusdt.trace("proc:::exec { n = 2; }", pid=process.pid, zdefs=True),
        ):
            pass
    finally:
        process.kill()
        process.wait()
    with pyusdt.trace(TRACER + " { trace(arg2); }", pid=os.getpid()) as t:
        assert t.engine == "embedded"


def record(*values):
    return frame("R0", 1, 0, 123, 4, 5, "dtrace", "", "", "BEGIN", *values)


def test_frames_become_records(dtrace):
    dtrace(record(b"0\0057", rb"1" + b"\5" + rb"a\\\n\0") + frame("B") + frame("E"))
    with trace('BEGIN { trace(1); trace("x\\ny"); }') as t:
        records = list(t)
    assert [(rec.values, rec.time, rec.pid, rec.tid, rec.probe.name) for rec in records] == [
        ((7, "a\\\n"), 123, 4, 5, "BEGIN")
    ]


def test_damaged_frames_do_no_harm(dtrace):
    dtrace(
        b"noise"
        + frame("R99", 1)
        + frame("Zwhat")
        + frame("B")
        + record(b"0\0055")
        + frame("E")
        + b"\1R0\3unfinished"
    )
    with (
        pytest.warns(pyusdt.TraceWarning, match="damaged in dtrace's output, and lost: 2 records"),
        trace("BEGIN { trace(1); }") as t,
    ):
        assert [rec.values for rec in t] == [(5,)]


def test_what_can_not_be_a_fault_is_only_said(dtrace):
    dtrace(
        frame("B7") + frame("E"),
        """dtrace: error on enabled probe ID 0 (ID 1: dtrace:::BEGIN): invalid address (0x10) in action #1
dtrace: error on enabled probe ID 99 (ID 1: dtrace:::BEGIN): invalid address (0x10) in action #1
dtrace: error on enabled probe ID 1 (ID 4294967296: dtrace:::BEGIN): invalid address (0x10) in action #1
dtrace: error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): divide-by-zero at BPF pc 99999999999
dtrace: error in dt_clause_0 for probe ID 1 (BEGIN): divide-by-zero
dtrace: error on enabled probe ID 1 (ID 1: dtrace:::BEGIN): invalid address (0x%s) in action #1
"""
        % ("f" * 40),
    )
    with pytest.warns(pyusdt.TraceWarning), trace("BEGIN { trace(1); }") as t:
        assert t.wait(20)
    assert [text.partition(" (")[0] for text in t.faults] == ["error in dt_clause_0 for probe ID 1"]


def test_drops_and_faults_come_from_the_messages(dtrace):
    dtrace(
        frame("B") + frame("E"),
        """dtrace: 12 drops on CPU 0
dtrace: 3 aggregation drops on CPU 1
dtrace: error on enabled probe ID 1 (ID 1: dtrace:::BEGIN): invalid address (0x10) in action #1 at DIF offset 4
""",
    )
    with pytest.warns(pyusdt.TraceWarning), trace("BEGIN { trace(1); }") as t:
        assert list(t) == []
    assert (t.drops["principal"], t.drops["aggregation"]) == (12, 3)
    assert "invalid address (0x10)" in t.faults[0]


def test_no_string_can_forge_a_record():
    """%S escapes what frames are made of, and itself."""
    assert unescape(rb"a\001R0\003b\004\\c\0") == b"a\x01R0\x03b\x04\\c"
    assert unescape(rb"\303\266\n\t\"") == 'ö\n\t"'.encode()


def rewritten(script, pids=()):
    from pydtrace.dlang.compile import compile_program

    return rewrite_script(compile_program(script), pids)[0]


def test_what_the_user_wrote_stays():
    text = rewritten(
        TRACER
        + ' /arg2 > 1 && copyinstr(arg6) != "{"/ { x = 1; @[arg2] = count(); printf("%d}", arg2); }'
    )
    assert '/arg2 > 1 && copyinstr(arg6) != "{"/ { x = 1; @[arg2] = count(); ' in text
    assert text.count("{") == 2 and text.endswith(r' ; printf("\004"); }')


@pytest.mark.parametrize("script", [TRACER, TRACER + " { }", TRACER + " /arg2/ { }"])
def test_the_default_action_is_recorded(script):
    assert rewritten(script).rstrip().endswith(r'printf("\004"); }')


def test_clauses_that_record_nothing_are_left_alone():
    assert rewritten("BEGIN { n = 1; @ = count(); }") == ":::BEGIN { n = 1; @ = count(); }"


def test_providers_stand_for_the_processes_asked_for():
    assert rewritten("pyusdt*:::x,b*:m:f:y { n = 1; }", (12, 7)).startswith(
        "pyusdt12:::x,pyusdt7:::x,b12:m:f:y,b7:m:f:y {"
    )


def test_arguments_of_calls():
    assert split_arguments('printf("a,b(%d)", f(x, "),\\""), y[1, 2])') == [
        '"a,b(%d)"',
        'f(x, "),\\"")',
        "y[1, 2]",
    ]
    assert split_arguments("trace(a)") == ["a"]


def test_actions_on_aggregations_are_ours_too():
    """The snapshot and the record's head come before the first action; dtrace clears and truncates as well, normalizes not."""
    text = rewritten(
        'BEGIN { n = 3; @a[1] = count(); trunc(@a, n); normalize(@a, 2); printa("%@d", @a); clear(@a); }'
    )
    assert text.startswith(
        r':::BEGIN { n = 3; @a[1] = count(); printf("\001S0\004"); printa("\001A0\003%d\006%@d\004", @a); printf("\001T0\004"); printf("\001R%d'
    )
    body = text[text.index(r'printf("\0030') :]
    assert body == (
        r'printf("\0030\005%d", (n)); trunc(@a, n); printf("\0031\005%d", (2)); printf("\0032"); printf("\0033"); clear(@a);  ; '
        r'printf("\004"); }'
    )


def test_nothing_is_said_before_a_speculate():
    assert rewritten(
        "self int s; BEGIN { self->s = speculation(); } BEGIN { speculate(self->s); trace(5); } BEGIN { commit(self->s); }"
    ) == (
        "self int s; :::BEGIN { self->s = speculation(); } :::BEGIN { speculate(self->s); "
        + r' printf("\001R1\003%d\003%d\003%d\003%d\003%d\003%S\003%S\003%S\003%S", 1, id, cpu, timestamp, pid, tid, probeprov, probemod, '
        r'probefunc, probename); printf("\0030\005%d", (5));  ; printf("\004"); } :::BEGIN { commit(self->s); }'
    ).replace("R1", "R%d")


def test_exit_is_what_comes_last():
    """What stands after exit() in a clause is done, too; the status is in the record."""
    assert rewritten("BEGIN { exit(3); trace(4); }").endswith(
        r'printf("\0030\005%d", (3)); printf("\0031\005%d", (4));  ; printf("\004"); exit(0); }'
    )


def snapshot(index, **rows):
    return (
        frame(f"S{index}")
        + b"".join(frame(f"A{index}", key + "\\0")[:-1] + b"\6%d\4" % n for key, n in rows.items())
        + frame(f"T{index}")
    )


def event(clause, probe, *actions):
    return frame(f"R{clause}", 1, 0, 123, 4, 5, "dtrace", "", "", probe, *actions)


def test_each_action_sees_the_aggregation_as_it_was(dtrace):
    script = r"""BEGIN { @a["x"] = count(); printa("%s %@d\n", @a); } END { trunc(@a, 1); printa("%s %@d;", @a); clear(@a); }
        END { printa("%s is %@d\n", @a); }"""
    dtrace(
        snapshot(0, x=1)
        + event(0, "BEGIN", "0")
        + frame("B")
        + snapshot(0, x=9, y=2, z=1)
        + event(1, "END", b"0\0051", "1", "2")
        + snapshot(0, x=0)
        + event(2, "END", "0")
        + snapshot(0, x=0)
        + frame("E")
    )
    with trace(script) as t:
        t.wait(20)
    assert t.printed == ["x 1\n", "x 9;", "x is 0\n"]
    assert dict(t.aggregations["a"]) == {("x",): 0}


def test_normalized_values_are_printed_so_and_kept_whole(dtrace):
    dtrace(
        frame("B")
        + snapshot(0, x=90)
        + event(0, "END", b"0\00510", "1")
        + snapshot(0, x=90)
        + frame("E")
    )
    with trace('END { @a["x"] = count(); normalize(@a, 10); printa("%@d\\n", @a); }') as t:
        pass
    assert t.printed == ["9\n"]
    assert t.aggregations["a"]["x"] == 90


def test_averages_of_dtrace_are_not_merged(dtrace):
    """Their weights are not known; everything else is exact."""

    def value(index, text):
        return frame(f"S{index}") + f"\1A{index}\6{text}\4".encode() + frame(f"T{index}")

    dtrace(frame("B") + value(0, "-7") + value(1, "5") + value(2, "12") + frame("E"))
    with trace("BEGIN { @a = avg(1); @d = stddev(1); @s = sum(1); }") as t:
        pass
    found = {name: aggregation.value for name, aggregation in t.aggregations.items()}
    assert found == {"a": -7, "d": 5, "s": 12}
    assert t.aggregations["a"].text().split() == ["-7"]
    assert found["a"].mean == -7.0
    assert found["s"].merge(found["s"]) == 24
    for name in "ad":
        with pytest.raises(MergeError, match="dtrace prints its value"):
            found[name].merge(found[name])


def test_actions_that_do_something_are_done_here(dtrace, tmp_path):
    """system() gets the recorded values; freopen() has nothing to do in the API, and says so."""
    dtrace(frame("B") + event(0, "BEGIN", b"0\00542", "1", b"2\0057") + frame("E"))
    with (
        pytest.warns(pyusdt.TraceWarning, match="no output file"),
        trace(
            f'BEGIN {{ n = 42; system("echo n=%d >{tmp_path}/said", n); freopen("x"); trace(7); }}',
            destructive=True,
        ) as t,
    ):
        records = list(t)
    assert (tmp_path / "said").read_text() == "n=42\n"
    assert [record.values for record in records] == [(7,)]


@pytest.mark.parametrize(
    "script, told",
    [
        (
            "BEGIN { @a[usym(arg0), ustack(1)] = count(); }",
            "names of addresses as keys beside integers, strings and other names only: @a",
        ),
        ('BEGIN { @a[usym(arg0), /* , */ "x"] = count(); }', "is there a comment"),
    ],
)
def test_what_can_not_be_said_exactly_is_refused(dtrace, script, told):
    dtrace()
    with pytest.raises(pyusdt.EngineError, match=told), trace(script):
        pass


def test_functions_of_pyusdts_own_are_refused(dtrace):
    dtrace()
    with (
        pytest.raises(pyusdt.EngineError, match=r"does not have percentiles\(\): @a"),
        trace("BEGIN { @a = percentiles(1); }", pyusdt=True),
    ):
        pass


@pytest.mark.parametrize(
    "script, said",
    [
        ("BEGIN { ustack(3); }", r'printf("\0030\005\002M"); ustack(3); printf("\002M");'),
        ("BEGIN { usym(9); }", r'printf("\0030\005\002M"); usym(9); printf("\002M");'),
        (
            "BEGIN { tracemem(alloca(8), 8, 4); }",
            r'printf("\0030\005\002M"); tracemem(alloca(8), 8, 4); printf("\002M");',
        ),
        (
            "struct q { int a, b, c; }; BEGIN { trace(*(struct q *)alloca(12)); }",
            r'printf("\0030\005\002M"); trace(*(struct q *)alloca(12)); printf("\002M");',
        ),
        (
            "struct q { int a, b, c; }; BEGIN { this->p = (struct q *)alloca(12); print(this->p); }",
            r'printf("\0030\005%u\005\002M", (uint64_t)(this->p)); trace(*(this->p)); printf("\002M");',
        ),
        (
            "BEGIN { this->p = (int *)alloca(4); print(this->p); }",
            r'printf("\0030\005%u\005%d", (uint64_t)(this->p), (*(this->p)));',
        ),
    ],
)
def test_what_dtrace_shows_stands_between_marks(script, said):
    from pydtrace.dlang.compile import compile_program

    assert said in rewrite_script(compile_program(script), (), mark="M")[0]


HEAD = b"\1R0\0031\0030\003123\0034\0035\003dtrace\3\3\3BEGIN"


def test_no_name_can_forge_a_record():
    """A symbol is called what its file says: it may hold all that frames are made of; and it may come byte by byte."""
    frames, mark = frames_of("BEGIN { ustack(4); trace(7); }")
    forged = b"lib`f\4\1R0\3x\0050\x05666\4\\\2"
    data = (
        HEAD
        + b"\0030\5"
        + mark
        + b"\n    a`main+0x1\n    "
        + forged
        + b"\n"
        + mark
        + b"\0031\0057\4after"
    )
    for size in (1, 7, len(data)):
        frames, mark = frames_of("BEGIN { ustack(4); trace(7); }")
        records = b"".join(frames.feed(data[i : i + size]) for i in range(0, len(data), size))
        found = Decoder(
            frames._program,
            frames.names.get,
            pytest.fail,
            pytest.fail,
            AddressSymbolizer(name_of=lambda _, word, names=frames.display_names: names.name(word)),
        ).decode(records)
        assert [record.values for record in found] == [
            (("a`main+0x1", escape_for_terminal(forged.decode())), 7)
        ]
        assert frames.text == b"after"


@pytest.mark.parametrize("key", [b"", b"a`f+0x1\nb`g+0x2"])
def test_a_symbol_that_is_none_or_several_is_text(key):
    """Damaged output is handed over as text, and what follows is read."""
    frames, mark = frames_of("BEGIN { @[usym(1)] = count(); trace(7); }")
    damaged = frame("S0") + b"\1A0\3" + mark + b"\n" + key + b"\n" + mark + b"\0067\4"
    records = frames.feed(damaged + HEAD + b"\0030\0057\4")
    assert len(records) == frames._program.clauses[0].record_size
    assert frames.text and not any(frames.items)


def test_bytes_come_out_of_dtraces_tables():
    script = """struct q { char c[20]; }; struct r { int a, b; };
        BEGIN { tracemem(alloca(20), 20, 17); trace(*(struct q *)alloca(20)); trace(*(struct r *)alloca(8)); print((struct r *)alloca(8)); }"""
    frames, mark = frames_of(script)
    table = (
        b"\n" + 11 * b" " + b"  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f  0123456789abcdef\n"
    )
    first = (
        b"         0:"
        + b"".join(b" %02x" % byte for byte in range(48, 64))
        + b"  0123456789:;<=>?\n"
    )
    number = struct.pack("=ii", -1, 2)
    data = (
        HEAD
        + b"".join(
            b"\3%d\5" % i + said
            for i, said in enumerate(
                [
                    mark + table + first + b"        10: 40" + 46 * b" " + b"@\n" + mark,
                    mark
                    + table
                    + first
                    + b"        10: 40 00 ff 0a"
                    + 37 * b" "
                    + b"@...\n"
                    + mark,
                    mark + b"  %d" % int.from_bytes(number, sys.byteorder) + mark,
                    b"4096\5" + mark + b"  5" + mark,
                ]
            )
        )
        + b"\4"
    )
    records = frames.feed(data)
    (found,) = Decoder(
        frames._program, frames.names.get, pytest.fail, pytest.fail, AddressSymbolizer()
    ).decode(records)
    digits = bytes(range(48, 65))
    assert found.values == (
        digits,
        digits + b"\0\xff\n",
        number,
        {"a": 5, "b": 0} if sys.byteorder == "little" else {"a": 0, "b": 5},
    )


def test_keys_that_are_names(dtrace):
    """Stacks are said by %k, names of addresses by dtrace's own table: there is no other way."""
    from pydtrace.dlang.compile import compile_program

    script = (
        "BEGIN { @s[ustack(2), 3] = sum(1); @u[usym(1), 2] = quantize(3); @m[umod(1)] = avg(3); }"
    )
    trailer = rewrite_script(compile_program(script), (), mark="M")[1]
    assert r'printa("\001A0\003\002M%k\002M\003%d\006%@d\004", @s)' in trailer
    assert r'printf("\001P1\003\002M"); printa(@u); printf("\002M\004");' in trailer
    frames, mark = frames_of(script)
    row = b"  %-50s %16d" % (b"lib.so`f", -7)
    frames.feed(
        frame("S0")
        + b"\1A0\3"
        + mark
        + b"\nlib.so`f+0x1\nlib.so`g\n"
        + mark
        + b"\0033\00642\4"
        + frame("T0")
        + frame("S1")
        + b"\1P1\3"
        + mark
        + b"\n"
        + row
        + b"\n           value  ------------- Distribution ------------- count    \n"
        b"               1 |                                         0        \n"
        b"               2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 5        \n"
        b"               4 |                                         0        \n\n"
        + mark
        + b"\4"
        + frame("T1")
        + frame("S2")
        + b"\1P2\3"
        + mark
        + b"\n  %-50s %16d\n" % (b"lib.so", -3)
        + mark
        + b"\4"
        + frame("T2")
    )
    found = [
        Aggregation.from_items(
            definition,
            items.items(),
            256,
            AddressSymbolizer(name_of=lambda _, word, names=frames.display_names: names.name(word)),
        )
        for definition, items in zip(frames._program.aggregations, frames.items)
    ]
    assert dict(found[0]) == {(("lib.so`f+0x1", "lib.so`g"), 3): 42}
    assert [(key, value.buckets) for key, value in found[1].items()] == [
        (("lib.so`f", -7), [(2, 3, 5)])
    ]
    assert dict(found[2]) == {("lib.so",): -3}


def test_strings_beside_names_come_first_and_exactly():
    """dtrace's table pads strings, and shows as bytes what is no text: what they are, a format says, row by row."""
    from pydtrace.dlang.compile import compile_program

    script = """BEGIN { printf("@a[usym(1), 2]"); @a[usym(1), f[1, "]"], 2, strjoin("b, ]", "")] = sum(1); @q[umod(1), "x"] = quantize(3); }"""
    text, trailer = rewrite_script(
        compile_program("string f[int, string]; " + script), (), mark="M"
    )
    assert (
        """@a[f[1, "]"], strjoin("b, ]", ""), usym(1), 2] = sum(1); @q["x", umod(1)] = quantize(3);"""
        in text
    )
    assert r"""'@a[usym(1), 2]'""" not in text
    assert (
        r'printa("\001K0\003%S\003%S\004", @a); printf("\001P0\003\002M"); printa(@a);' in trailer
    )

    frames, mark = frames_of("string f[int, string]; " + script)
    raw = b"\1x\377" + bytes(30)
    heading = b"\n             0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f  0123456789abcdef\n"
    lines = b"".join(
        b"        %2x: " % at + raw[at : at + 16].hex(" ").encode() + b"  ................\n"
        for at in (0, 16)
    )
    rest = b"  %-50s %16d %16d\n"
    forged = b"k" + b" " * 60 + b"7" + b" " * 15 + b"9\n  lib`g"
    totals = (
        b"\n"
        + b"  %-50s  %-50s" % (forged, b"two")
        + rest % (b"lib`f(int, char)", 2, 5)
        + heading
        + lines
        + b"  %-50s" % b""
        + rest % (b"lib`h", -2, 6)
    )
    frames.feed(
        frame("S0")
        + frame("K0", forged.replace(b"\n", rb"\n") + rb"\0", rb"two\0")
        + frame("K0", rb"\001x\377\0", rb"\0")
        + b"\1P0\3"
        + mark
        + totals
        + mark
        + b"\4"
        + frame("T0")
    )
    (first, second) = frames.items[0].items()
    found = [
        Aggregation.from_items(
            definition,
            items.items(),
            256,
            AddressSymbolizer(name_of=lambda _, word, names=frames.display_names: names.name(word)),
        )
        for definition, items in zip(frames._program.aggregations, frames.items)
    ]
    assert dict(found[0]) == {
        ("lib`f(int, char)", forged.decode(), 2, "two"): 5,
        ("lib`h", b"\1x\xff", -2, ""): 6,
    }
    assert first != second

    histogram = b"\n           value  ------------- Distribution ------------- count    \n               2 |@@ %d\n\n"
    table = (
        b"\n"
        + b"".join(
            b"  %-50s  %-50s" % (string, b"lib") + histogram % n
            for string, n in ((b"a", 5), (b"b", 6))
        )
        + b"\n"
    )
    said = frame("K1", b"a") + frame("K1", b"b")
    frames.feed(frame("S1") + said + b"\1P1\3" + mark + table + mark + b"\4" + frame("T1"))
    histograms = Aggregation.from_items(
        frames._program.aggregations[1],
        frames.items[1].items(),
        256,
        AddressSymbolizer(name_of=lambda _, word, names=frames.display_names: names.name(word)),
    )
    assert {key: value.buckets for key, value in histograms.items()} == {
        ("lib", "a"): [(2, 3, 5)],
        ("lib", "b"): [(2, 3, 6)],
    }
    before = dict(frames.items[1])
    for torn in (
        frame("K1", b"a"),
        frame("K1", b"b") + frame("K1", b"a"),
        said + frame("K1", b"c"),
    ):
        frames.feed(frame("S1") + torn + b"\1P1\3" + mark + table + mark + b"\4" + frame("T1"))
        assert frames.items[1] == before, (
            "something came between the strings and the table: another snapshot will tell"
        )
        assert frames.stale_names() == ["q"]
    frames.feed(frame("S1") + said + b"\1P1\3" + mark + table + mark + b"\4" + frame("T1"))
    assert frames.stale_names() == []


def test_a_table_that_is_not_understood_is_told(dtrace):
    dtrace(
        frame("B")
        + frame("S0")
        + b"\1P0\3nothing of dtrace's\4"
        + frame("K0", "a")
        + b"\1P0\3\n  lib 7\n\4"
        + frame("T0")
        + frame("E")
    )
    with (
        pytest.warns(pyusdt.TraceWarning, match="@u is that of an earlier moment"),
        trace('BEGIN { @u["x", usym(1)] = count(); }') as t,
    ):
        t.wait(20)
    assert len(t.aggregations["u"]) == 0


def test_speculations_are_dtraces(dtrace):
    dtrace(
        frame("B") + event(1, "BEGIN", b"0\0055") + frame("E"),
        "dtrace: 2 failed speculations (no speculative buffer available)\n"
        "dtrace: 1 speculative drop\n",
    )
    with (
        pytest.warns(pyusdt.TraceWarning),
        trace(
            "self int s; BEGIN { self->s = speculation(); } BEGIN { speculate(self->s); trace(5); } BEGIN { commit(self->s); }"
        ) as t,
    ):
        assert [record.values for record in t] == [(5,)]
    assert (t.drops["speculation"], t.drops["speculative"]) == (2, 1)


def test_a_command_is_dtraces_to_start(dtrace, tmp_path, capfd):
    """What it prints is its own: no record can be forged with it."""
    forged = event(0, "BEGIN", b"0\005666").decode("latin-1")
    (tmp_path / "forged").write_text(forged)
    dtrace(
        frame(f"B{2**22 + 1}") + event(0, "BEGIN", b"0\0055"),
        command=f"cat {tmp_path}/forged; echo complaint >&2; printf '\\001E\\004' >&3",
    )
    with pyusdt.trace(
        "BEGIN { trace(5); } pyusdt$target:::user_trace-s1 { n = 1; }",
        cmd=["sleep", "1"],
        engine="dtrace",
    ) as t:
        assert [record.values for record in t] == [(5,)]
    assert t.returncode is None
    assert (forged, "complaint\n") == tuple(capfd.readouterr())
    arguments = (tmp_path / "arguments").read_text()
    assert "-c sleep 1 -o " in arguments and " -Z " in arguments


def test_a_command_that_dtrace_would_take_for_another(dtrace):
    dtrace()
    with (
        pytest.raises(pyusdt.EngineError, match="'a b'.*splits at white space"),
        pyusdt.trace("BEGIN { }", cmd=["echo", "a b"], engine="dtrace"),
    ):
        pass


def test_target_stays_what_only_dtrace_knows():
    from pydtrace.dlang.compile import Compiler, default_macros

    compiler = Compiler({}, default_macros(4711))
    compiler.compile_text("pyusdt$target:::x,pid4711::f:entry { n = $target; }", None)
    (text, trailer) = rewrite_script(compiler.generate_program(), ("$target",), 4711)
    assert text == "pyusdt$target:::x,pid$target::f:entry { n = $target; }"
    assert r'printf("\001B%d\004", $target)' in trailer


@pytest.mark.parametrize("script", ["BEGIN { trace(1); }", "BEGIN { @ = count(); }"])
def test_dtrace_learns_that_we_are_gone(script):
    """By SIGPIPE, when it writes: it does so all the time."""
    from pydtrace.dlang.compile import compile_program

    assert re.search(
        r'profile:::tick-\w+ \{ printf\("\\001[HS]', rewrite_script(compile_program(script), ())[-1]
    )


def test_a_killed_pydtrace_leaves_no_dtrace(dtrace, tmp_path):
    dtrace(frame("B"), command=f"echo $$ >{tmp_path}/pid; while echo; do sleep 0.05; done >&3")
    command = [
        sys.executable,
        "-c",
        "from pydtrace.cli.pydtrace.main import main; main()",
        "-x",
        "engine=dtrace",
        "-qn",
        "BEGIN { n = 1; }",
    ]
    with subprocess.Popen(command) as process:
        while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n")):
            time.sleep(0.05)
        process.kill()
    pid, deadline = int((tmp_path / "pid").read_text()), time.monotonic() + 20
    while is_alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)
