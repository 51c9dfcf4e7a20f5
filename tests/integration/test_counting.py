"""Clauses that run once for many events (docs/internals/bpf.md): the counts are exact, whatever comes in between; -v says so."""

import sys

N = 3000
FIRES = f"""import pyusdt
for i in range({N}):
    pyusdt.p(i, 2, 'a')
    if i % 3 == 0:
        pyusdt.pn(i % 5, i)
"""
TOLD = "run once for all events of a probe that come in a row: clause 1\n"


def traced(pydtrace, tmp_path, script, *options):
    program = tmp_path / "fires.py"
    program.write_text(FIRES)
    return pydtrace("-q", *options, "-n", script, "-c", f"{sys.executable} {program}")


def test_counts_are_exact(pydtrace, tmp_path):
    done = traced(pydtrace, tmp_path, """
        pyusdt$target::: { @[probename] = count(); @sum[execname] = sum(3); }
        pyusdt$target:::user_trace-i4s4 { @mean = avg(5); }
        pyusdt$target:::user_trace-n1 { seen++; }
        END { printa("%s %@d\\n", @); printa("%@d\\n", @sum); printa("%@d\\n", @mean); printf("%d\\n", seen); }""")
    assert done.status == 0, done
    names = [f"user_trace-n{i} {N // 15}" for i in range(5)] + [f"user_trace-i4s4 {N}"]
    assert done.stdout.split("\n")[:9] == [*names, str(3 * (N + N // 3)), "5", str(N // 15)], done


def test_verbose_tells(pydtrace, tmp_path):
    script = "pyusdt$target:::user_trace-i4s4 { @ = count(); } pyusdt$target:::user_trace-n0 { @a[tid] = count(); }"
    done = traced(pydtrace, tmp_path, script, "-v")
    assert TOLD in done.stderr, done
