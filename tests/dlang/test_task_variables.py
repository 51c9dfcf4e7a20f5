"""What D does not have: task-> variables, and keys under -x pyusdt.  In the interpreter; the kernel's verifier sees all."""

import pytest

from pydtrace.dlang.compile import compile_program
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.options import Options
from tests.support.compiler.bpf_machine import Machine

N1 = "pyusdt*:::user_trace-n1"


def compiled(text, **options):
    return compile_program(text, "x.d", Options(options), macros={"target": 1}, arguments=["x.d"])


def test_a_task_variable_belongs_to_the_process_and_its_proc():
    machine = Machine(
        compiled(
            f"{N1} {{ task->n = arg2; task->at[arg2] = 7; }} {N1} /arg2 == 0/ {{ trace(task->n); }}"
        )
    )
    for proc, pid, value in ((b"<1.2.a>", 1, 5), (b"<1.2.b>", 1, 6), (b"<1.2.a>", 2, 9)):
        machine.fire([0], args=[proc, 0, value], pid=pid)
    tasks = [(b"<1.2.a>", 1), (b"<1.2.b>", 1), (b"<1.2.a>", 2), (b"<1.2.c>", 1)]
    shown = [machine.fire([1], args=[proc, 0, 0], pid=pid) for proc, pid in tasks]
    assert [records[0][1] for records in shown] == [[5], [6], [9], [0]]


def test_a_task_of_the_programs_own_is_meant_where_there_is_one():
    program = compiled("struct s { int x; } *task; BEGIN { trace(task->x); }")
    assert [map.kind for map in program.maps[3:]] == []


def test_a_sample_tells_its_task_in_another_argument():
    machine = Machine(compiled(f"{N1} {{ task->n = arg2; }} profile-97 {{ trace(task->n); }}"))
    machine.fire([0], args=[b"<1.2.a>", 0, 5])
    assert [
        machine.fire([1], args=[b"<1.2.a>", 0, proc])[0][1] for proc in (b"<1.2.a>", b"<1.2.0.a>")
    ] == [[5], [0]]


@pytest.mark.parametrize(
    "probe",
    [
        f"{N1},profile-97",
        "tick-97",
        "BEGIN",
        "pyusdt*:::",
        "pyusdt*:::user_trace-*",
        "pyusdt*:::user_trace-s1",
        f"{N1},BEGIN",
    ],
)
def test_probes_that_do_not_tell_their_task_are_refused(probe):
    with pytest.raises(CompileError) as error:
        compiled(f"{probe} {{ task->x = 1; }}")
    assert error.value.tag == "D_UNSUPPORTED" and "user_trace-n" in error.value.hint


def test_reading_a_task_variable_that_nothing_assigns_is_an_error():
    with pytest.raises(CompileError) as error:
        compiled(f"{N1} {{ trace(task->x); }}")
    assert error.value.tag == "D_VAR_UNDEF"


STRINGS = [
    b"short",
    b"y" * 63,
    b"y" * 64,
    b"y" * 65,
    b"x" * 300 + b"1",
    b"x" * 300 + b"2",
    b"x" * 1000 + b"1",
    b"x" * 1000 + b"2",
]


def keys(**options):
    machine = Machine(compiled(f"{N1} {{ @[copyinstr(arg6)] = count(); }}", strsize=64, **options))
    for string in STRINGS:
        machine.fire(args=[0, 0, 0, 0, 0, 0, string])
    return {key[0] for key in machine.aggregation("_")}


def test_long_keys_are_not_merged_where_that_is_asked_for():
    found = keys(pyusdt=True)
    assert len(found) == len(STRINGS) and {b"short", b"y" * 63} < found
    assert (
        all(len(key) <= 63 for key in found)
        and sum(b"~" in key for key in found) == len(STRINGS) - 2
    )
    assert len(keys()) == 3  # as in D


def test_the_producer_is_asked_for_whole_strings_then():
    assert compiled(f"{N1} {{ @[copyinstr(arg6)] = count(); }}").clauses[0].demand == {6: 256}
    assert compiled(f"{N1} {{ @[copyinstr(arg6)] = count(); }}", pyusdt=True).clauses[0].demand == {
        6: 1023
    }
    with pytest.raises(CompileError) as error:
        compiled(f"{N1} {{ @[copyinstr(arg6)] = count(); }}", pyusdt=True, strsize=16)
    assert error.value.tag == "D_UNSUPPORTED"
