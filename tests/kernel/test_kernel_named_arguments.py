"""Names and types of a probe's arguments on the kernel engine: tests/integration/test_named_arguments.py has the other."""

import os

import pytest

import pyusdt
from tests.support.kernel_harness import pydtrace

pytestmark = pytest.mark.usefixtures("bpf")


@pytest.fixture(scope="module")
def done():
    return pyusdt.Provider("named_kernel").probe("request-done", route=str, status="int32_t")


@pytest.mark.parametrize("options", [{}, {"pyusdt": True}])
def test_strings_are_strings_and_absent_ones_are_empty(done, options):
    script = """named_kernel*:::request-done /arg.status > 0/ { printf("%s %s %d", args[0], arg.route, args[1]); @[arg.route] = count(); }"""
    with pyusdt.trace(script, pid=os.getpid(), engine="kernel", **options) as t:
        for route, status in (("/a", 200), (None, 404), ("/b", -1), ("/a", 500)):
            done(route, status)
    assert [rec.values for rec in t] == [("/a", "/a", 200), ("", "", 404), ("/a", "/a", 500)]
    assert dict(t.aggregations["_"].items()) == {("/a",): 2, ("",): 1}


def test_an_address_that_is_none_is_a_fault_as_ever(done):
    """Only what is absent is empty."""
    script = "named_kernel*:::request-done { trace(copyinstr(arg0)); }"
    with pytest.warns(pyusdt.TraceWarning, match="a string that is absent is NULL"):
        assert records_of(script, done) == []


def records_of(script, done):
    with pyusdt.trace(script, pid=os.getpid(), engine="kernel") as t:
        done(None, 1)
    return list(t)


@pytest.mark.parametrize(
    "probe, wanted",
    [
        (
            "target$target:::guarded-one",
            "arg1 is out of range for target{pid}:::guarded-one\n-n:1:37: [D_ARGS_IDX]",
        ),
        ("target$target:::", None),
        ("target$target:::plain-two", None),
        ("target$target:::guarded-one,target$target:::plain-two", None),
    ],
)
def test_an_argument_that_no_probe_of_the_clause_has_is_an_error(running, probe, wanted):
    """dtrace refuses args[1] only; arg1 is 0 there, which looks like an answer."""
    process = running(0)
    _, err, status = pydtrace(
        "-q", "-n", f"{probe} {{ trace(arg1); }} BEGIN {{ exit(0); }}", "-p", process.pid
    )
    if wanted is None:
        assert (err, status) == ("", 0)
    else:
        assert (
            status == 1
            and wanted.format(pid=process.pid) in err
            and "hint: it has arg0 only: pydtrace -lv shows" in err
        )
