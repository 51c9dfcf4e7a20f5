"""Twenty scripts through the embedded engine, the kernel's and the real dtrace: the same records and aggregations.

The target fires the same events each time (programs/told.py, on one CPU).  Compared are the records' probes,
names and values in their order, and all keys and values of the aggregations; not times, CPUs and process ids.
"""

import subprocess
from concurrent.futures import ThreadPoolExecutor

import harness
import pytest

import pyusdt

P = "pyusdt$target:::user_trace-i4s4"
SCRIPTS = {
    "trace": P + " { trace(arg2); }",
    "default-action": P,
    "strings": P + " { trace(copyinstr(arg6)); trace(copyinstr(arg1)); }",
    "printf": P + r' { printf("a=%d b=%x c=%s\n", arg2, arg3, copyinstr(arg6)); }',
    "wide-integers": P + " { trace(arg4); trace(arg5); trace((int)arg5); trace((char)arg2); }",
    "predicate": P + ' /arg2 > 5 && copyinstr(arg7) == "even"/ { trace(arg2); }',
    "arithmetic": P + " { trace(arg2 * 7 - arg3); trace(arg2 << 3 | 1); trace(arg4 / (arg2 + 1)); }",
    "global": "int64_t n; " + P + " { n += arg2; trace(n); }",
    "array": P + " { seen[copyinstr(arg1)]++; trace(seen[copyinstr(arg1)]); }",
    "thread-local": "self int64_t last; " + P + " /self->last/ { trace(self->last); } " + P + " { self->last = arg2; }",
    "clause-local": P + " { this->x = arg2 + 1; trace(this->x * this->x); }",
    "several-clauses": P + " { trace(1); } " + P + " /arg2 == 3/ { trace(2); } END { trace(3); }",
    "other-probes": r'pyusdt$target:::user_trace-n1,pyusdt$target:::user_trace-n950 { printf("%d %s", arg2, copyinstr(arg6)); } '
                    r"pyusdt$target:::user_trace-s1 { trace(copyinstr(arg0)); }",
    "count": P + " { @n = count(); @by[copyinstr(arg1)] = count(); }",
    "sums": P + " { @s = sum(arg2); @lo = min(arg5); @hi = max(arg4); @a = avg(arg2); @d = stddev(arg2); }",
    "quantize": P + " { @q = quantize(arg2); @k[copyinstr(arg7), arg2 % 3] = quantize(arg4); @m = quantize(arg5); }",
    "lquantize": P + " { @l = lquantize(arg2, 2, 9, 3); @k[copyinstr(arg1)] = lquantize(arg3, -5, 5, 1); }",
    "llquantize": P + " { @l = llquantize(arg2, 10, 0, 6, 20); @k[copyinstr(arg7)] = llquantize(arg5, 10, 0, 6, 10); }",
    "begin-and-end": P + " { n++; } BEGIN { n = 100; trace(n); } END { trace(n); @e = sum(n); }",
    "faults": P + " { trace(12 / (arg2 - 3)); }",
}
ENGINES = ("embedded", "kernel", "dtrace")


def run(engine, script):
    """What a script gives: (records, aggregations, number of faults)."""
    with harness.running(harness.program("told.py"), stdin=subprocess.PIPE) as program:
        assert program.stdout.readline() == "ready\n"
        with pyusdt.trace(script, pid=program.pid, engine=engine) as t:
            program.stdin.write("go\n")
            program.stdin.close()
            records = [(rec.probe.name, rec.names, rec.values) for rec in t]
    aggregations = {name: {key: getattr(value, "buckets", None) or int(value) for key, value in aggregation.items()}
                    for name, aggregation in t.aggregations.items()}
    return records, aggregations, len(t.faults)


@pytest.fixture(scope="module")
def results(oracle):
    """{engine: {script's name: what it gave, or the exception}}"""
    patch = pytest.MonkeyPatch()
    patch.setenv("PYUSDT_DTRACE", f"{harness.ORACLE} dtrace")

    def safely(engine, script):
        try:
            return run(engine, script)
        except Exception as error:  # noqa: BLE001  (the one test that asks for it fails)
            return error

    with ThreadPoolExecutor(3) as pool:
        started = {engine: {name: pool.submit(safely, engine, script) for name, script in SCRIPTS.items()}
                   for engine in ENGINES}
        found = {engine: {name: future.result() for name, future in one.items()} for engine, one in started.items()}
    patch.undo()
    return found


@pytest.mark.filterwarnings("ignore::pyusdt.TraceWarning")
@pytest.mark.parametrize("engine", ["kernel", "dtrace"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_engines_agree(results, name, engine):
    expected = results["embedded"][name]
    assert not isinstance(expected, Exception), expected
    assert any(expected), "the script shows nothing"
    assert results[engine][name] == expected


def test_there_are_twenty():
    assert len(SCRIPTS) == 20
