"""The pid provider, and the kernel's own side: syscall, proc, sched.  Values as the real dtrace has them."""

import os
import re

import pytest
from kernel_harness import DATA, compile_c, pydtrace

pytestmark = pytest.mark.usefixtures("bpf")


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    return compile_c(os.path.join(DATA, "functions.c"), tmp_path_factory.mktemp("functions") / "functions")


def printed(script, command):
    out, err, _ = pydtrace("-q", "-n", script, "-c", command)
    assert "error" not in err, err
    return out.splitlines()


@pytest.mark.parametrize("module", ["functions", "a.out", "func*", ""])
def test_arguments_at_a_functions_entry_and_its_value_at_the_return(functions, module):
    lines = printed(f'pid$target:{module}:add8:entry {{ printf("in %s %d %d %d %d %d %d %d %d\\n", probemod, arg0, arg1, arg2, '
                    f'arg3, arg4, arg5, arg6, arg7); }} pid$target:{module}:add8:return {{ printf("out %d %d\\n", arg0, arg1); }}',
                    functions)
    expected = [line for i in range(3) for line in (f"in functions {i} 1 2 3 4 5 6 7", f"out 0 {28 + i}")]
    assert [line for line in lines if line.startswith(("in", "out"))] == expected


def test_a_static_function_and_a_librarys(functions):
    lines = printed('pid$target:functions:hidden:return { printf("hidden %d\\n", arg1); } '
                    'pid$target:libc.so:malloc:entry /arg0 == 12345/ { printf("malloc %s\\n", probemod); }', functions)
    assert [line for line in lines if " " in line] == ["hidden 0", "hidden -1", "hidden -2", "malloc libc.so.6"]


def test_a_glob_over_functions(functions):
    lines = printed("pid$target:a.out:add?:,pid$target:a.out:hid*:entry { @[probefunc, probename] = count(); }", functions)
    counted = {tuple(line.split()[:2]): int(line.split()[2]) for line in lines if len(line.split()) == 3}
    assert counted == {("add8", "entry"): 3, ("add8", "return"): 3, ("hidden", "entry"): 3}


def test_all_functions_of_libc_that_can_be_attached(functions):
    lines = printed('pid$target:libc.so.6:mem*:entry { @["n"] = count(); } END { printf("end\\n"); }', functions)
    assert "end" in lines


def test_system_calls_by_name(functions):
    lines = printed('syscall::write:entry /pid == $target/ { printf("in %s %d %d %d %s\\n", probefunc, arg0, arg2, arg3, '
                    'stringof(copyinstr(arg1, 2))); } syscall::write:return /pid == $target/ { printf("out %d %d\\n", arg0, arg1); }',
                    functions)
    written = next(line for line in lines if re.fullmatch(r"\d+", line))
    size = len(written) + 1
    assert [line for line in lines if line.startswith(("in", "out"))] == [f"in write 1 {size} 0 {written[:1]}", f"out {size} {size}"]


def test_exec_and_the_end_of_threads(target):
    lines = printed('proc:::exec-success /pid == $target/ { printf("exec %s\\n", execname); } '
                    'proc:::lwp-exit /pid == $target/ { @ = count(); } sched:::off-cpu /pid == $target/ { off = 1; } '
                    'END { printf("off %d\\n", off); }', f"{target} 100 3")
    assert "exec target" in lines and "off 1" in lines and lines[-1].split() == ["4"]


def test_profile_fires_where_the_process_is(target):
    lines = printed("profile-997 /pid == $target/ { @[arg0 != 0, arg1 != 0] = count(); }", f"{target} 3000000")
    counted = {tuple(line.split()[:2]): int(line.split()[2]) for line in lines if len(line.split()) == 3}
    assert counted[("0", "1")] > 0 and set(counted) <= {("0", "1"), ("1", "0")}


def test_an_interrupt_in_a_firing_changes_nothing(target):
    """profile-n interrupts firings that are half-way through a string; each has its own state block."""
    lines = printed("target*:::plain-two { this->s = copyinstr(arg1); @[this->s, tid != 0] = count(); } "
                    "profile-4999 { this->s = execname; @p[this->s] = count(); } "
                    "target*:::plain-two /arg0 == 99999/ { @last[copyinstr(arg1)] = count(); }", f"{target} 100000 2")
    words = [line.split() for line in lines if line.split()[:1] and line.split()[0] in ("zero", "one", "two", "three")]
    assert sorted(words) == sorted([[word, "1", "50000"] for word in ("zero", "one", "two", "three")] + [["three", "2"]])
