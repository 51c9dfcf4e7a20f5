"""Fixtures: whether this machine loads eBPF."""

import pytest

from tests.support.compiler import verifier


@pytest.fixture
def bpf():
    if verifier.why_not_loadable():
        pytest.skip(f"host: {verifier.why_not_loadable()}")
