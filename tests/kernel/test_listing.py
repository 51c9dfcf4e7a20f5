"""pydtrace -l and the choice of the engine."""

import errno
import os
import subprocess
import sys

import pytest

from pydtrace.engine.kernel.kernel_errors import make_access_error
from tests.support.kernel_harness import PYDTRACE, pydtrace

pytestmark = pytest.mark.usefixtures("bpf")


def listed(*arguments):
    out, err, status = pydtrace("-l", *arguments)
    return {tuple(line.split()[1:]) for line in out.splitlines()[1:]}, err, status


def test_the_probes_of_a_process(running):
    process = running(0)
    found, _, status = listed("-p", process.pid)
    provider = f"target{process.pid}"
    assert status == 0 and {probe for probe in found if probe[0].startswith("target")} == {
        (provider, "target", "fire_plain", "plain-two"),
        (provider, "target", found_function(found), "guarded-one"),
    }


def found_function(found):
    """The compiler may put the probe into its caller."""
    return next(probe[2] for probe in found if probe[3:] == ("guarded-one",))


def test_functions_and_system_calls_are_listed_where_they_are_named(running):
    process = running(0)
    found, _, _ = listed(
        "-p", process.pid, "-n", "pid$target:target:fire_plain:[er]*", "-n", "syscall::openat:"
    )
    pid = f"pid{process.pid}"
    assert found == {
        (pid, "target", "fire_plain", "entry"),
        (pid, "target", "fire_plain", "return"),
        ("syscall", "vmlinux", "openat", "entry"),
        ("syscall", "vmlinux", "openat", "return"),
    }


def test_system_calls_come_in_the_kernels_order_the_entry_first():
    out, _, _ = pydtrace("-l", "-n", "syscall::socket*:")
    calls = [line.split()[3:] for line in out.splitlines()[1:]]
    assert calls == [
        ["socket", "entry"],
        ["socket", "return"],
        ["socketpair", "entry"],
        ["socketpair", "return"],
    ]


def test_all_processes(running):
    first, second = running(0), running(0)
    found, _, _ = listed("-n", "target*:::plain-two")
    assert {f"target{first.pid}", f"target{second.pid}"} <= {probe[0] for probe in found}


def test_no_such_process():
    assert listed("-p", 4194303) == (set(), "dtrace: No such process: 4194303\n", 1)


def verbose(*arguments):
    done = subprocess.run(
        [PYDTRACE, "-v", "-q", *arguments], check=False, capture_output=True, text=True, timeout=30
    )
    return next(line for line in done.stderr.splitlines() if "engine:" in line)


def test_the_engine_is_chosen_by_the_probes_and_named(target):
    python = f"{sys.executable} -c pass"
    assert "engine: embedded" in verbose("-n", "pyusdt$target:::user_trace-i4s4 {}", "-c", python)
    assert "engine: kernel" in verbose("-n", "target$target:::plain-two {}", "-c", target + " 1")
    assert "engine: kernel (as -x engine says)" in verbose(
        "-x", "engine=kernel", "-n", "pyusdt$target:::user_trace-i4s4 {}", "-c", python
    )


def test_an_engine_that_was_named_is_never_replaced(target):
    out, err, status = pydtrace(
        "-x", "engine=embedded", "-n", "target$target:::plain-two {}", "-c", target + " 1"
    )
    assert status == 1 and "does not match any probes" in err and out == ""


def test_what_is_said_of_a_process_that_can_not_be_looked_at():
    """As of the first process of a container, for its root."""
    assert str(
        make_access_error(PermissionError(errno.EACCES, "Permission denied", "/proc/1/exe"), [1])
    ) == ("process 1 may not be looked at: Permission denied")
    gone = FileNotFoundError(errno.ENOENT, "No such file or directory", "/proc/4194303/maps")
    assert str(make_access_error(gone, [os.getpid(), 4194303])) == "No such process: 4194303"
    assert (
        str(make_access_error(PermissionError(errno.EPERM, "Operation not permitted"), []))
        == "Operation not permitted"
    )
