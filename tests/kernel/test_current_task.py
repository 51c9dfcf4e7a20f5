"""What the kernel knows of the task that fires: errno, arguments, curpsinfo, curlwpsinfo."""

import os
import subprocess
import sys

import pytest

from tests.support.kernel_harness import pydtrace
from tests.support.paths import ORACLE

pytestmark = pytest.mark.usefixtures("bpf")
NO_FOLDER = 1077  # a descriptor that is not open
FAILS = f"""import os
for name, where in (("/", None), ("x", {NO_FOLDER}), ("/proc/nonexistent/x", None)):
    try:
        os.unlink(name, dir_fd=where)
    except OSError:
        pass
os.getppid()
"""


@pytest.fixture
def fails(tmp_path):
    script = tmp_path / "fails.py"
    script.write_text(FAILS)
    return f"{sys.executable} {script}"


def test_errno(fails):
    """At a call's return, where it failed; nowhere else, although what openat() takes as the folder is -100."""
    script = """syscall::unlink*:entry /pid == $target/ { printf("entry %d\\n", errno); }
        syscall::unlink*:return /pid == $target/ { printf("return %d %d %d\\n", errno, arg0, arg1); self->seen = 1; }
        syscall::getppid:return /pid == $target && self->seen/ { printf("getppid %d\\n", errno); }
        syscall::getppid:return /pid == $target && self->seen/ { trace(*(int *)0); }
        ERROR { printf("error %d\\n", errno); }"""
    out, err, _ = pydtrace("-q", "-n", script, "-c", fails)
    told = [line for line in out.splitlines() if line]
    assert told == [
        "entry 0",
        "return 21 -21 -21",
        "entry 0",
        "return 9 -9 -9",
        "entry 0",
        "return 2 -2 -2",
        "getppid 0",
        "error 0",
    ], (out, err)


def test_the_running_process_and_thread(fails, tmp_path):
    script = """syscall::getppid:entry /pid == $target/ { printf("%s|%s|%d|%d|%d|%d|%d\\n", curpsinfo->pr_fname, curpsinfo->pr_psargs,
        curpsinfo->pr_pid == pid, curpsinfo->pr_ppid == ppid, curlwpsinfo->pr_lwpid == tid, curlwpsinfo->pr_pri > 0,
        curthread->tgid == pid && stringof(curthread->comm) == execname); printf("%s\\n", execargs); }"""
    out, err, _ = pydtrace("-q", "-n", script, "-c", fails)
    assert fails[:79] in out.splitlines(), (out, err)
    assert f"{os.path.basename(sys.executable)[:15]}|{fails[:79]}|1|1|1|1|1" in out.splitlines(), (
        out,
        err,
    )


def test_long_arguments_are_cut(fails):
    out, err, _ = pydtrace(
        "-q",
        "-n",
        'syscall::getppid:entry /pid == $target/ { printf("<%s>", execargs); }',
        "-c",
        f"{fails} {'x' * 100}",
    )
    assert f"<{(fails + ' ' + 'x' * 100)[:79]}>" in out, (out, err)


def test_the_embedded_engine_has_no_such_thing():
    out, err, status = pydtrace(
        "-x", "engine=embedded", "-n", "BEGIN { trace(curpsinfo->pr_pid); }"
    )
    assert (out, status) == ("", 1) and "-x engine=kernel" in err


def test_a_task_is_known_without_curthread():
    """It was "no struct task_struct definition is available"."""
    out, err, status = pydtrace(
        "-q",
        "-n",
        'sched:::wakeup { printf("%d", ((struct task_struct *)arg0)->pid > 0); exit(0); }',
    )
    assert (status, out) == (0, "1\n"), err


def test_structs_of_the_kernel_are_as_large_as_dtrace_s():
    """They ended behind the last member that psinfo_t's translator reads: 1856 bytes of a task's 3264."""
    script = 'BEGIN { printf("%d %d", sizeof(*curthread), sizeof(struct cred)); exit(0); }'
    ours = pydtrace("-q", "-n", script)
    subprocess.run([ORACLE, "setup"], check=True)
    theirs = subprocess.run(
        [ORACLE, "dtrace", "-q", "-n", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert ours == (theirs.stdout, theirs.stderr, 0)


@pytest.mark.parametrize(
    "name, args",
    [
        ("enqueue", "args[0]->pr_lwpid, args[1]->pr_pid, args[2]->cpu_id, args[3]"),
        ("dequeue", "args[0]->pr_lwpid, args[1]->pr_pid, args[2]->cpu_id"),
        ("tick", "args[1]->pr_pid"),
    ],
)
def test_probes_of_dtrace_alone_have_their_arguments(name, args):
    """A script of them compiles as with dtrace, and is told that they are not here."""
    clause = f"sched:::{name} {{ @[{args}] = count(); }}"
    assert pydtrace("-Ze", "-n", clause)[2] == 0
    _, err, status = pydtrace("-n", clause)
    assert status == 1 and f"probe description sched:::{name} does not match any probes" in err
