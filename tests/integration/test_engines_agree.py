"""More than twenty scripts through the embedded engine, the kernel's and the real dtrace: the same records and aggregations.

The target fires the same events each time (programs/events_on_request.py, on one CPU).  All scripts run together, as one program: a start
of the real dtrace takes seconds.  What belongs to which is told by its number: # in a script is replaced by that, in the
names of variables and aggregations, and in the first value of a record.  Compared are the records' probes, names and values
in their order, all keys and values of the aggregations, and what printa() prints; not times, CPUs and process ids.
"""

import re
import subprocess

import pytest

import pyusdt
from tests.support import harness

P = "pyusdt$target:::user_trace-i4s4"
SCRIPTS = {
    "trace": P + " { trace(#); trace(arg2); }",
    "default-action": P,
    "strings": P + " { trace(#); trace(copyinstr(arg6)); trace(copyinstr(arg1)); }",
    "printf": P + r' { trace(#); printf("a=%d b=%x c=%s\n", arg2, arg3, copyinstr(arg6)); }',
    "wide-integers": P
    + " { trace(#); trace(arg4); trace(arg5); trace((int)arg5); trace((char)arg2); }",
    "predicate": P + ' /arg2 > 5 && copyinstr(arg7) == "even"/ { trace(#); trace(arg2); }',
    "arithmetic": P
    + " { trace(#); trace(arg2 * 7 - arg3); trace(arg2 << 3 | 1); trace(arg4 / (arg2 + 1)); }",
    "global": "int64_t g#; " + P + " { g# += arg2; trace(#); trace(g#); }",
    "array": P + " { seen#[copyinstr(arg1)]++; trace(#); trace(seen#[copyinstr(arg1)]); }",
    "thread-local": "self int64_t last#; "
    + P
    + " /self->last#/ { trace(#); trace(self->last#); } "
    + P
    + " { self->last# = arg2; }",
    "clause-local": P + " { this->x# = arg2 + 1; trace(#); trace(this->x# * this->x#); }",
    "several-clauses": P
    + " { trace(#); trace(1); } "
    + P
    + " /arg2 == 3/ { trace(#); trace(2); } END { trace(#); trace(3); }",
    "other-probes": "pyusdt$target:::user_trace-n1,pyusdt$target:::user_trace-n950 "
    r'{ trace(#); printf("%d %s", arg2, copyinstr(arg6)); } '
    r"pyusdt$target:::user_trace-s1 { trace(#); trace(copyinstr(arg0)); }",
    "count": P + " { @n# = count(); @by#[copyinstr(arg1)] = count(); }",
    "sums": P
    + " { @s# = sum(arg2); @lo# = min(arg5); @hi# = max(arg4); @a# = avg(arg2); @d# = stddev(arg2); }",
    "quantize": P
    + " { @q# = quantize(arg2); @k#[copyinstr(arg7), arg2 % 3] = quantize(arg4); @m# = quantize(arg5); }",
    "lquantize": P
    + " { @l# = lquantize(arg2, 2, 9, 3); @k#[copyinstr(arg1)] = lquantize(arg3, -5, 5, 1); }",
    "llquantize": P
    + " { @l# = llquantize(arg2, 10, 0, 6, 20); @k#[copyinstr(arg7)] = llquantize(arg5, 10, 0, 6, 10); }",
    "begin-and-end": P
    + " { c#++; } BEGIN { c# = 100; trace(#); trace(c#); } END { trace(#); trace(c#); @e# = sum(c#); }",
    "faults": P + " { trace(#); trace(12 / (arg2 - 3)); }",
    "printa": P
    + r""" { @p#[copyinstr(arg1), arg2] = sum(arg2); @c#[copyinstr(arg1), arg2] = count(); }
        END { printa("# %-8s %3d %@5d %@d\n", @p#, @c#); trace(#); trace(4); }""",
    "trunc-and-normalize": P
    + r""" { @t#[copyinstr(arg1)] = sum(arg2); @h#[copyinstr(arg7)] = quantize(arg2); }
        END { trunc(@t#, 2); normalize(@t#, 2); printa("# %s %@d\n", @t#); denormalize(@t#); printa("# %s %@d\n", @t#); clear(@h#); }
        END { printa("# %s%@d", @h#); }""",
    "speculation": "self int s#; "
    + P
    + " /arg2 % 4 == 1/ { self->s# = speculation(); } "
    + P
    + " /self->s#/ { speculate(self->s#); trace(#); trace(arg2); } "
    + P
    + " /self->s# && arg2 % 4 == 3/ { commit(self->s#); self->s# = 0; }",
    "structs": "struct s# { char text[5]; }; "
    + P
    + " { trace(#); trace(*(struct s# *)copyin(arg6, 5)); print((struct s# *)copyin(arg6, 5)); }",
    "own-provider": 'told$target:::placed { trace(#); trace(arg0); printf("what=%s", copyinstr(arg1)); '
    "@o#[copyinstr(arg1)] = sum(arg0); }",
}
STACKS = {  # of a traced process the embedded engine has none
    "stacks": P
    + ' { trace(#); ustack(2); trace(arg2); @u#[ustack(2), arg2 % 3, "text"] = count(); }',
    "symbols": P
    + " { trace(#); usym(ucaller); umod(ucaller); @y#[usym(ucaller), arg2 % 3] = quantize(arg4); "
    "@m#[umod(ucaller)] = sum(arg2); }",
    "symbols-and-strings": P
    + r""" /arg7/ { trace(#); @a#[usym(ucaller), arg2 % 2, copyinstr(arg7)] = sum(arg2);
        @b#[umod(ucaller), strjoin(copyinstr(arg7), "\n\1   7"), arg2 % 3, copyinstr(arg7)] = quantize(arg2); } """,
}
NUMBERS = {name: 100 + i for i, name in enumerate([*SCRIPTS, *STACKS])}
ENGINES = ("embedded", "kernel", "dtrace")


