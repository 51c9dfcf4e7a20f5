"""Linked programs: what the verifier says of them, and what is said when it refuses one."""

import os

import pytest

from pyusdt.bpf import kernel
from pyusdt.bpf.insn import R6, load
from pyusdt.dlang.compile import compile_program
from pyusdt.engine import EngineError, Targets, kernel_errors
from pyusdt.engine.kernel import KernelEngine
from pyusdt.engine.kernel_link import Event, Linker, demanded
from pyusdt.engine.kernel_maps import KernelMaps

pytestmark = pytest.mark.usefixtures("bpf")
SCRIPTS = [
    "x*:::y { @ = count(); }",
    'x*:::y { printf("%d %s %s %s %s", arg0, execname, probefunc, probeprov, copyinstr(arg1)); }',
    "x*:::y { this->a = copyinstr(arg0); self->b[this->a] = timestamp; @[this->a, uid, gid, walltimestamp] = sum(arg9); }",
    "x*:::y /arg0 / 3 == 2/ { exit(arg1); } x*:::y { n++; trace(cpu); }",
]


@pytest.mark.parametrize("text", SCRIPTS)
@pytest.mark.parametrize("has_preempt", [True, False], ids=["preempt_disable", "exchange"])
@pytest.mark.parametrize("prog_type", [kernel.KPROBE, kernel.RAW_TRACEPOINT, kernel.TRACEPOINT, kernel.PERF_EVENT])
def test_the_verifier_takes_what_is_linked(text, has_preempt, prog_type):
    program = compile_program(text)
    maps = KernelMaps(program, 8)
    try:
        if not has_preempt:
            maps.places.preempt = None
        own = prog_type == kernel.RAW_TRACEPOINT
        event = Event(own=own, pid=12, never=(13, 14), profile="x86_64" if prog_type == kernel.PERF_EVENT else None)
        indexes = [clause.index for clause in program.clauses]
        os.close(kernel.load(Linker(program, maps.places).link(indexes, event), maps.fds, prog_type))
    finally:
        maps.close()


def test_what_nobody_reads_is_not_fetched():
    program = compile_program("x*:::y { @ = count(); } x*:::z { trace(timestamp); }")
    maps = KernelMaps(program, 0)
    try:
        linker = Linker(program, maps.places)
        calls = [{insn.imm for insn in linker.link([index], Event()) if insn.opcode == 0x85 and insn.src == 0}
                 for index in (0, 1)]
    finally:
        maps.close()
    clock, cookie, uid = 5, 174, 15
    assert calls[0].isdisjoint({clock, cookie, uid}) and {clock, cookie} <= calls[1] and uid not in calls[1]
    assert demanded(program.clauses) == []


def test_a_refused_program_is_told_by_its_line_and_the_log_is_kept():
    program = compile_program("BEGIN { n = 1; }\n\nBEGIN {\n  n = 2; trace(n); }", "two.d")
    clause = program.clauses[1]
    place = next(first for first, loc in clause.lines if loc.line == 4)
    clause.code[max(place, 9)] = load(8, 3, R6, 32000)  # far outside of the state block
    engine = KernelEngine(program, {})
    try:
        with pytest.raises(EngineError, match=r"refused a program that pyusdt made for two.d, line \d.*bug of pyusdt") as caught:
            engine.open(Targets((os.getpid(),)))
    finally:
        engine.close()
    path = str(caught.value).split()[-1]
    with open(path) as file:
        assert "invalid access" in file.read()
    os.unlink(path)
    assert "line 4" in str(caught.value)


def test_the_missing_capability_is_named(monkeypatch):
    monkeypatch.setattr(kernel_errors, "effective", lambda: 1 << kernel_errors.CAPABILITIES["CAP_BPF"])
    assert "(CAP_PERFMON, or root, needed)" in str(kernel_errors.failed("load", PermissionError(1, "no")))
    assert "needed" not in str(kernel_errors.failed("map", PermissionError(1, "no")))


@pytest.mark.parametrize("count", [240, 300])
def test_many_clauses_on_one_probe(count):
    """The kernel takes 256 functions in a program; what the clauses share (faults, strings that are cut) counts once."""
    program = compile_program("".join(f'x:::y {{ printf("{i} %s", copyinstr(arg{i % 10})); }}\n' for i in range(count)))
    engine = KernelEngine(program, {})
    try:
        engine.open(Targets((os.getpid(),)))
        indexes = [clause.index for clause in program.clauses]
        if count == 240:
            os.close(engine._load(indexes, Event(), lambda insns, fds, types: kernel.load(insns, fds, types=types)))
        else:
            with pytest.raises(EngineError, match="a probe has 300 clauses, more than the kernel takes in one program"):
                engine._load(indexes, Event(), lambda insns, fds, types: kernel.load(insns, fds, types=types))
    finally:
        engine.close()
