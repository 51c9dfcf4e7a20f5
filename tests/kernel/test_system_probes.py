"""The pid provider, and the kernel's own side: syscall, proc, sched.  Values as the real dtrace has them."""

import os
import re
import signal
import struct
import subprocess

import pytest

from pydtrace.dlang.compile import compile_program
from pydtrace.engine import Targets
from pydtrace.engine.kernel.engine import KernelEngine
from pydtrace.engine.kernel.kernel_structs import BTF
from pydtrace.engine.kernel.probes import system_probes
from pydtrace.engine.kernel.probes.raw_tracepoints import PROVIDERS, KernelInfo, fixed_probes
from pydtrace.process.syscall_numbers import syscall_numbers
from tests.support.kernel_harness import DATA, compile_c, pydtrace, start_pydtrace, wait_until

pytestmark = pytest.mark.usefixtures("bpf")


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    return compile_c(
        os.path.join(DATA, "functions.c"), tmp_path_factory.mktemp("functions") / "functions"
    )


def printed(script, command):
    out, err, _ = pydtrace("-q", "-n", script, "-c", command)
    assert "error" not in err, err
    return out.splitlines()


def test_the_providers_are_those_of_the_rows():
    assert {probe.names[0] for probe in fixed_probes(KernelInfo())} == set(PROVIDERS)


@pytest.mark.parametrize("module", ["functions", "a.out", "func*", ""])
def test_arguments_at_a_functions_entry_and_its_value_at_the_return(functions, module):
    lines = printed(
        f'pid$target:{module}:add8:entry {{ printf("in %s %d %d %d %d %d %d %d %d\\n", probemod, arg0, arg1, arg2, '
        f'arg3, arg4, arg5, arg6, arg7); }} pid$target:{module}:add8:return {{ printf("out %d %d\\n", arg0, arg1); }}',
        functions,
    )
    expected = [
        line for i in range(3) for line in (f"in functions {i} 1 2 3 4 5 6 7", f"out 0 {28 + i}")
    ]
    assert [line for line in lines if line.startswith(("in", "out"))] == expected


def test_a_static_function_and_a_librarys(functions):
    lines = printed(
        'pid$target:functions:hidden:return { printf("hidden %d\\n", arg1); } '
        'pid$target:libc.so:malloc:entry /arg0 == 12345/ { printf("malloc %s\\n", probemod); }',
        functions,
    )
    assert [line for line in lines if " " in line] == [
        "hidden 0",
        "hidden -1",
        "hidden -2",
        "malloc libc.so.6",
    ]


def test_a_glob_over_functions(functions):
    lines = printed(
        "pid$target:a.out:add?:[er]*,pid$target:a.out:hid*:entry { @[probefunc, probename] = count(); }",
        functions,
    )
    counted = {
        tuple(line.split()[:2]): int(line.split()[2]) for line in lines if len(line.split()) == 3
    }
    assert counted == {("add8", "entry"): 3, ("add8", "return"): 3, ("hidden", "entry"): 3}


def test_flow_of_functions_and_print_of_what_a_pointer_points_to(functions):
    script = """struct pair { int a; char n[3]; };
        pid$target:a.out:add8:[er]*, pid$target:a.out:hidden:[er]* { }
        pid$target:a.out:add8:entry { printf("further"); }
        END { this->p = (struct pair *)alloca(sizeof (struct pair)); this->p->a = -2; this->p->n[0] = 'x'; print(this->p); }"""
    out, err, _ = pydtrace("-F", "-x", "engine=kernel", "-n", script, "-c", functions)
    lines = [
        line[3:].rstrip() for line in out[out.index("CPU") :].splitlines() if line[:1] == " "
    ]  # not what it prints
    call = [
        "  -> add8",
        f"   | {'add8:entry':37} further",
        "  <- add8",
        "  -> hidden",
        "  <- hidden",
    ]
    assert lines[:15] == 3 * call, (out, err)
    assert ".a = (int)-2," in out and ".n = (char [3]) [" in out and "(char)'x'," in out


def test_progeny_is_told_by_the_kernels_chain_of_parents(functions):
    """The target is a child of the tracer's, which is one of ours."""
    lines = printed(
        f'pid$target:a.out:hidden:entry {{ printf("progeny %d%d%d%d%d%d\\n", progenyof(pid), progenyof(ppid), '
        f"progenyof($pid), progenyof({os.getpid()}), progenyof(1), progenyof(4194305)); }}",
        functions,
    )
    assert [line for line in lines if line.startswith("progeny")] == 3 * ["progeny 111110"]


