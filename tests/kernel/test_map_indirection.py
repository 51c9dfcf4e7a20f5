"""More maps than the kernel takes in one program: aggregations, self-> variables and arrays that stand behind one map."""

import os

import pytest

from pydtrace.dlang.compile import compile_program
from pydtrace.engine.kernel.kernel_maps import KernelMaps
from pydtrace.engine.kernel.linker import Linker, ProgramEvent
from pydtrace.engine.kernel.passes import map_indirection
from tests.support.kernel_harness import pydtrace

pytestmark = pytest.mark.usefixtures("bpf")


SAID = "plain 10 guarded 0\n"  # by the target


def rows(out):
    return [list(map(int, line.split())) for line in out.splitlines() if line.strip()]


def test_a_hundred_aggregations_in_a_clause(target):
    """100 with keys, 100 without, of two shapes each; the keys of one are not those of the other."""
    made = "".join(
        f"@k{i}[arg0 % 2, {i}] = {('count()', 'sum(arg0)')[i % 2]}; @n{i} = {('count()', f'max(arg0 * {i})')[i % 2]}; "
        for i in range(100)
    )
    out, err, status = pydtrace(
        "-q", "-n", f"target*:::plain-two {{ {made} }}", "-c", f"{target} 10"
    )
    found = rows(out.replace(SAID, ""))
    assert (status, len(found)) == (0, 300), err
    assert [row for row in found if len(row) == 1] == [
        [10] if i % 2 == 0 else [9 * i] for i in range(100)
    ]
    sums = {(parity, i): (20 + 5 * parity if i % 2 else 5) for i in range(100) for parity in (0, 1)}
    assert {(row[0], row[1]): row[2] for row in found if len(row) == 3} == sums


def test_variables_are_set_read_and_deleted_through_it(target):
    """50 aggregations and 20 self-> variables were told as "a probe has 230 clauses"."""
    script = "".join(
        f"target*:::plain-two {{ @a{i}[pid] = count(); self->v{i % 20}++; x[arg0 & 1, {i}]++; }}\n"
        for i in range(50)
    )
    script += "".join(
        f"target*:::plain-two /self->v{i} != 3 && self->v{i} != 2/ {{ wrong++; }}\n"
        for i in range(20)
    )
    script += "".join(f"target*:::plain-two {{ self->v{i} = 0; }}\n" for i in range(20))
    script += 'END { printf("%d %d\\n", wrong, x[1, 49]); printa("%@d\\n", @a0); clear(@a1); trunc(@a2); printa("%@d\\n", @a1); printa("%@d\\n", @a2); }'
    script += "END { trunc(@a1); } "
    out, err, status = pydtrace("-q", "-n", script, "-c", f"{target} 10")
    assert (status, out.replace(SAID, "").split("\n")[:4]) == (0, ["0 5", "10", "0", ""]), (
        out,
        err,
    )


def test_of_too_many_shapes_it_is_told():
    keys = [", ".join(["arg0"] * i) for i in range(1, 31)]
    script = "".join(
        f"@c{i}[{key}] = count(); @s{i}[{key}] = sum(1); @d{i}[{key}] = stddev(1); "
        for i, key in enumerate(keys)
    )
    out, err, status = pydtrace("-q", "-n", f"BEGIN {{ {script} exit(0); }}")
    assert (status, out) == (1, "")
    assert (
        "the kernel takes 64 maps in one program" in err
        and "bug" not in err
        and "divide the clauses" in err
    )


def test_a_program_of_few_maps_is_left_alone():
    program = compile_program("BEGIN { @a = count(); @b = count(); self->x = 1; }")
    maps = KernelMaps(program, 0)
    try:
        insns = Linker(program, maps.indexes).link_clauses([0], ProgramEvent(self_fired=True))
        assert maps.share_maps(insns) is insns and len(map_indirection.used_maps(insns)) == 6
    finally:
        maps.close()


def test_what_is_too_much_for_the_verifier_is_told_as_that(tmp_path):
    """It was "Bad address.  This is a bug of pyusdt's", and left a log of 10 MB."""
    script = 'BEGIN { trace(strstr("abcdef", "cd")); exit(0); }'
    out, err, status = pydtrace(
        "-q", "-n", script, options=["-xstrsize=1024"], env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert (status, out, list(tmp_path.iterdir())) == (1, "", [])
    assert (
        "more than the kernel's verifier looks at" in err
        and "smaller strsize" in err
        and "bug" not in err
    )
