"""More keys than 65,536: the option decides how many elements there are, on both engines; keys beyond are drops."""

import os
import subprocess
import sys

import pytest

from pydtrace.dlang.compile import compile_program
from tests.support.kernel_harness import DATA, PYDTRACE, compile_c

pytestmark = pytest.mark.usefixtures("bpf")
KEYS = 70_000


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_c(os.path.join(DATA, "keys.c"), tmp_path_factory.mktemp("keys") / "keys")


def counted(script, command, *options):
    """(How many keys, the sum of their values, messages)."""
    done = subprocess.run(
        [PYDTRACE, "-q", *options, "-n", script, "-c", command],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    rows = [line.split() for line in done.stdout.splitlines() if line.strip()]
    return len(rows), sum(int(row[-1]) for row in rows), done.stderr


def test_keys_of_the_kernel_engine(program):
    assert counted("keys$target:::hit { @[arg0] = count(); }", f"{program} {KEYS}") == (
        KEYS,
        KEYS,
        "",
    )


def test_variables_of_the_kernel_engine(program):
    script = "keys$target:::hit /!seen[arg0]/ { seen[arg0] = 1; @ = count(); }"
    assert counted(script, f"{program} {KEYS} 2", "-x", "dynvarsize=64m") == (1, KEYS, "")


def test_what_does_not_fit_is_dropped(program):
    keys, _, said = counted(
        "keys$target:::hit { @[arg0] = count(); }", f"{program} {KEYS}", "-x", "aggsize=64k"
    )
    assert 0 < keys < KEYS and "aggregation drops" in said


def test_keys_of_the_embedded_engine():
    code = f"import pyusdt, time; [(pyusdt.p(i, 0), i % 50 or time.sleep(.0005)) for i in range({KEYS})]"
    script = "pyusdt$target:::user_trace-i4s4 { @[arg2] = count(); }"
    assert counted(script, f'{sys.executable} -c "{code}"') == (KEYS, KEYS, "")


@pytest.mark.parametrize(
    ("option", "script"),
    [("aggsize", "x*:::y { @[arg0] = count(); }"), ("dynvarsize", "x*:::y { a[arg0] = 1; }")],
)
def test_the_option_decides(option, script):
    sizes = [
        max(
            each.entries
            for each in compile_program(script, options={option: size}).maps
            if "hash" in each.kind
        )
        for size in (1 << 20, 64 << 20, 256 << 20)
    ]
    assert [round(size / sizes[0]) for size in sizes] == [1, 64, 256]
