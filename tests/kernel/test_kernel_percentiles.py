"""percentiles() on the kernel engine: what the embedded engine counts, on all CPUs."""

import json

import pytest

from tests.support.kernel_harness import pydtrace

pytestmark = pytest.mark.usefixtures("bpf")

# 8 * 50 values from all over the numbers, half of them below 0, in several clauses, since D has no loops
SCRIPT = "int64_t n; " + " ".join(
    f"""profile:::tick-1ms /n < 50/ {{ this->v = (n * {7919 * 3**number} + {number}) << (n % 40) & 0x7fffffffffffffff;
    this->v = n % 2 ? -this->v : this->v; @all = percentiles(this->v); @by[n % 3, "k"] = percentiles(this->v - 3, 2); }}"""
    for number in range(8)
)
SCRIPT += " tick-1ms { n++; } tick-1ms /n == 50/ { exit(0); }"


def counted(engine):
    out, err, status = pydtrace(
        "-q", "--json", "-x", "pyusdt", "-x", f"engine={engine}", "-n", SCRIPT
    )
    assert status == 0, err
    rows = [json.loads(line) for line in out.splitlines()]
    return sorted(
        [row["name"], row["keys"], row["n"], row["percentiles"], row["buckets"]]
        for row in rows
        if row["type"] == "aggregation"
    )


def test_the_kernel_counts_what_the_interpreter_does():
    found = counted("kernel")
    assert [(name, n) for name, _, n, _, _ in found] == [
        ("all", 400),
        ("by", 136),
        ("by", 136),
        ("by", 128),
    ]
    assert len(found[0][4]) > 200, "the values are all over the numbers"
    assert found == counted("embedded")


BOTH = """BEGIN { @ = percentiles(-5000); @ = percentiles(7); @k["a"] = percentiles(-3); @k["a"] = percentiles(900); @k["b"] = percentiles(4);
    exit(0); } END { printa(@); %s(@%s); printa(@); %s(@k%s); printa(@k); }"""
ALL = ["p50=-5023", "p90=7", "p99=7", "p99.9=7", "max=7"]
NONE = ["p50=-", "p90=-", "p99=-", "p99.9=-", "max=-"]


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        (BOTH % ("clear", "", "clear", ""), [ALL, NONE, ["a", *NONE], ["b", *NONE]]),
        (
            BOTH % ("trunc", "", "trunc", ", 1"),
            [ALL, ["a", "p50=-3", "p90=900", "p99=900", "p99.9=900", "max=900"]],
        ),
    ],
)
@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_what_takes_values_away_takes_both_halves(engine, script, wanted):
    out, err, status = pydtrace("-q", "-x", "pyusdt", "-x", f"engine={engine}", "-n", script)
    assert (status, sorted(line.split() for line in out.splitlines() if line)) == (
        0,
        sorted(wanted),
    ), err
