"""pydtrace over the real dtrace: the same text as over the embedded engine; and over the command that dtrace starts."""

import re

import harness

SCRIPT = r"""pyusdt$target:::user_trace-i4s4 { @a[copyinstr(arg6)] = count(); @q = quantize(arg2); trace(arg2); printf(" %s\n", copyinstr(arg6)); }
END { printa("%-10s %@5d\n", @a); normalize(@q, 2); }"""
ID = re.compile(r"^ *\d+ +\d+ ", re.MULTILINE)


def test_pydtrace_prints_the_same(oracle, pydtrace, monkeypatch, tmp_path):
    """-c, too: dtrace starts the command, and takes its probes on when they are there; what the command prints is passed on."""
    script = tmp_path / "script.d"
    script.write_text(SCRIPT)
    monkeypatch.setenv("PYUSDT_DTRACE", f"{harness.ORACLE} dtrace")
    monkeypatch.setenv("PYUSDT_TEST_SETTLE", "1")
    runs = [pydtrace("-x", f"engine={engine}", "-Z", "-s", str(script), "-c", harness.program("events.py"), timeout=120)
            for engine in ("embedded", "dtrace")]
    embedded, dtrace = runs
    assert dtrace.status == 0, dtrace
    matched, error = dtrace.stderr.splitlines()  # p(1) has no string; where that is only the embedded engine knows
    assert matched == embedded.stderr.splitlines()[0]
    assert re.fullmatch(r"dtrace: error in dt_clause_0 for probe ID \d+ \(pyusdt.*user_trace-i4s4\): invalid address \(0x0\) at BPF pc \d+",
                        error)
    assert [ID.sub("", line) for line in dtrace.stdout.split("\n")] == [ID.sub("", line) for line in embedded.stdout.split("\n")]
    assert "user_trace-i4s4                    7 item 7" in dtrace.stdout
