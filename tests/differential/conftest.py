"""Fixtures: whether this machine loads eBPF."""

import pytest

from pydtrace.bpf import verifier


@pytest.fixture
def bpf():
    if verifier.cannot():
        pytest.skip(f"host: {verifier.cannot()}")
