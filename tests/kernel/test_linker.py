"""Linked programs: what the verifier says of them, and what is said when it refuses one."""

import os
import tempfile

import pytest

from pydtrace.bpf import syscalls
from pydtrace.bpf.insn import PSEUDO_CALL, R6, call, exit_, load
from pydtrace.dlang.compile import compile_program
from pydtrace.engine import EngineError, Targets
from pydtrace.engine.kernel import kernel_errors
from pydtrace.engine.kernel.engine import KernelEngine
from pydtrace.engine.kernel.kernel_maps import KernelMaps
from pydtrace.engine.kernel.linker import Linker, ProgramEvent
from pydtrace.engine.kernel.passes.clause_analysis import demanded_arguments
from pydtrace.engine.kernel.probes import usdt_operands
from tests.support.kernel_harness import pydtrace

pytestmark = pytest.mark.usefixtures("bpf")
CALL, LOOKUP, CLOCK = call(0).opcode, 1, call(5)
SCRIPTS = [
    "x*:::y { @ = count(); }",
    'x*:::y { printf("%d %s %s %s %s", arg0, execname, probefunc, probeprov, copyinstr(arg1)); }',
    "x*:::y { this->a = copyinstr(arg0); self->b[this->a] = timestamp; @[this->a, uid, gid, walltimestamp] = sum(arg9); }",
    "x*:::y /arg0 / 3 == 2/ { exit(arg1); } x*:::y { n++; trace(cpu); }",
    "x*:::y { trace(strtoll(copyinstr(arg0))); trace(strtoll(copyinstr(arg1), 16)); }",
]


@pytest.mark.parametrize("text", SCRIPTS)
@pytest.mark.parametrize("has_preempt", [True, False], ids=["preempt_disable", "exchange"])
@pytest.mark.parametrize(
    "prog_type",
    [syscalls.KPROBE, syscalls.RAW_TRACEPOINT, syscalls.TRACEPOINT, syscalls.PERF_EVENT],
)
def test_the_verifier_takes_what_is_linked(text, has_preempt, prog_type):
    program = compile_program(text)
    maps = KernelMaps(program, 8)
    try:
        if not has_preempt:
            maps.indexes.preempt = None
        own = prog_type == syscalls.RAW_TRACEPOINT
        event = ProgramEvent(
            self_fired=own,
            pid=12,
            excluded_pids=(13, 14),
            profile="x86_64" if prog_type == syscalls.PERF_EVENT else None,
        )
        indexes = [clause.index for clause in program.clauses]
        os.close(
            syscalls.load_program(
                Linker(program, maps.indexes).link_clauses(indexes, event), maps.fds, prog_type
            )
        )
    finally:
        maps.close()


def test_what_nobody_reads_is_not_fetched():
    program = compile_program("x*:::y { @ = count(); } x*:::z { trace(timestamp); }")
    maps = KernelMaps(program, 0)
    try:
        linker = Linker(program, maps.indexes)
        calls = [
            {
                insn.imm
                for insn in linker.link_clauses([index], ProgramEvent())
                if insn.opcode == 0x85 and insn.src == 0
            }
            for index in (0, 1)
        ]
    finally:
        maps.close()
    clock, cookie, uid = 5, 174, 15
    assert (
        calls[0].isdisjoint({clock, cookie, uid})
        and {clock, cookie} <= calls[1]
        and uid not in calls[1]
    )
    assert demanded_arguments(program.clauses) == []


def test_a_refused_program_is_told_by_its_line_and_the_log_is_kept():
    program = compile_program("BEGIN { n = 1; }\n\nBEGIN {\n  n = 2; trace(n); }", "two.d")
    clause = program.clauses[1]
    place = next(first for first, loc in clause.lines if loc.line == 4)
    clause.code[max(place, 9)] = load(8, 3, R6, 32000)  # far outside of the state block
    engine = KernelEngine(program, {})
    try:
        with pytest.raises(
            EngineError,
            match=r"refused a program that pyusdt made for two.d, line \d.*bug of pyusdt",
        ) as caught:
            engine.open(Targets((os.getpid(),)))
    finally:
        engine.close()
    path = str(caught.value).split()[-1]
    with open(path) as file:
        assert "invalid access" in file.read()
    os.unlink(path)
    assert "line 4" in str(caught.value)


