"""The aggregations of a tracing in a program's own registry."""

import os

import pytest
from prometheus_client import CollectorRegistry

import pyusdt

SCRIPT = """#pragma D metric calls name=calls labels=route
pyusdt*:::user_trace-i4s4 { @calls[copyinstr(arg6)] = count(); @n = quantize(arg2); }
pyusdt*:::user_trace-i4s4 /arg2 % 3 == 2/ { clear(@calls); trunc(@n); }
pyusdt*:::user_trace-i4s4 /arg2 == 7/ { this->x = 1 / (arg3 - arg3); }"""


@pytest.mark.filterwarnings("ignore::pyusdt.TraceWarning")
def test_nothing_falls_and_the_end_is_exact():
    registry = CollectorRegistry()
    with pyusdt.trace(SCRIPT, pid=os.getpid()) as t:
        registry.register(t.prometheus("n name=size"))
        before = 0.0
        for number in range(30):
            pyusdt.p(number, "/")
            now = registry.get_sample_value("calls_total", {"route": "/"}) or 0.0
            assert before <= now <= number + 1
            before = now
        t.available()
        registry.get_sample_value("pydtrace_complete")
        pyusdt.p(7, "/")
    for _ in range(2):
        assert registry.get_sample_value("calls_total", {"route": "/"}) == 31
        assert registry.get_sample_value("size_bucket", {"le": "7.0"}) == 9
        assert registry.get_sample_value("size_bucket", {"le": "+Inf"}) == 31
        assert registry.get_sample_value("pydtrace_errors_total") == 2
        assert registry.get_sample_value("pydtrace_complete") == 1


def test_what_can_not_be():
    with pyusdt.trace("BEGIN { @a = count(); }", pid=os.getpid()) as t:
        with pytest.raises(ValueError, match="^metric 'b': the script has no @b, but @a$"):
            t.prometheus("b")
        t.prometheus("a name=b")
        with pytest.raises(RuntimeError, match="^this tracing has a collector already$"):
            t.prometheus()