def run(engine):
    """{script's name: (records, aggregations, texts of printa(), number of faults)}"""
    with harness.running(harness.program("events_on_request.py"), stdin=subprocess.PIPE) as program:
        assert program.stdout.readline() == "ready\n"
        scripts = SCRIPTS if engine == "embedded" else {**SCRIPTS, **STACKS}
        whole = "\n".join(
            script.replace("#", str(NUMBERS[name])) for name, script in scripts.items()
        )
        with pyusdt.trace(whole, pid=program.pid, engine=engine, nspec=8) as t:
            program.stdin.write("go\n")
            program.stdin.flush()
            assert program.stdout.readline() == "done\n"
        records = list(t)  # while the program is there: names of addresses come from its maps
        program.stdin.close()
    assert not any(t.drops.values()), t.drops
    return {name: of_script(str(NUMBERS[name]), name, t, records) for name in scripts}


def of_script(number, name, t, records):
    own = [
        (rec.probe.name, rec.names, rec.values)
        for rec in records
        if (str(rec[0]) == number if rec.values else name == "default-action")
    ]
    aggregations = {
        called: {
            key: value.buckets if hasattr(value, "buckets") else int(value)
            for key, value in aggregation.items()
        }
        for called, aggregation in t.aggregations.items()
        if called.endswith(number)
    }
    texts = [line for text in t.printed for line in text.split("\n") if line.startswith(number)]
    return own, aggregations, texts, len(t.faults) if name == "faults" else 0


@pytest.fixture(scope="module")
def results(oracle):
    """{engine: what its run gave, or the exception}"""
    patch = pytest.MonkeyPatch()
    patch.setenv("PYUSDT_DTRACE", f"{harness.ORACLE} dtrace")
    found = {}
    for engine in ENGINES:
        try:
            found[engine] = run(engine)
        except Exception as error:  # noqa: BLE001  (the tests of this engine fail, the others do not)
            found[engine] = error
    patch.undo()
    return found


@pytest.mark.filterwarnings("ignore::pyusdt.TraceWarning")
@pytest.mark.parametrize("engine", ["kernel", "dtrace"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_engines_agree(results, name, engine):
    for which in ("embedded", engine):
        assert not isinstance(results[which], Exception), results[which]
    expected = results["embedded"][name]
    assert any(expected), "the script shows nothing"
    assert results[engine][name] == expected


def without_distances(found):
    """Of the first frame's address, where a site is probed decides the last digits.  dtrace goes by frame pointers, and so misses
    the caller of a function that has none of its own, as the site's: its second frame is the third."""
    if isinstance(found, str):
        return found.partition("+0x")[0].replace("`fire_plain", "`pyusdt_site_call")
    if isinstance(found, dict):
        return {without_distances(key): without_distances(value) for key, value in found.items()}
    return type(found)(map(without_distances, found)) if type(found) in (tuple, list) else found


@pytest.mark.parametrize("name", STACKS)
def test_kernel_and_dtrace_agree_on_names(results, name):
    for which in ("kernel", "dtrace"):
        assert not isinstance(results[which], Exception), results[which]
    found = results["dtrace"][name]
    assert re.search(r"_core\.[-\w]+\.so`\w", str(found)), "dtrace named no function"
    assert without_distances(found) == without_distances(results["kernel"][name])


def test_there_are_twenty():
    assert len(SCRIPTS) >= 20
