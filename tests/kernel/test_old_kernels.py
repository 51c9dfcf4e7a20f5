"""Kernels that lack what the kernel engine may use: what is told, and with which status pydtrace ends.

The kernel here has it all, so what is asked of it is put aside in pydtrace itself.
"""

import errno
import re
import subprocess
import sys

import pytest

from tests.support.kernel_harness import DATA, PYDTRACE, compile_c

pytestmark = pytest.mark.usefixtures("bpf")
NO_TYPES = "from pydtrace.engine.kernel import kernel_structs as structs; structs.BTF = '/sys/none'"
NO_EVENT = """
import os
from pydtrace.bpf import syscalls as kernel
def refused(*arguments, **more): raise OSError({0}, os.strerror({0}))
kernel._open_perf_event = refused
"""


def pydtrace(lack, script, *arguments):
    """(standard output, standard error, status)."""
    command = [
        sys.executable,
        "-c",
        f"{lack}\nfrom pydtrace.cli.pydtrace.main import main; main()",
        "-x",
        "engine=kernel",
        "-q",
        "-n",
        script,
    ]
    done = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout, done.stderr, done.returncode


def test_stacks_are_native_without_types_of_the_kernel(tmp_path):
    nested = compile_c(f"{DATA}/nested.c", tmp_path / "nested", "-fno-omit-frame-pointer")
    out, err, status = pydtrace(NO_TYPES, "nested$target:::here { jstack(); }", "-c", nested)
    assert "nested`innermost" in out and status == 0, (out, err)
    assert err == (
        "dtrace: stacks have no frames of Python: kernel engine: this kernel does not tell where a task has its parts (BTF): "
        "/sys/none: No such file or directory; a kernel with CONFIG_DEBUG_INFO_BTF does\n"
    )


@pytest.mark.parametrize(
    ("lack", "told"),
    [
        (
            "from pydtrace.unwind import unwind_rows as unwound; unwound.ROWS = 100",
            r"followed only by frame pointers: libc\.so\.6: its tables have more than 100 rows\n",
        ),
        (
            "from pydtrace.engine.kernel import uprobe_attach; uprobe_attach.kernel_version = lambda: (5, 16)",
            "native stacks were followed only by frame pointers: .*5.17",
        ),
    ],
    ids=["rows", "kernel"],
)
def test_stacks_without_tables_are_told(lack, told):
    """To whoever asks; they are there all the same."""
    script = "syscall::clock_nanosleep:entry /pid == $target/ { ustack(); }"
    out, err, status = pydtrace(lack, script, "-v", "-c", "sleep 0.3")
    assert "`" in out and status == 0, (out, err)
    assert re.search(told, err), err
    assert "frame pointers" not in pydtrace(lack, script, "-c", "sleep 0.3")[1]


@pytest.mark.parametrize(
    "script", ["proc:::exit { trace(arg0); }", "BEGIN { trace(ppid); exit(0); }"]
)
def test_what_needs_types_of_the_kernel_is_refused_without(script):
    out, err, status = pydtrace(NO_TYPES, script, "-c", "true")
    assert (
        (out, status) == ("", 1)
        and err.startswith("dtrace: ")
        and "this kernel does not tell where a task has its parts (BTF)" in err
    ), err


def test_names_that_need_types_of_the_kernel_have_a_hint():
    out, err, status = pydtrace(NO_TYPES, "BEGIN { trace(curthread->pid); exit(0); }")
    assert (out, status) == (
        "",
        1,
    ) and "if the kernel has BTF (/sys/kernel/btf/vmlinux)" in err, err


@pytest.mark.parametrize("number, why", [
    (errno.ENOSYS, "this kernel has no perf_event_open(2), or no clock for it"),
    (errno.ENOENT, "this kernel has no perf_event_open(2), or no clock for it"),
    (errno.EOPNOTSUPP, "this kernel has no perf_event_open(2), or no clock for it"),
    (errno.EPERM, "perf_event_open(2) is forbidden here"), (errno.EACCES, "perf_event_open(2) is forbidden here")])  # fmt: skip
def test_profile_without_perf_events(number, why):
    out, err, status = pydtrace(
        NO_EVENT.format(number), "profile-97 { @ = count(); }", "-c", "true"
    )
    assert (out, status) == ("", 1) and err.startswith(
        "dtrace: kernel engine: failed to start the timers of profile-97: "
    ), err
    assert why in err and "-x engine=embedded" in err, err


def test_threads_that_wait_have_no_cpu_to_be_sampled_on():
    out, err, status = pydtrace(
        "", "profile-97 { @ = count(); }", "-x", "profilewall", "-c", "true"
    )
    assert (
        (out, status) == ("", 1)
        and err.startswith("dtrace: -x profilewall: ")
        and "sched:::off-cpu" in err
    ), err


def test_the_embedded_engine_is_chosen_for_threads_that_wait():
    """It samples the one that sleeps again and again; -v says which engine it is."""
    script = "profile-997 /pid == $target/ { @[jstack()] = count(); n++; } profile-997 /n > 300/ { exit(0); }"
    command = [
        PYDTRACE,
        "-q",
        "-v",
        "-x",
        "profilewall",
        "-n",
        script,
        "-c",
        f"{sys.executable} -c 'import time; time.sleep(60)'",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "engine: embedded" in done.stderr and "<module> (<string>:1)" in done.stdout, done
