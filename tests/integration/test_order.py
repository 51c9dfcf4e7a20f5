"""What caused what comes first: a token goes round over threads and processes, and each event that one saw before it
passed the token on is delivered before the next one's.
"""

import harness

SCRIPT = """
    BEGIN { last = 0; wrong = 0; }
    pyusdt*:::user_trace-i4s4 /arg2 != last + 1/ { wrong++; }
    pyusdt*:::user_trace-i4s4 { last = arg2; n++; @[pid, tid] = count(); }
    END { printf("%d %d\\n", n, wrong); printa("by %@d\\n", @); }
"""


HOPS = 100_000


def test_causes_come_before_effects(pydtrace):
    """None is lost, none out of place."""
    got = pydtrace("--strict", "-q", "-x", "bufsize=16m", "-n", SCRIPT, "-c", harness.program("relay.py", HOPS),
                   timeout=120)
    lines = got.stdout.split("\n")
    assert got.status == 0 and lines[0] == f"{HOPS} 0", got
    assert [line for line in lines if line.startswith("by")] == [f"by {HOPS // 4}"] * 4