def test_logs_of_refused_programs_fill_no_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "pyusdt-verifier-other").symlink_to("/etc/passwd")
    refusal = syscalls.ProgramRejected(
        OSError(22, "Invalid argument"), "x" * 10_000_000 + "\n12: (05) the last words"
    )
    paths = [str(kernel_errors.make_verifier_error(refusal, [])).split()[-1] for _ in range(12)]
    left = [entry for entry in tmp_path.iterdir() if entry.suffix == ".log"]
    assert str(left[0].parent) == str(tmp_path) and len(left) <= 5 and paths[-1] in map(str, left)
    assert all(
        entry.stat().st_size <= 1 << 18 and "the last words" in entry.read_text() for entry in left
    )


def test_the_missing_capability_is_named(monkeypatch):
    monkeypatch.setattr(
        kernel_errors, "effective_capabilities", lambda: 1 << kernel_errors.CAPABILITIES["CAP_BPF"]
    )
    assert "(CAP_PERFMON, or root, needed)" in str(
        kernel_errors.make_step_error("load", PermissionError(1, "no"))
    )
    assert "needed" not in str(kernel_errors.make_step_error("map", PermissionError(1, "no")))


@pytest.mark.parametrize("count", [240, 300])
def test_many_clauses_on_one_probe(count):
    """The kernel takes 256 functions in a program; what the clauses share (faults, strings that are cut) counts once."""
    program = compile_program(
        "".join(f'x:::y {{ printf("{i} %s", copyinstr(arg{i % 10})); }}\n' for i in range(count))
    )
    engine = KernelEngine(program, {})
    try:
        engine.open(Targets((os.getpid(),)))
        indexes = [clause.index for clause in program.clauses]
        if count == 240:
            os.close(
                engine._load_clauses(
                    indexes,
                    ProgramEvent(),
                    lambda insns, fds, types: syscalls.load_program(insns, fds, types=types),
                )
            )
        else:
            with pytest.raises(
                EngineError,
                match="a probe has 300 clauses, more than the kernel takes in one program",
            ):
                engine._load_clauses(
                    indexes,
                    ProgramEvent(),
                    lambda insns, fds, types: syscalls.load_program(insns, fds, types=types),
                )
    finally:
        engine.close()


def linked(text, arguments="8@%rdi -4@%eax 8@8(%rsp)", **more):
    """The instructions for a script's clauses, which the kernel's verifier takes; the state block's lookup is among them."""
    program = compile_program(text)
    maps = KernelMaps(program, 0)
    try:
        found = {
            i: (usdt_operands.parse_operand(each, usdt_operands.X86_64), 0)
            for i, each in enumerate(arguments.split())
        }
        insns = Linker(program, maps.indexes).link_clauses(
            [clause.index for clause in program.clauses], ProgramEvent(arguments=found), **more
        )
        os.close(syscalls.load_program(insns, maps.fds))
        return insns
    finally:
        maps.close()


def first_lookup(insns):
    return next(
        at
        for at, insn in enumerate(insns)
        if insn.opcode == CALL and insn.imm == LOOKUP and not insn.src
    )


