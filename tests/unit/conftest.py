"""Fixtures of the unit tests: a tracer inside this process, the formatter's test program."""

from __future__ import annotations

import platform
import sys

import pytest


@pytest.fixture(scope="session")
def tracer(tmp_path_factory):
    """A SiteTracer."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        pytest.skip("host: site_tracer.c is for x86-64 Linux")
    from tests.support.site_tracer import SiteTracer

    return SiteTracer(str(tmp_path_factory.mktemp("site_tracer")))


@pytest.fixture
def fired(tracer):
    """fired(function) -> the one event of user_trace-i4s4 that it fires."""

    def run(function):
        with tracer.attached("user_trace__i4s4") as events:
            assert function() is True
        assert len(events) == 1, events
        return events[0]

    return run


@pytest.fixture(scope="session")
def formatter(tmp_path_factory):
    """The path of the formatter's test program, which runs under the sanitizers."""
    from tests.support.formatter import formatter_process

    return formatter_process.build(tmp_path_factory.mktemp("format"))
