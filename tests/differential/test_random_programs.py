"""Random programs: pydtrace prints what the real dtrace does.  A few in `make test`, with one start of the real one; ten
thousand clauses in `make test-long`, where the coverage is looked at, too."""

import collections
import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pydtrace.dlang.compile import compile_program
from pydtrace.options import Options
from tests.support.random_programs.compare_engines import (
    KINDS,
    ORACLE,
    compare,
    covered,
    kind_of,
    make,
    run,
)
from tests.support.random_programs.coverage_table import scarce
from tests.support.random_programs.random_clauses import Generator
from tests.support.random_programs.random_types import ARGUMENTS


@pytest.fixture(scope="module")
def oracle():
    import subprocess

    if os.geteuid() != 0:
        pytest.skip("host: not root")
    subprocess.run([ORACLE[0], "setup"], check=True, timeout=900)


@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    database=None,
)
@given(st.randoms(use_true_random=False), st.sampled_from(sorted(KINDS)), st.booleans())
def test_what_is_written_is_well_typed(rng, kind, ours):
    program = Generator(
        rng, collections.Counter(), kind == "events", ours, kind == "numbers"
    ).program(20)
    compiled = compile_program(
        program.text(), "random.d", Options(), {"target": 1}, ["random.d", *ARGUMENTS]
    )
    assert len(compiled.clauses) == program.FIRST + len(program.clauses) + 1


def test_the_same_seed_writes_the_same():
    texts = {
        Generator(random.Random(7), collections.Counter()).program(30).text() for _ in range(2)
    }
    assert len(texts) == 1


def test_a_few_against_the_real_dtrace(oracle):
    compared, differences = compare(make(2000, collections.Counter(), "numbers", 100), ["embedded"])
    assert not differences, "\n".join(map(str, differences))
    assert len(compared) == 100


def test_the_engines_print_the_same(bpf):
    program = make(3, collections.Counter(), "numbers", 30, ours=True)
    numbers = {number for number, _ in program.clauses}
    embedded, kernel = (run(program, numbers, engine) for engine in ("embedded", "kernel"))
    assert embedded.refusal is None and kernel.refusal is None, (embedded.refusal, kernel.refusal)
    assert embedded.shown == kernel.shown and len(embedded.shown) > 20
    assert sorted(embedded.faults) == sorted(kernel.faults) and embedded.status == kernel.status


@pytest.mark.long
def test_ten_thousand_clauses(oracle):
    counts, compared, seed = collections.Counter(), 0, 10_000
    while compared < 10_000:
        program = make(seed, collections.Counter(counts), kind_of(seed), kernel=True)
        numbers, differences = compare(program, ["embedded", "kernel"])
        assert not differences, f"seed {seed}\n" + "\n".join(map(str, differences))
        counts.update(covered(program, numbers))
        compared, seed = compared + len(numbers), seed + 1
    assert not scarce(counts)
