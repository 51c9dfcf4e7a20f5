"""copyout() and copyoutstr(): what is compiled, who may be written to, and what is told where the kernel does not let anybody write.

A kernel that is locked down has no bpf_probe_write_user; what needs it says so. The programs are then given to the verifier with
another helper in its place, which takes the same memory.
"""

import os
import re

import pytest

from pydtrace.bpf import syscalls
from pydtrace.bpf.insn import PSEUDO_CALL, R1, R2, R3, call, call_sub, exit_, mov, mov_imm
from pydtrace.dlang.compile import compile_program
from pydtrace.engine import EngineError
from pydtrace.engine.embedded.engine import EmbeddedEngine
from pydtrace.engine.kernel.kernel_maps import KernelMaps
from pydtrace.engine.kernel.linker import Linker, ProgramEvent
from pydtrace.engine.kernel.passes import user_memory_writes
from pydtrace.engine.kernel.passes.clause_analysis import find_process_writes
from tests.support.kernel_harness import PYDTRACE, compile_c, pydtrace

pytestmark = pytest.mark.usefixtures("bpf")
PRINTK, REFUSED = call(6), mov_imm(0, -14)
WRITER = """
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    char text[64];
    memset(text, '-', sizeof text);
    text[sizeof text - 1] = 0;
    int fd = open("/dev/null", O_WRONLY);
    if (write(fd, text, sizeof text - 1) < 0)
        return 1;
    for (unsigned i = 0; i < sizeof text - 1; i++)
        if (!text[i])
            text[i] = '|';
    puts(text);
    return 0;
}
"""
HELLO = 's = "HELLO WORLD; YOU HAVE A LONG MESSAGE TO DELIVER"; '
WRITTEN = [  # (actions, what the process then has there); all but the last two as dtrace does it, under Linux 6.1
    (HELLO + "copyoutstr(s, arg1, 64);", "HELLO WORLD; YOU HAVE A LONG MESSAGE TO DELIVER|"),
    (HELLO + "copyoutstr(s, arg1, 32);", "HELLO WORLD; YOU HAVE A LONG MES"),
    (HELLO + "copyout(s, arg1, 32);", "HELLO WORLD; YOU HAVE A LONG MES"),
    (
        "p = (int *)alloca(8); p[0] = 0x41424344; p[1] = 0x61626364; copyout(p, arg1 + 1, 8);",
        "-DCBAdcba",
    ),
    (
        'copyout(copyin(arg1, 4), arg1 + 5, 4); copyout("xyz", arg1 + 10, arg2 > 3 ? 3 : 1);',
        "----------xyz",
    ),
    ("copyout(alloca(8), arg1, arg2 / 8);", "|||||||"),
    ('copyoutstr("", arg1, 9);', "|"),
    (
        'self->s = "abc"; copyoutstr(self->s, arg1, arg2); copyoutstr(strjoin("x", "!"), arg1 + 10, arg2);',
        "abc|------x!|",
    ),
    ("p = (char *)alloca(4); p[0] = 65; copyoutstr(p, arg1, arg2); copyout(p, arg1 + 4, 0);", "A|"),
]


def linked(text, event, **options):
    """The instructions of all clauses, and the maps."""
    program = compile_program(text, options=options)
    maps = KernelMaps(program, 0)
    return Linker(program, maps.indexes).link_clauses(
        [clause.index for clause in program.clauses], event
    ), maps


@pytest.mark.parametrize("actions", [actions for actions, _ in WRITTEN])
def test_the_verifier_takes_what_is_linked(actions):
    """It looks at the memory of bpf_trace_printk() as at that of the helper which it refuses here."""
    insns, maps = linked(f"x*:::y {{ {actions} }}", ProgramEvent())
    try:
        places = find_process_writes(insns)
        assert places
        for at in places:
            insns[at] = call_sub(len(insns) - at - 1)
        insns += [mov(R1, R2), mov(R2, R3), PRINTK, mov_imm(0, 0), exit_()]
        os.close(syscalls.load_program(insns, maps.fds))
    finally:
        maps.close()