def test_what_the_kernel_can_not_probe_is_told(tmp_path, running):
    """Linux has no uprobes on instructions with a lock prefix."""
    source = tmp_path / "locked.c"
    source.write_text(
        '#include <stdio.h>\nint n; __attribute__((naked, noinline)) void one_locked(void) { __asm__("lock incl n(%rip); '
        'ret"); }\n__attribute__((noinline)) void one_plain(void) { __asm__ volatile(""); }\n'
        "int main(void) { while (getchar() > 0) { one_locked(); one_plain(); } return 0; }\n"
    )
    process = running(program=compile_c(source, tmp_path / "locked"))
    tracer = start_pydtrace(
        "-q",
        "-n",
        'BEGIN { printf("ready\\n"); } pid$target:locked:one_*:entry { trace(probefunc); exit(0); }',
        "-p",
        process.pid,
        wait_for="ready",
    )
    wait_until(
        lambda: process.stdin.write("\n") and process.stdin.flush() or tracer.poll() is not None
    )
    out, err = tracer.communicate()
    assert "one_plain" in out and tracer.returncode == 0
    assert re.search(
        r"no probe on pid\d+:locked:one_locked:entry: the instruction there can have none", err
    ), err
    out, err, status = pydtrace("-q", "-n", "pid$target:locked:one_locked:entry", "-p", process.pid)
    assert status == 1 and "can have none" in err


def test_all_functions_of_libc_that_can_be_attached(functions):
    lines = printed(
        'pid$target:libc:mem*:entry { @["n"] = count(); } END { printf("end\\n"); }', functions
    )
    assert "end" in lines


def test_system_calls_by_name(functions):
    lines = printed(
        'syscall::write:entry /pid == $target/ { printf("in %s %d %d %d %s\\n", probefunc, arg0, arg2, arg3, '
        'stringof(copyinstr(arg1, 2))); } write:return /pid == $target/ { printf("out %d %d\\n", arg0, arg1); }',
        functions,
    )
    written = next(line for line in lines if re.fullmatch(r"\d+", line))
    size = len(written) + 1
    assert [line for line in lines if line.startswith(("in", "out"))] == [
        f"in write 1 {size} 0 {written[:1]}",
        f"out {size} {size}",
    ]


def test_arguments_beside_what_else_is_asked_of_the_thread():
    """Its arguments, its parent and its registers are found out before the call's own."""
    out, err, _ = pydtrace(
        "-qn",
        'syscall::exit_group:entry /pid == $target/ { printf("%d %d %s %d", arg0, ppid > 0, execargs, progenyof($pid)); }',
        "-x",
        "engine=kernel",
        "-c",
        "sh -c 'exit 7'",
    )
    assert out.strip() == "7 1 sh -c exit 7 1", err


@pytest.mark.skipif(not os.path.exists(BTF), reason="host: the kernel has no type information")
def test_arguments_have_the_types_of_the_kernels_words():
    """As in dtrace: an int of 32 bits that is negative, what has no sign, an address."""
    script = (
        "syscall::openat:entry /pid == $target/ { @[args[0], sizeof(args[0]), sizeof(args[1]), args[1] == (char *)arg1] = count(); } "
        "syscall::openat:return /pid == $target/ { @r[args[0] == arg0] = count(); }"
    )
    lines = printed(script, "cat /dev/null")
    rows = {tuple(line.split()[:-1]) for line in lines if line.strip()}
    assert rows == {("-100", "4", "8", "1"), ("1",)}


@pytest.mark.skipif(not os.path.exists(BTF), reason="host: the kernel has no type information")
@pytest.mark.parametrize(
    ("probe", "index", "there"),
    [
        ("syscall::write:entry", 2, True),
        ("syscall::write:entry", 3, False),
        ("write:entry", 3, False),
        ("syscall::getpid:entry", 0, False),
        ("syscall::write:return", 0, True),
        ("syscall::write:return", 1, False),
        ("syscall::w*:entry", 3, True),
    ],
)
def test_a_system_call_has_as_many_arguments_as_the_kernel_says(probe, index, there):
    """A pattern's are numbers, as many as any probe has."""
    _, err, status = pydtrace("-xerrtags", "-en", f"{probe} {{ trace(args[{index}]); }}")
    assert (status == 0, f"[D_ARGS_IDX] in action list: index {index} is out of range" in err) == (
        there,
        not there,
    ), err


