"""Memory that was not there when a probe read it: the event is an error, and the next ones have it."""

import os

import pytest

import pyusdt
from tests.support.kernel_harness import DATA, compile_c, pydtrace

pytestmark = pytest.mark.usefixtures("bpf")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_c(
        os.path.join(DATA, "literal.c"), tmp_path_factory.mktemp("literal") / "literal", "-O2"
    )


def test_a_text_that_the_program_never_reads(program):
    out, err, status = pydtrace(
        "-q", "-n", "literal$target:::said { @[copyinstr(arg0)] = count(); }", "-c", program
    )
    words = out.split()
    assert status == 0 and words[:2] == ["never", "read"] and int(words[2]) >= 20, (out, err)
    assert err.count("invalid address") == 40 - int(words[2]) or "more of" in err


def test_in_the_api(program):
    with (
        pytest.warns(pyusdt.TraceWarning, match="invalid address"),
        pyusdt.trace(
            "literal$target:::said { @[copyinstr(arg0)] = count(); }",
            cmd=[program],
            engine="kernel",
        ) as t,
    ):
        t.wait(20)
    assert int(t.aggregations[""]["never read"]) >= 20
