"""pydtrace over the real dtrace: the same text as over the embedded engine, also of a command that dtrace starts; and what the real
dtrace prints for people, parsed: every value comes back."""

import random
import re

from pydtrace.dlang.builtins.registry import AGGREGATIONS
from pydtrace.engine.dtrace.output_items import Distribution, Fault, Row, Total
from pydtrace.engine.dtrace.output_parser import Parser
from tests.support import harness

SCRIPT = r"""pyusdt$target:::user_trace-i4s4 { @a[copyinstr(arg6)] = count(); @q = quantize(arg2); trace(arg2); printf(" %s\n", copyinstr(arg6)); }
END { printa("%-10s %@5d\n", @a); normalize(@q, 2); }"""
ID = re.compile(r"^ *\d+ +\d+ ", re.MULTILINE)


def test_pydtrace_prints_the_same(oracle, pydtrace, monkeypatch, tmp_path):
    """-c, too: dtrace starts the command, and takes its probes on when they are there; what the command prints is passed on."""
    script = tmp_path / "script.d"
    script.write_text(SCRIPT)
    monkeypatch.setenv("PYUSDT_DTRACE", f"{harness.ORACLE} dtrace")
    monkeypatch.setenv("PYUSDT_TEST_SETTLE", "1")
    runs = [
        pydtrace(
            "-x",
            f"engine={engine}",
            "-Z",
            "-s",
            str(script),
            "-c",
            harness.program("events.py"),
            timeout=120,
        )
        for engine in ("embedded", "dtrace")
    ]
    embedded, dtrace = runs
    assert dtrace.status == 0, dtrace
    matched, error = (
        dtrace.stderr.splitlines()
    )  # p(1) has no string; where that is only the embedded engine knows
    assert matched == embedded.stderr.splitlines()[0]
    assert re.fullmatch(
        r"dtrace: error in dt_clause_0 for probe ID \d+ \(pyusdt.*user_trace-i4s4\): invalid address \(0x0\) at BPF pc \d+",
        error,
    )
    assert [ID.sub("", line) for line in dtrace.stdout.split("\n")] == [
        ID.sub("", line) for line in embedded.stdout.split("\n")
    ]
    assert "user_trace-i4s4                    7 item 7" in dtrace.stdout


HISTOGRAMS = {"quantize": (), "lquantize": (-50, 100, 10), "llquantize": (10, 0, 4, 10)}
BITS = {"char": 8, "short": 16, "int": 32, "int64_t": 64}


def integer(rng):
    """(D, the value)"""
    type, bits = rng.choice(list(BITS.items()))
    value = rng.choice((0, 1, -1, rng.randrange(1 - 2 ** (bits - 1), 2 ** (bits - 1))))
    if bits < 32:  # as a key dtrace shows it unsigned
        value = abs(value)
    return f"({type}){value}", value


def text(rng):
    """(D, the value): words with one space between them, shorter and longer than dtrace's columns."""
    value = " ".join(
        "".join(rng.choices("abcXYZ_-./", k=rng.randrange(1, 12)))
        for _ in range(rng.choice((1, 2, 8)))
    )
    return f'"{value}"', value


def label(function, low, high):
    """How dtrace calls a bucket: lquantize's by their lower ends, the others' below zero by their upper ends."""
    if high is None:
        return ">=", low
    if function == "lquantize":
        return ("<", high + 1) if low is None else low
    return ("<=", high) if low is None else high if high < 0 else max(low, 0)


def labelled(function, values):
    """{label: count} of the buckets that have a value."""
    edges, found = AGGREGATIONS[function].bucket_bounds(HISTOGRAMS[function]), {}
    for value in values:
        edge = next(
            (low, high)
            for low, high in edges
            if (low is None or low <= value) and (high is None or value <= high)
        )
        found[label(function, *edge)] = found.get(label(function, *edge), 0) + 1
    return found


def test_what_the_real_dtrace_prints_comes_back(oracle):
    """Values that the test knows, its standard error between its output; the columns are those of the real thing of today."""
    rng = random.Random(8)
    rows = [
        [rng.choice((integer, text))(rng) for _ in range(rng.randrange(1, 6))] for _ in range(12)
    ]
    clauses = [
        "BEGIN { " + " ".join(f"trace({source});" for source, _ in row) + " }" for row in rows
    ]
    totals, histograms = {}, {}
    for number in range(12):
        keys = [rng.choice((integer, text))(rng) for _ in range(rng.randrange(4))]
        source, value = integer(rng)
        where = ", ".join([f'"@{number}"', *(source for source, _ in keys)])
        clauses.append(
            f"BEGIN {{ @a{number}[{where}] = {rng.choice(('sum', 'min', 'max'))}({source}); }}"
        )
        totals[(f"@{number}", *(value for _, value in keys))] = value
    for number, (function, parameters) in enumerate(HISTOGRAMS.items()):
        values = [
            rng.choice((rng.randrange(-200, 200), rng.randrange(-(10**6), 10**6))) for _ in range(8)
        ]
        given = "".join(f", {parameter}" for parameter in parameters)
        clauses += [
            f'BEGIN {{ @h{number}["of {function}", {number}] = {function}({value}{given}); }}'
            for value in values
        ]
        histograms[f"of {function}", number] = labelled(function, values)
    clauses += ["BEGIN { x = 0; trace(1 / x); }", "BEGIN { exit(0); }"]
    run = harness.run(
        ["sh", "-c", f'exec {harness.ORACLE} dtrace -n "$0" 2>&1', "\n".join(clauses)], timeout=120
    )
    parser = Parser()
    items = parser.feed(run.stdout.encode()) + parser.close()
    assert "".join(item.text.decode() for item in items) == run.stdout

    assert [item.values for item in items if type(item) is Row][: len(rows)] == [
        [value for _, value in row] for row in rows
    ], run
    assert {item.keys: item.value for item in items if type(item) is Total} == totals, run
    found = {
        item.keys: {called: count for called, count in item.buckets if count}
        for item in items
        if type(item) is Distribution
    }
    assert found == histograms, run
    (fault,) = (item for item in items if type(item) is Fault)
    assert (fault.what, fault.probe[3]) == ("divide-by-zero", "BEGIN")
