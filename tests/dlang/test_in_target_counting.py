"""Which clauses have a second program, for many firings at once; tests/c/test_in_target_count.py runs them."""

import pytest

from pydtrace.dlang.compile import compile_program

COUNTED = [
    "{ @ = count(); }",
    "{ @[probefunc] = count(); }",
    "{ @[probemod, probefunc] = sum(1); }",
    "{ @ = sum(-3 * 2); }",
    "{ @[probeprov, probemod, probefunc, probename, id] = count(); }",
    "{ @[pid, ppid, uid, gid, execname] = count(); }",
    '{ @a = count(); @b[1, "text"] = avg(7); @c = min(1); @d = max(pid); }',
    "/pid == $target/ { @ = count(); }",
    '/probefunc == "f" && !(uid == 0)/ { @ = count(); }',
    '{ @[pid == 1 ? "one" : execname] = count(); }',
    "{ @ = sum((char)300); }",
]
NOT = [
    "",
    "{ }",
    "{ trace(1); }",
    "{ @ = count(); trace(1); }",
    "{ @[arg0] = count(); }",
    "{ @[tid] = count(); }",
    "{ @[cpu] = count(); }",
    "{ @ = sum(timestamp); }",
    "{ @ = sum(walltimestamp); }",
    "/arg0/ { @ = count(); }",
    "/x == 0/ { @ = count(); x = 1; }",
    "/walltimestamp/ { @ = count(); }",
    "{ @[strlen(probefunc)] = count(); }",
    "{ @ = sum(1 / pid); }",
    "{ @ = sum(1 % pid); }",
    "{ @ = quantize(1); }",
    "{ @ = stddev(1); }",
    "{ @[ustack()] = count(); }",
    "{ this->x = 1; @ = count(); }",
    "{ @ = count(); clear(@); }",
    "{ @[copyinstr(arg0)] = count(); }",
    "{ @ = sum(errno); }",
]


@pytest.mark.parametrize("clause", COUNTED)
def test_counted(clause):
    (made,) = compile_program("python1:::function-entry" + clause).clauses
    assert made.counting and made.counting != made.code and made.demand == {}


@pytest.mark.parametrize("clause", NOT)
def test_not_counted(clause):
    (made,) = compile_program("python1:::function-entry" + clause).clauses
    assert made.counting is None


def test_not_on_one_processor():
    """What a target has counted says not on which."""
    (made,) = compile_program(
        "#pragma D option cpu=0\npython1:::function-entry { @ = count(); }"
    ).clauses
    assert made.counting is None