def test_all_system_calls_at_once(functions):
    """One program for each side: attached and taken away at once; the calls are told apart as if each had its own."""
    script = (
        "syscall:::entry /pid == $target/ { @in[probefunc] = count(); } syscall:::return /pid == $target/ { @out[probefunc] = "
        'count(); } syscall::write:entry /pid == $target/ { @alone["write"] = count(); }'
    )
    program = compile_program(script.replace("$target", "1"))
    engine = KernelEngine(program, {})
    try:
        engine.open(Targets((os.getpid(),)))
        assert engine.matched[0][1] > 300
        engine.begin()
        assert len(engine.attacher.fds) == 3  # write's entry has another set of clauses
    finally:
        engine.close()
    counts = [line.split() for line in printed(script, functions) if len(line.split()) == 2]
    per_call = {}
    for name, count in counts:
        per_call.setdefault(name, []).append(int(count))
    assert per_call["openat"][0] == per_call["openat"][1] > 0 and len(per_call["write"]) == 3
    assert (
        len(set(per_call["write"])) == 1 and len(per_call["exit_group"]) == 1
    )  # it does not return


def test_the_numbers_of_system_calls_are_the_headers():
    """Of those that the C library's headers know by the same name."""
    found = re.findall(
        r"#define __NR_(\w+)\s+(\d+)",
        subprocess.run(
            ["gcc", "-E", "-dM", "-include", "asm/unistd.h", "-"],
            input="",
            check=True,
            capture_output=True,
            text=True,
        ).stdout,
    )
    table = syscall_numbers(os.uname().machine)
    known = {name: int(number) for name, number in found if name in table}
    assert len(known) > 300 and {name: table[name] for name in known} == known


def test_a_call_without_a_known_number_has_its_own_tracepoint(functions, monkeypatch):
    monkeypatch.setattr(system_probes, "TABLE_CALLS", 1)  # all but read
    program = compile_program(
        "syscall::write:entry { @ = sum(arg2); } syscall::write:return { @r = sum(arg1); }"
    )
    engine = KernelEngine(program, {})
    try:
        engine.open(Targets((os.getpid(),)))
        engine.begin()
        with open(os.devnull, "wb", buffering=0) as file:
            file.write(bytes(54321))
        sums = [
            struct.unpack("=Qq", engine.items(definition.map)[0][1][:16])[1]
            for definition in program.aggregations
        ]
        assert all(value >= 54321 for value in sums)
    finally:
        engine.close()


LIFE = """#!/bin/sh
/proc/nonexistent/command 2>/dev/null
kill -URG $$
trap : USR1
kill -USR1 $$
(exit 3)
kill -KILL $$
"""


@pytest.fixture
def life(tmp_path):
    """A script that goes through what proc:::'s probes tell of."""
    path = tmp_path / "pyu-life"
    path.write_text(LIFE)
    path.chmod(0o755)
    return str(path)


def test_the_life_of_a_process(life):
    script = """
        proc:::create /execname == "pyu-life"/ { printf("create %d\\n", arg0 != 0); }
        proc:::lwp-create /execname == "pyu-life"/ { printf("lwp-create\\n"); }
        proc:::start /execname == "pyu-life"/ { printf("start %d\\n", pid != $target); }
        proc:::exec { this->path = copyinstr(arg0); } proc:::exec /this->path == "/proc/nonexistent/command"/ { printf("exec\\n"); }
        proc:::exec-failure /execname == "pyu-life"/ { printf("failed %d\\n", arg0); }
        proc:::exec-success /pid == $target/ { printf("exec-success %s\\n", execname); }
        proc:::signal-send /execname == "pyu-life" && pid == $target && arg1 != SIGKILL/ { printf("sent %d\\n", arg1); }
        proc:::signal-discard /pid == $target && arg1 == SIGURG/ { printf("discarded %d\\n", arg1); }
        proc:::signal-handle /pid == $target && arg0 != SIGCHLD/ { printf("handled %d\\n", arg0); }
        proc:::exit /execname == "pyu-life"/ { printf("exit %d %d\\n", pid == $target, arg0); }
        proc:::lwp-exit /pid == $target/ { printf("lwp-exit\\n"); }"""
    lines = [line for line in printed(script, life) if line]
    assert lines[0] == "exec-success pyu-life" and lines[-2:] == ["exit 1 2", "lwp-exit"]
    once = [
        f"discarded {signal.SIGURG:d}",
        f"sent {signal.SIGUSR1:d}",
        f"handled {signal.SIGUSR1:d}",
        "exec",
        "failed -2",
    ]
    assert [lines.count(line) for line in once] == [1] * len(once)
    forks = lines.count("create 1")
    assert (
        forks >= 1
        and lines.count("lwp-create") == lines.count("start 1") == lines.count("exit 0 1") == forks
    )


