"""Values of Python in the parts of a script and in the forms of output."""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

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


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> str:
    """Of a script that wants no event of all that there are."""
    folder = tmp_path_factory.mktemp("recording")
    script = f"""{ENTRY} /local.number > 100/ {{ {RECORD.replace("n=%d", "n=%f")}; }}
        {RETURN} {{ @[(int64_t)retval["status"]] = count(); }}"""
    path = folder / "values.rec"
    decided = "decided in the traced processes: local.number > 100"
    assert decided in run(folder, script, "-v").stderr
    done = run(folder, script, "-v", "--record", str(path))
    assert done.status == 0 and decided not in done.stderr, done
    return str(path)


def replay(recording: str, script: str, *options: str):
    return harness.run([harness.PYDTRACE, "-q", *options, "--replay", recording, "-n", script])


REPLAYED = ENTRY.replace("$target", "*"), RETURN.replace("$target", "*")


def test_replays(recording):
    """Another script reads the same values in another order, and those that the recording's predicate was against."""
    entry, returned = REPLAYED
    script = f"""{entry} {{ printf("%s %s %.2f\\n", repr(local.cart), (string)local.cart.user, local.cart.total); }}
        {returned} /(int64_t)retval["status"] != 201/ {{ @[(int64_t)retval["status"]] = count(); }}"""
    done = replay(recording, script)
    assert (done.status, done.stderr) == (0, ""), done
    printed = [line.split() for line in done.stdout.splitlines() if line.strip()]
    carts = [
        f"Cart(user='user {n}', total={1.5 * n}, password=<redacted>) user {n} {1.5 * n:.2f}"
        for n in range(5)
    ]
    assert printed[:5] == [each.split() for each in carts]
    assert printed[5:] == [[str(200 + n), "1"] for n in (0, 2, 3, 4)]


def test_the_api_replays(recording):
    script = f"{REPLAYED[0]} {{ trace((double)local.cart.total); }}"
    with pyusdt.trace(script, replay=recording) as trace:
        assert [each[0] for each in trace] == [1.5 * n for n in range(5)]


@pytest.mark.parametrize(
    ("script", "options", "words", "hint"),
    [
        ("trace((string)local.number);", [], "does not have (string)local.number", "(double)local.number, "),
        ("trace(present(retval));", [], "does not have present(retval)", '(int64_t)retval["status"]'),
        ("print(local.cart);", ["-x", "strsize=100"], "longer texts of local.cart", "-x strsize=256"),
        ("print(local.cart);", ["-x", "secrets"], "does not have repr(local.cart) with -x secrets", "repr(local.cart)"),
    ],
)  # fmt: skip
def test_values_that_the_recording_does_not_have(recording, script, options, words, hint):
    done = replay(recording, f"{REPLAYED['retval' in script]} {{ {script} }}", *options)
    assert done.status == 1 and "[D_PATH_REPLAY]" in done.stderr and words in done.stderr, done
    assert hint in done.stderr.split("hint: ")[1], done


def test_a_recording_without_values(tmp_path):
    path = str(tmp_path / "none.rec")
    assert printed(tmp_path, f"{ENTRY} {{ @ = count(); }}", "--record", path)[0].strip() == "5"
    done = replay(path, f"{REPLAYED[0]} {{ print(local); }}")
    assert done.status == 1 and "it has no values of programs" in done.stderr, done


def test_damaged_paths(recording, tmp_path):
    """No byte of them makes anything but a replay, or an error of pydtrace's."""
    data = Path(recording).read_bytes()
    [size] = struct.unpack_from("=I", data, 132)
    other = tmp_path / "other.rec"
    for seed in range(12):
        chance = random.Random(seed)
        bytes = bytearray(data)
        for _ in range(chance.randrange(1, 6)):
            bytes[136 + chance.randrange(size)] = chance.choice(
                (0, 1, 27, 255, chance.randrange(256))
            )
        other.write_bytes(bytes)
        done = replay(str(other), f"{REPLAYED[0]} {{ print(local.cart); }}")
        assert "Traceback" not in done.stderr and "\x1b" not in done.stderr, (seed, done)
        assert done.status == 0 or "D_PATH_REPLAY" in done.stderr, (seed, done)


def test_a_kept_session(tmp_path):
    """Values of programs that ran while no tracer was there; another script's are another session's."""
    rundir = tempfile.mkdtemp(prefix="pyusdt-test-values-", dir="/dev/shm")
    environment = {**os.environ, "PYUSDT_RUNDIR": rundir, "PYUSDT_VM": "1"}
    keep = [harness.PYDTRACE, "-Zq", "--keep", "shop", "-n"]
    clause = f'{REPLAYED[0]} /local.number > {{}}/ {{{{ printf("%s %f\\n", (string)local.cart.user, local.cart.total); }}}}'
    try:
        end = " tick-500ms { exit(0); }"
        begun = [*keep, clause.format(2) + ' tick-50ms { printf("begun\\n"); }']
        with subprocess.Popen(begun, env=environment, stdout=subprocess.PIPE, text=True) as tracer:
            while tracer.stdout.readline() != "begun\n":
                pass
            tracer.kill()
        program = [sys.executable, "-m", "pyusdt", write_program(tmp_path)]
        subprocess.run(program, env=environment, check=True, timeout=60)
        done = harness.run([*keep, clause.format(3) + end], env=environment)
        assert done.status == 1 and "other probes, arguments or values" in done.stderr, done
        done = harness.run([*keep, clause.format(2) + end], env=environment)
        assert done.status == 0 and done.stdout.split("\n")[:2] == [
            "user 3 4.500000",
            "user 4 6.000000",
        ], done
    finally:
        shutil.rmtree(rundir)
