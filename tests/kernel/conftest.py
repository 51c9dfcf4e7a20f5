"""Fixtures of the kernel engine's tests: what they need of the machine, and programs to trace."""

import os
import subprocess

import pytest

from tests.support.compiler import verifier
from tests.support.kernel_harness import DATA, compile_c


@pytest.fixture(scope="session")
def bpf():
    """For tests that load programs into the kernel."""
    if verifier.why_not_loadable():
        pytest.skip(f"host: {verifier.why_not_loadable()}")


@pytest.fixture(scope="session")
def target(tmp_path_factory):
    """A C program with probes, with and without a semaphore: data/target.c."""
    sources = [os.path.join(DATA, name) for name in ("target.c", "target_plain.c")]
    return compile_c(sources[0], tmp_path_factory.mktemp("target") / "target", sources[1])


@pytest.fixture
def running(target):
    """start(ARG …) -> a target that runs until the test ends; its standard output is a pipe."""
    started = []

    def start(*arguments, program=target, **options):
        process = subprocess.Popen(
            [str(program), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            **options,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
