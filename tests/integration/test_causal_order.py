"""What caused what comes first: a token goes round over threads and processes, and each event that one saw before it
passed the token on is delivered before the next one's.
"""

from tests.support import harness

SCRIPT = """
    BEGIN { last = 0; wrong = 0; }
    pyusdt*:::user_trace-i4s4 /arg2 != last + 1/ { wrong++; }
    pyusdt*:::user_trace-i4s4 { last = arg2; n++; @[pid, tid] = count(); }
    END { printf("%d %d\\n", n, wrong); printa("by %@d\\n", @); }
"""


HOPS = 100_000


def test_causes_come_before_effects(pydtrace):
    """None is lost, none out of place."""
    got = pydtrace(
        "--strict",
        "-q",
        "-x",
        "bufsize=16m",
        "-n",
        SCRIPT,
        "-c",
        harness.program("token_relay.py", HOPS),
        timeout=120,
    )
    lines = got.stdout.split("\n")
    assert got.status == 0 and lines[0] == f"{HOPS} 0", got
    assert [line for line in lines if line.startswith("by")] == [f"by {HOPS // 4}"] * 4


TURNS = """
    pyusdt$target:::user_trace* { @all = count(); }
    pyusdt$target:::user_trace-i4s4 /arg2 % 7 == 0/ { n++; trace(*(int *)1); }
    ERROR { @[probename, execname, 0] = count(); }
    pyusdt$target:::user_trace-i4s4, pyusdt$target:::user_trace-s1 { @[probename, execname, pid == $target] = count(); }
    tick-1ms { @[probename, execname, pid == $target] = count(); }
    END { printa("all %@d\\n", @all); printa("%s %s %d %@d\\n", @); printf("n %d\\n", n); }
"""


def test_probes_that_take_turns(pydtrace):
    """Each event is told with its own probe, also where ERROR or a tick came between it and the one before."""
    turns = 3000
    got = pydtrace(
        "--strict", "-q", "-n", TURNS, "-c", harness.program("two_probes.py", turns), timeout=120
    )
    faults = (turns + 6) // 7
    lines = [line.strip() for line in got.stdout.splitlines()]
    comm = next(
        (line.split()[1] for line in lines if line.startswith("user_trace-s1")), None
    )  # of the Python that runs
    for line in (
        f"all {turns + turns // 3}",
        f"user_trace-i4s4 {comm} 1 {turns}",
        f"user_trace-s1 {comm} 1 {turns // 3}",
        f"ERROR {comm} 0 {faults}",
        f"n {faults}",
    ):
        assert line in lines, got
    assert any(line.startswith("tick-1ms pydtrace 0 ") for line in lines), got
