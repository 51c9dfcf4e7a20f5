"""Where in pyusdt's own sites the engine attaches, and what the running kernel makes of it."""

import os
import signal
import subprocess
import sys

import pytest

import pyusdt._core
from pydtrace import _tracer
from pydtrace.bpf import syscalls
from pydtrace.cli.commands import doctor
from pydtrace.engine.kernel import uprobe_attach
from pydtrace.symbols import elf
from tests.support.kernel_harness import DATA, start_pydtrace, wait_until

pytestmark = pytest.mark.usefixtures("bpf")
INT3, CALL, NOP = 0xCC, 0xE8, 0x90
NOP10_AT, NOP5_AT = 1, 11


@pytest.fixture
def firing():
    process = subprocess.Popen(
        [sys.executable, os.path.join(DATA, "firing.py")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.communicate()


def site(process):
    """The 16 bytes of user_trace-i4s4's site in a process."""
    path = pyusdt._core.__file__
    note = next(note for note in elf.ElfFile(path).read_notes() if note.name == "user_trace-i4s4")
    with open(f"/proc/{process.pid}/maps") as maps:
        start = next(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(path))
    with open(f"/proc/{process.pid}/mem", "rb") as memory:
        memory.seek(start + note.address)
        return memory.read(16)


def traced(process, *options):
    """The site while it is traced and has been hit, and the number of events."""
    tracer = start_pydtrace(
        "-q",
        *options,
        "-n",
        'BEGIN { printf("ready\\n"); } pyusdt$target:::user_trace-i4s4 '
        '{ @ = count(); n++; } tick-50ms /n > 20/ { printf("hit\\n"); n = -1000000; }',
        "-p",
        process.pid,
        wait_for="ready",
    )
    while "hit" not in tracer.stdout.readline():
        pass
    found = site(process)
    tracer.send_signal(signal.SIGINT)
    count = int(tracer.communicate(timeout=10)[0].split()[-1])
    return found, count


def test_the_nop5_is_replaced_by_a_call_where_that_is_asked_for(firing):
    untouched = site(firing)
    assert untouched[0] == NOP
    found, count = traced(firing, "-x", "nop5")
    assert count > 20
    if uprobe_attach.Attacher(nop5=True).nop_offset(untouched):
        assert found[NOP5_AT] == CALL and found[:NOP5_AT] == untouched[:NOP5_AT]
    else:
        assert found[0] == INT3
    wait_until(
        lambda: (
            site(firing)[0] == NOP and site(firing)[NOP10_AT:NOP5_AT] == untouched[NOP10_AT:NOP5_AT]
        )
    )


def test_the_plain_nop_is_used_where_that_is_asked_for(firing):
    untouched = site(firing)
    found, count = traced(firing, "-x", "nop5=off")
    assert found[0] == INT3 and found[1:] == untouched[1:] and count > 20
    wait_until(lambda: site(firing) == untouched)


def test_what_was_tried_is_used(firing):
    """The plain nop on Linux 6.18; `pyusdt doctor` says the same."""
    place = uprobe_attach.find_cheapest_nop()
    found, count = traced(firing)
    said = next(finding.text for finding in doctor.check_machine() if finding.subject == "uprobes")
    assert f"attaches at {f'+{place}' if place else 'the nop'} here" in said
    assert (
        count > 20 and found[place] == (CALL if place else INT3) and place in (0, NOP10_AT, NOP5_AT)
    )


def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return file.read()


def end_of_trial(fd):
    place, child = _tracer.kernel_trial(fd, 16)
    wait_until(lambda: _tracer.kernel_trial_ended(child))
    return place


def test_a_trial_of_a_site_without_a_probe():
    """Neither a call nor a return: the processes that try it end, and nobody is told."""
    told, already = [], children()
    before = signal.signal(signal.SIGCHLD, lambda *_: told.append(1))
    try:
        for code in (
            bytes(16),
            b"\x90" * 16 + b"\xc3",
            b"\xeb\xfe",
            b"\xe8\0\0\0\0" + b"\x58" + b"\x90" * 10 + b"\xc3",
        ):
            fd = os.memfd_create("code")
            os.write(fd, code)
            assert end_of_trial(fd) == 0
            os.close(fd)
        assert end_of_trial(1 << 20) == 0 and not told
        assert children() == already
    finally:
        signal.signal(signal.SIGCHLD, before)


FORKS = """import os, sys, pyusdt
print("ready", flush=True)
sys.stdin.readline()
pyusdt.p(1)  # the kernel puts its instruction where it is hit first
if not os.fork():
    pyusdt.p(2)
    os._exit(0)
print(os.wait()[1], flush=True)
"""


def forked_while_traced(*options):
    """How the forked child of a traced process ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        tracer = start_pydtrace(
            "-q",
            *options,
            "-n",
            r'BEGIN { printf("ready\n"); } pyusdt$target:::user_trace-i4s4 { }',
            "-p",
            process.pid,
            wait_for="ready",
        )
        out, _ = process.communicate("go\n", timeout=30)
        tracer.communicate(timeout=30)
    finally:
        process.kill()
    return int(out)


def test_a_forked_child_of_a_traced_process_survives_its_firing():
    """fork() copies a call that the kernel puts at a nop5, and on Linux 6.18 not the page that it leads to."""
    assert forked_while_traced() == 0


def test_the_trial_says_what_a_traced_process_sees():
    """The child that dies, of whom the default is afraid, dies in earnest too; where none dies the nop5 is taken by itself."""
    if not uprobe_attach.Attacher(nop5=True).nop_offset(uprobe_attach.SITE_CODE):
        assert not syscalls.has_uprobe_syscall() or uprobe_attach.kernel_version() >= (7, 3)
        return
    place = uprobe_attach.find_cheapest_nop()
    assert (forked_while_traced("-x", "nop5") == 0) == (place == NOP5_AT)
