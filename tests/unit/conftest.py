"""Fixtures of the unit tests."""

import pytest


@pytest.fixture(scope="session")
def formatter(tmp_path_factory):
    """The path of the formatter's test program, which runs under the sanitizers."""
    import consumer_harness

    return consumer_harness.build(tmp_path_factory.mktemp("format"))
