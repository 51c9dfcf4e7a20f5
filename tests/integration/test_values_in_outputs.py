"""Values of Python in the parts of a script and in the forms of output."""

from __future__ import annotations

import json
import sys
import textwrap

import pytest

import pyusdt
from tests.support import harness

pytestmark = pytest.mark.own_processes

PROGRAM = """
import time

class Cart:
    def __init__(self, number):
        self.user, self.total, self.password = f"user {number}", number * 1.5, "hunter2"

def checkout(cart, number):
    return {"status": 200 + number}

for number in range(5):
    checkout(Cart(number), number)
time.sleep(wait)
"""
ENTRY, RETURN = (f"python$target:__main__:checkout:function-{each}" for each in ("entry", "return"))
RECORD = 'printf("n=%d total=%f user=%s cart=%s", local.number, local.cart.total, local.cart.user, repr(local.cart))'


def write_program(folder, wait: float = 0) -> str:
    path = folder / "shop.py"
    path.write_text(textwrap.dedent(PROGRAM).replace("(wait)", f"({wait})"))
    return str(path)


def run(folder, script: str, *options: str):
    command = f"{sys.executable} {write_program(folder)}"
    return harness.run([harness.PYDTRACE, "-q", *options, "-n", script, "-c", command])


def printed(folder, script: str, *options: str) -> list[str]:
    done = run(folder, script, *options)
    assert (done.status, done.stderr) == (0, ""), done
    return [line for line in done.stdout.splitlines() if line.strip()]


def test_associative_arrays(tmp_path):
    script = f"""{ENTRY} {{ totals[(string)local.cart.user] = (double)local.cart.total;
            carts[(int64_t)local.number, tid] = repr(local.cart); }}
        {RETURN} /totals[(string)local.cart.user] > 5.5/
        {{ printf("%.2f %s %d\\n", totals[(string)local.cart.user], carts[(int64_t)local.number, tid], retval["status"]); }}"""
    assert printed(tmp_path, script) == [
        "6.00 Cart(user='user 4', total=6.0, password=<redacted>) 204"
    ]


def test_speculations(tmp_path):
    script = f"""{ENTRY} {{ self->about = speculation(); speculate(self->about);
            printf("%s %.1f\\n", repr(local.cart), local.cart.total); }}
        {RETURN} /retval["status"] == 202/ {{ commit(self->about); }}
        {RETURN} /retval["status"] != 202/ {{ discard(self->about); }}"""
    assert printed(tmp_path, script) == ["Cart(user='user 2', total=3.0, password=<redacted>) 3.0"]


def test_json(tmp_path):
    script = f"""{ENTRY} /local.cart.total > 4.4/ {{ {RECORD}; @[(string)local.cart.user] = count(); }}"""
    rows = [json.loads(line) for line in printed(tmp_path, script, "--json")]
    [names] = {tuple(row["names"]) for row in rows if row["type"] == "record"}
    assert names == ("n", "total", "user", "cart")
    cart = "Cart(user='user {}', total={}, password=<redacted>)"
    assert [row["values"] for row in rows if row["type"] == "record"] == [
        [n, 1.5 * n, f"user {n}", cart.format(n, 1.5 * n)] for n in (3, 4)
    ]


def test_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "values.parquet"
    assert (
        printed(tmp_path, f"{ENTRY} /local.number > 3/ {{ {RECORD}; }}", "--parquet", str(path))
        == []
    )
    [row] = parquet.read_table(path).to_pylist()
    assert (row["n"], row["total"], row["user"]) == (4, 6.0, "user 4")
    assert row["cart"] == "Cart(user='user 4', total=6.0, password=<redacted>)"


def test_the_api(tmp_path):
    script = f"""{ENTRY} /local.cart.total > 4.4/ {{ {RECORD}; @mean = avg((double)local.cart.total); }}"""
    command = [sys.executable, write_program(tmp_path, wait=60)]
    found = []
    with pyusdt.trace(script, cmd=command) as trace:
        for each in trace:
            found.append((each["n"], each["total"], each["user"], each["cart"]))
            if len(found) == 2:
                break
    cart = "Cart(user='user {}', total={}, password=<redacted>)"
    assert found == [(n, 1.5 * n, f"user {n}", cart.format(n, 1.5 * n)) for n in (3, 4)]


@pytest.mark.parametrize("more", [[], ["-x", "hostmode=central"]])
def test_hosts(tmp_path, more):
    """Each host reads its own, by -x secrets also those; events that no clause wants are not written there."""
    script = f"""{ENTRY} /local.number >= 3/ {{ printf("%f %s\\n", local.number, repr(local.cart)); }}
        {RETURN} /retval["status"] > 201/ {{ @[(string)local.cart.user, local.cart.password == "hunter2"] = sum(local.cart.total * 2.0); }}"""
    command = f"{sys.executable} {write_program(tmp_path)}"
    via = ["--via", f"env HOST={{host}} {harness.PYDTRACE} --serve"]
    hosts = [harness.PYDTRACE, "-q", *more, "--hosts", "a,b", *via]
    done = harness.run([*hosts, "-x", "secrets", "-n", script, "-c", command])
    assert done.status == 0, done  # that clocks are not known so well may be reported
    rows = sorted(line.split() for line in done.stdout.splitlines() if line.strip())
    printed = [
        f"{n}.000000 Cart(user='user {n}', total={1.5 * n}, password='hunter2')".split()
        for n in (3, 4)
    ]
    assert [row for row in rows if row[0][0].isdigit()] == [each for each in printed for _ in "ab"]
    assert [row for row in rows if row[0] == "user"] == [
        ["user", str(n), "1", str(6 * n)] for n in (2, 3, 4)
    ]
    done = harness.run([*hosts, "-n", script, "-c", command])
    assert done.status == 1 and "has the name of a secret" in done.stderr, done


def test_where_values_are_refused(tmp_path):
    """Before anything is traced, and with the option's name."""
    recording = str(tmp_path / "events.rec")
    assert printed(tmp_path, "BEGIN { exit(0); }", "--record", recording) == []
    for option, argument in (
        ("--replay", recording),
        ("--record", str(tmp_path / "other.rec")),
    ):
        command = [harness.PYDTRACE, "-q", option, argument, "-n", f"{ENTRY} {{ {RECORD}; }}"]
        done = harness.run(command)
        assert done.status == 1 and f"not possible with {option}" in done.stderr, done
