"""-x aggpercpu: what each CPU has of an aggregation."""

import os

import pytest

from pydtrace.engine.kernel.probes.profile_timers import online_cpus
from tests.support.kernel_harness import pydtrace

pytestmark = pytest.mark.usefixtures("bpf")

SCRIPT = """BEGIN { @count = count(); @sum["a", 2] = sum(6); normalize(@sum, 3); @least = min(4); @most = max(-5); @dist = quantize(5);
    @left = max(9); clear(@left); exit(0); } END { printa("%@d\\n", @count); printa(@most, @least); }"""
HEAD = "value ------------- Distribution ------------- count"


@pytest.mark.parametrize("cpu", [online_cpus()[0], online_cpus()[-1]])
def test_each_cpu_is_shown(cpu):
    """dtrace 2.0.7 prints the same."""
    chosen = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        out, err, status = pydtrace("-q", "-x", "aggpercpu", "-n", SCRIPT)
    finally:
        os.sched_setaffinity(0, chosen)
    assert status == 0, err

    def parts(here, elsewhere):
        return [
            line
            for each in online_cpus()
            for line in _lines(f"[CPU {each}]", here if each == cpu else elsewhere)
        ]

    least, most = 2**63 - 1, -(2**63)
    joined = ["-5", *parts(-5, most)]
    joined[-1] += " 4"  # several in a printa() have no line of their own
    filled, empty = [HEAD, "2 | 0", f"4 |{40 * '@'} 1", "8 | 0"], [HEAD, "-1 | 0", "0 | 0", "1 | 0"]
    assert [" ".join(line.split()) for line in out.splitlines() if line] == [
        "1",
        *joined,
        *parts(4, least),
        "a 2 2",
        *parts(2, 0),
        *filled,
        *parts(filled, empty),
        str(most),
        *parts(most, most),
    ]


def _lines(head, shown):
    return [head, *shown] if isinstance(shown, list) else [f"{head} {shown}"]


def test_the_tracer_s_own_aggregations_have_one_part():
    out, err, status = pydtrace(
        "-q", "-x", "engine=embedded", "-x", "aggpercpu", "-n", "BEGIN { @ = count(); exit(0); }"
    )
    assert (out, status) == ("", 1)
    assert "-x aggpercpu needs -x engine=kernel: elsewhere an aggregation has one part" in err
