"""Clauses that run once for many events (docs/internals/bpf.md): the counts are exact, whatever comes in between; -v says so."""

import sys

import pytest

pytestmark = pytest.mark.own_processes
N = 3000
FIRES = f"""import pyusdt
for i in range({N}):
    pyusdt.p(i, 2, 'a')
    if i % 3 == 0:
        pyusdt.pn(i % 5, i)
"""
TOLD = "run once for many events of a probe: clause 1\n"


def traced(pydtrace, tmp_path, script, *options):
    program = tmp_path / "fires.py"
    program.write_text(FIRES)
    return pydtrace("-q", *options, "-n", script, "-c", f"{sys.executable} {program}")


def test_counts_are_exact(pydtrace, tmp_path):
    done = traced(
        pydtrace,
        tmp_path,
        """
        pyusdt$target::: { @[probename] = count(); @sum[execname] = sum(3); }
        pyusdt$target:::user_trace-i4s4 { @mean = avg(5); }
        pyusdt$target:::user_trace-n1 { seen++; }
        END { printa("%s %@d\\n", @); printa("%@d\\n", @sum); printa("%@d\\n", @mean); printf("%d\\n", seen); }""",
    )
    assert done.status == 0, done
    names = [f"user_trace-n{i} {N // 15}" for i in range(5)] + [f"user_trace-i4s4 {N}"]
    assert done.stdout.split("\n")[:9] == [*names, str(3 * (N + N // 3)), "5", str(N // 15)], done


def test_probes_that_take_turns_are_counted_exactly(pydtrace, tmp_path):
    """More than have a place of their own in c/consumer/pending_counts.h at once: 950, each four times, and what looks at events in between."""
    program = tmp_path / "turns.py"
    program.write_text(
        "import pyusdt\nfor i in range(4 * 950):\n    pyusdt.pn(i % 950, i)\n    if i % 7 == 0:\n        pyusdt.p(i)\n"
    )
    done = pydtrace(
        "-q",
        "-n",
        """pyusdt$target:::user_trace-n* { @[probename] = count(); @all = sum(2); }
        pyusdt$target:::user_trace-i4s4 { last = arg2; seen++; @all = sum(1); }
        END { printf("%d %d\\n", seen, last); printa("%@d\\n", @all); printa("%s %@d\\n", @); }""",
        "-c",
        f"{sys.executable} {program}",
    )
    assert (done.status, done.stderr) == (0, ""), done
    lines = done.stdout.split()
    others = len(range(0, 4 * 950, 7))
    assert lines[:3] == [str(others), str(range(0, 4 * 950, 7)[-1]), str(2 * 4 * 950 + others)]
    assert sorted(zip(lines[3::2], lines[4::2])) == sorted(
        (f"user_trace-n{i}", "4") for i in range(950)
    )


def test_verbose_tells(pydtrace, tmp_path):
    script = "pyusdt$target:::user_trace-i4s4 { @ = count(); } pyusdt$target:::user_trace-n0 { @a[tid] = count(); }"
    done = traced(pydtrace, tmp_path, script, "-v")
    assert TOLD in done.stderr, done


# A program whose places are counted, and which then says that it has counted more: of the row's own probe, or of another.
LIES = """import glob, mmap, os, struct, sys, time
COUNTED, PROBES, PLACES = 2088, 2096, 1 << 16  # struct pyusdt_area; rows of counts follow it
more, of = map(int, sys.argv[1:])
def f(): pass
def counted_place():
    for path in glob.glob(os.environ["PYUSDT_RUNDIR"] + "/*.area"):
        with open(path, "r+b") as file:
            area = mmap.mmap(file.fileno(), 0)
        words = memoryview(area)[len(area) % (8 * PLACES):].cast("Q")
        for place in range(64):
            if words[place] >> 48:
                return area, words, place
deadline = time.monotonic() + 20
while not (found := counted_place()) and time.monotonic() < deadline:
    f()
area, words, place = found
tag, row = words[place] >> 48 << 48, 0
if of:
    row = struct.unpack_from("=I", area, COUNTED)[0]
    struct.pack_into("=H", area, PROBES + 2 * row, of)
    struct.pack_into("=I", area, COUNTED, row + 1)
words[row * PLACES + place] = tag | more
while words[row * PLACES + place] == tag | more and time.monotonic() < deadline + 20:
    time.sleep(0.01)
del words
"""
I4S4 = 1  # the probe's index in its table


@pytest.mark.parametrize(
    "clause, more, of, said, seen",
    [
        ("@i = count();", 7, I4S4, "", "7"),  # as if it had fired, which is its own to say
        ("@i = count();", 1 << 47, I4S4, "which cannot be: what it counts is left out", ""),
        ('printf("an event");', 7, I4S4, "", ""),
        ("@i = sum(arg2);", 7, I4S4, "", ""),
    ],
)
def test_what_a_process_says_that_it_has_counted(pydtrace, tmp_path, clause, more, of, said, seen):
    """It is bounded, and never taken for events of a clause that has to see them: docs/internals/ring.md, "Counting"."""
    program = tmp_path / "lies.py"
    program.write_text(LIES)
    script = f"python$target:::function-entry {{ @c = count(); }} pyusdt$target:::user_trace-i4s4 {{ {clause} }}"
    ends = ' END { printa("%@d\\n", @i); }' if "@i" in clause else ""
    done = pydtrace(
        "-q",
        "-o",
        tmp_path / "out",
        "-n",
        script + ends,
        "-c",
        f"{sys.executable} {program} {more} {of}",
    )
    assert done.status == 0 and said in done.stderr and ("count" in done.stderr) == bool(said), done
    lines = (tmp_path / "out").read_text().split("\n")
    assert lines[0] == seen and "an event" not in lines, lines