@pytest.mark.parametrize(
    "predicates, ahead",
    [
        (["arg0 == -1"], True),
        (["arg0 < 3 && arg1 > arg9 || !arg0"], True),
        (["arg0 == 0x123456789a"], True),
        (["arg0 & 1", "arg1 == 7"], True),
        (["arg0 & 1", "pid"], True),
        (["arg2 == 1"], False),
        (["pid == 7"], True),
        (["arg0 & 1", "tid"], False),
        (["tid == 7"], False),
        (['copyinstr(arg0) == "a"'], False),
        (["arg0 / arg1 == 2"], True),
    ],
)
def test_a_predicate_on_registers_or_the_process_is_looked_at_before_a_state_block_is_taken(
    predicates, ahead
):
    """However many registers a predicate compares; where another clause goes on anyway it is not looked at twice."""
    insns = linked("".join(f"x:::y /{each}/ {{ @ = count(); }}" for each in predicates))
    without = first_lookup(linked("x:::y { @ = count(); }"))
    assert (first_lookup(insns) > without) == ahead


PREDICATES = {  # D: Python
    "arg0 % 7 == 3": lambda a: a % 7 == 3, "arg0 > 100 && arg0 <= 200 || arg0 == 399": lambda a: 100 < a <= 200 or a == 399,
    "arg0 & 1": lambda a: a & 1, "(int)arg0 * -3 < -600": lambda a: a * -3 < -600,
    "(arg0 + 0x100000000) & 0x100000002": lambda a: True, "100 / (arg0 - 5) >= 20": lambda a: a > 5 and 100 // (a - 5) >= 20,
}  # fmt: skip


@pytest.mark.parametrize(
    "predicates",
    [*([each] for each in PREDICATES), list(PREDICATES)],
    ids=lambda each: str(len(each)),
)
def test_a_predicate_that_is_looked_at_ahead_lets_the_same_firings_pass(target, predicates):
    """One by one, and where each firing has to pass by all of them."""
    clauses = [
        f"target*:::plain-two /{each}/ {{ @[{i}] = count(); }}" for i, each in enumerate(predicates)
    ]
    out, err, _ = pydtrace("-q", "-n", " ".join(clauses), "-c", f"{target} 400")
    counts = dict(
        map(int, line.split()) for line in out.splitlines() if not line.startswith("plain") and line
    )
    assert counts == {
        i: sum(map(bool, map(PREDICATES[each], range(400)))) for i, each in enumerate(predicates)
    }
    assert err.count("divide-by-zero") == any("100 /" in each for each in predicates)


def test_a_single_clause_is_called_only_where_it_has_to_be_a_function():
    def calls(insns):
        return sum(insn.opcode == CALL and insn.src == PSEUDO_CALL for insn in insns)

    assert (
        calls(linked("x:::y { @ = count(); }")),
        calls(linked("x:::y { @ = count(); }", apart=True)),
    ) == (0, 1)


@pytest.mark.parametrize(
    "text, late",
    [
        ("x:::y { @[copyinstr(arg0)] = count(); }", True),
        ("x:::y { trace(copyinstr(arg0)); }", False),
        ("x:::y { @[copyinstr(arg0)] = count(); } x:::y { self->t = timestamp; }", False),
        ("x:::y { @[copyinstr(arg0)] = max(walltimestamp); }", False),
        ("BEGIN { n = speculation(); } x:::y { commit(n); }", True),
    ],
)
def test_the_clock_is_read_for_a_fault_only_where_there_is_one(text, late):
    """Where a clause emits a record, that and the fault's have the firing's one time."""
    insns = linked(text)
    main = insns.index(exit_())  # what is called stands behind
    assert [insns.index(CLOCK) > main, insns.count(CLOCK)] == [late, 1 + ("commit" in text)]


def test_a_report_tells_when_and_where():
    """By the order of the output, which is the time's."""
    out, err, _ = pydtrace(
        "-q",
        "-n",
        'BEGIN { n = speculation(); speculate(n); printf("held\\n"); } BEGIN { commit(n); } '
        'BEGIN { @[copyinstr(arg0)] = count(); } BEGIN { printf("after\\n"); exit(0); }',
    )
    assert out.startswith("held\nafter\n") and "invalid address" in err