def test_args_are_dtraces(life):
    """psinfo_t and lwpsinfo_t of the task that an argument is; the members that /proc tells as well."""
    script = """
        proc:::exec /pid == $target/ { printf("exec %s\\n", args[0]); }
        proc:::create /execname == "pyu-life" && pid == $target/ { self->made = args[0]->pr_pid;
            printf("create %d %d %d %d %d %s\\n", args[0]->pr_pid != pid, args[0]->pr_ppid == pid, args[0]->pr_uid, args[0]->pr_gid,
                   args[0]->pr_pgid == $1 && args[0]->pr_sid == $2, args[0]->pr_fname); }
        proc:::signal-send /pid == $target && args[2] == SIGUSR1/ { printf("send %s %d %d\\n", args[1]->pr_fname,
            args[0]->pr_lwpid == tid, args[1]->pr_pid == pid); }
        proc:::exit /pid == $target/ { printf("exit %d\\n", args[0]); }
        sched:::off-cpu /pid == $target/ { @[args[0]->pr_pri > 0, args[1]->pr_addr != 0] = count(); }"""
    out, err, _ = pydtrace(
        "-q", "-s", "/dev/stdin", "-c", life, os.getpgid(0), os.getsid(0), input=script
    )
    lines = out.splitlines()
    assert f"exec {life}" in lines and "create 1 1 0 0 1 pyu-life" in lines, (out, err)
    assert (
        lines.count("send pyu-life 1 1") == 1
        and "exit 2" in lines
        and lines[-1].split()[:2] == ["1", "1"]
    ), (out, err)


def test_threads_begin_and_end(target):
    lines = printed(
        "proc:::lwp-start /pid == $target/ { @began = count(); } proc:::start /pid == $target/ { @p = count(); } "
        "proc:::lwp-exit /pid == $target/ { @ended = count(); } proc:::exit /pid == $target/ { @exit = count(); } "
        'END { printa("%@d ", @began); printa("%@d ", @ended); printa("%@d.\\n", @exit); }',
        f"{target} 100 3",
    )
    assert "3 4 1." in lines


def test_on_and_off_the_cpu(target):
    """on-cpu is told in the name of the task that comes, off-cpu in that of the one that goes."""
    lines = printed(
        "sched:::off-cpu /pid == $target/ { off[tid] = arg0; } sched:::on-cpu /pid == $target && off[tid]/ { back = uid + 1; "
        'name = execname; } sched:::wakeup { woken = arg0 != 0; } END { printf("%d %s %d\\n", back, name, woken); }',
        "sleep 0.05",
    )
    assert "1 sleep 1" in lines


def test_who_comes_has_parents_of_its_own():
    """And a thread; its arguments are in memory that the task which goes can not read."""
    of_all = (
        f"[progenyof({os.getpid()}), ppid == parent, curthread->pid == tid, curpsinfo->pr_psargs]"
    )
    lines = printed(
        f"sched:::off-cpu /pid == $target/ {{ parent = ppid; }} sched:::on-cpu /pid == $target && parent/ {{ @{of_all} = count(); }} "
        'END { printa("%d %d %d [%s]\\n", @); }',
        "sleep 0.05",
    )
    assert [line for line in lines if line.endswith("]")] == ["1 1 1 []"], lines


def test_profile_fires_where_the_process_is(target):
    lines = printed(
        "profile-997 /pid == $target/ { @[arg0 != 0, arg1 != 0] = count(); }", f"{target} 3000000"
    )
    counted = {
        tuple(line.split()[:2]): int(line.split()[2]) for line in lines if len(line.split()) == 3
    }
    assert counted[("0", "1")] > 0 and set(counted) <= {("0", "1"), ("1", "0")}


def test_an_interrupt_in_a_firing_changes_nothing(target):
    """profile-n interrupts firings that are half-way through a string; each has its own state block."""
    lines = printed(
        "target*:::plain-two { this->s = copyinstr(arg1); @[this->s, tid != 0] = count(); } "
        "profile-4999 { this->s = execname; @p[this->s] = count(); } "
        "target*:::plain-two /arg0 == 99999/ { @last[copyinstr(arg1)] = count(); }",
        f"{target} 100000 2",
    )
    words = [
        line.split()
        for line in lines
        if line.split()[:1] and line.split()[0] in ("zero", "one", "two", "three")
    ]
    assert sorted(words) == sorted(
        [[word, "1", "50000"] for word in ("zero", "one", "two", "three")] + [["three", "2"]]
    )


def test_each_tick_prints_before_the_next_one_fires():
    """Two ticks that are due together: the first one's printa() shows nothing of what the second one adds.  Each prints a
    line when it fires, so an aggregation of all firings is the number of its line."""
    out, err, _ = pydtrace(
        "-q",
        "-n",
        'tick-20ms { @n = count(); printa("%@d\\n", @n); } tick-20msec { @n = count(); printf("-\\n"); } '
        "tick-20ms /++n == 9/ { exit(0); }",
    )
    lines = out.split()
    printed = [(at, line) for at, line in enumerate(lines, 1) if line != "-"]
    assert len(printed) >= 9 and all(line == str(at) for at, line in printed[:9]), (out, err)
