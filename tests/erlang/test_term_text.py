"""The text of terms (c/bpf/helpers/term.c), of bytes that a hostile process may write."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.support import harness

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = [
    os.path.join(HERE, "term_fuzz.c"),
    *(
        os.path.join(harness.ROOT, "c", "bpf", "helpers", f"{name}.c")
        for name in ("term", "term_read", "term_show")
    ),
]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
# of each kind, as Erlang's term_to_binary makes them: h 2 … is a tuple of two
TERMS = [
    bytes.fromhex(text)
    for text in (
        "836802770161620000012c",
        "836c00000002680277046e616d656b000365766568027701616105 6a",
        "8374000000027701616101 6b00017a6d0000000261c3",
        "8346400400000000000083"[:20],
        "836e08010000000000000080",
        "836b000301ff41",
        "836d0000000461c3a962",
        "83690000000361016a6a",
        "8358770d6e6f6e6f6465406e6f686f7374000000220000000000000000",
        "8378770161000000000000000500000000",
        "835a0003770161000000000000000100000002000000 03",
        "8376000362c3a4",
        "8364000162",
        "8301034675 6e",
        "8300",
        "836c000000016c000000016c000000016c000000016801 6a6a6a6a6a",
    )
]


@pytest.fixture(scope="module")
def fuzz(tmp_path_factory):
    program = tmp_path_factory.mktemp("fuzz") / "term_fuzz"
    subprocess.run(
        [
            "gcc",
            "-std=gnu11",
            "-g",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            *SANITIZE,
            f"-I{harness.ROOT}/c",
            "-o",
            program,
            *SOURCES,
            "-lm",
        ],
        check=True,
    )

    def run(seed: int, rounds: int) -> subprocess.CompletedProcess:
        data = b"".join(bytes([len(term)]) + term for term in TERMS)
        return subprocess.run(
            [program, str(seed), str(rounds)],
            input=data,
            capture_output=True,
            timeout=300,
            check=False,
        )

    return run


def test_bytes_that_are_no_term(fuzz):
    run = fuzz(7, 100_000)
    assert run.returncode == 0, run.stderr.decode()[:3000]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_many_of_them(fuzz, seed):
    run = fuzz(1000 + seed, 5_000_000)
    assert run.returncode == 0, run.stderr.decode()[:3000]