def test_every_write_asks_whether_it_is_the_tracer():
    """The helper stands in the guard alone, behind the comparison with our pid; where we fire the probe there is none."""
    text = 'x*:::y { copyout("abc", arg0, 3); copyoutstr("de", arg1, 9); } x*:::y { copyout(alloca(4), arg0, 4); }'
    for own in (False, True):
        insns, maps = linked(text, ProgramEvent(self_fired=own))
        maps.close()
        if own:
            assert not find_process_writes(insns) and insns.count(REFUSED) == 3
            continue
        (at,) = find_process_writes(insns)
        assert (insns[at - 4].imm, insns[at - 4].off) == (os.getpid(), 5) and insns[
            at + 2
        ] == REFUSED  # if r0 == pid goto …
        calls = [
            i
            for i, insn in enumerate(insns)
            if insn.src == PSEUDO_CALL and insn.opcode == call_sub(0).opcode
        ]
        start = max(i + 1 + insns[i].imm for i in calls if i + 1 + insns[i].imm <= at)
        assert sum(i + 1 + insns[i].imm == start for i in calls) == 3


def test_own_probes_write_nowhere():
    """BEGIN, END and ticks fire in the tracer: every address is a fault there. The kernel need not have the helper."""
    script = (
        'BEGIN { copyout("abc", 0x1000, 3); } ERROR { printf("%d %x\\n", arg4, arg5); exit(3); }'
    )
    out, err, status = pydtrace("-wqn", script)
    assert (out.split(), status) == (["1", "1000"], 3), (out, err, status)
    assert "invalid address (0x1000)" in err, err


def test_destructive_actions_must_be_allowed():
    out, err, status = pydtrace("-qn", "syscall::write:entry { copyout(alloca(4), arg1, 4); }")
    assert (out, err, status) == (
        "",
        "dtrace: could not enable tracing: Destructive actions not allowed\nhint: copyout() at -n:1:24 needs -w\n",
        1,
    )


def test_the_embedded_engine_has_no_process_to_write_to():
    with pytest.raises(EngineError, match=r"they need -x engine=kernel$"):
        EmbeddedEngine(
            compile_program('x*:::y { copyoutstr("a", arg0, 2); }'), {"destructive": True}
        )


@pytest.mark.parametrize("lockdown, told", [
    ("none [integrity] confidentiality\n", r"it is locked down \(.*: integrity\)"),
    ("[none] integrity confidentiality\n", r"Operation not permitted \(it is not locked down: .*\)"),
    (None, "mount -t securityfs none /sys/kernel/security")], ids=["locked", "open", "unknown"])  # fmt: skip
def test_a_kernel_that_lets_nobody_write_is_told_with_the_reason(
    lockdown, told, tmp_path, monkeypatch
):
    def refuse(*arguments):
        raise PermissionError(1, "Operation not permitted")

    if lockdown:
        (tmp_path / "lockdown").write_text(lockdown)
    monkeypatch.setattr(user_memory_writes, "LOCKDOWN", str(tmp_path / "lockdown"))
    monkeypatch.setattr(syscalls, "prog_load", refuse)
    user_memory_writes.check_writes(
        compile_program('BEGIN, END, tick-1s { copyoutstr("a", 1, 2); } x*:::y { trace(1); }')
    )  # nothing to write to
    with pytest.raises(EngineError) as caught:
        user_memory_writes.check_writes(compile_program('x*:::y { copyoutstr("a", arg0, 2); }'))
    assert "bpf_probe_write_user" in str(caught.value)
    assert re.search(told, str(caught.value).replace(str(tmp_path), "")), caught.value


def test_a_process_is_written_to(tmp_path):
    """The kernel decides; dtrace's status 1 where it refuses."""
    (tmp_path / "writer.c").write_text(WRITER)
    command = compile_c(tmp_path / "writer.c", tmp_path / "writer")
    before = "-" * 63
    for actions, after in WRITTEN:
        out, err, status = pydtrace(
            "-wqn", f"syscall::write:entry /pid == $target/ {{ {actions} exit(0); }}", "-c", command
        )
        if status == 1:
            assert err.startswith(
                "dtrace: could not enable tracing: copyout() and copyoutstr() need the kernel's helper"
            ), err
            pytest.skip(f"host: {err.strip()}")
        assert (out.split(), status) == ([after + before[len(after) :]], 0), (actions, out, err)


def test_no_host_is_told_to_write():
    import subprocess

    done = subprocess.run(
        [PYDTRACE, "--hosts", "nowhere.invalid", "-wqn", 'x*:::y { copyoutstr("a", arg0, 2); }'],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1 and "with --hosts, copyoutstr() does not work" in done.stderr, (
        done.stderr
    )
