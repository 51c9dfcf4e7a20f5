"""Raw tracepoints, with arguments of the kernel's types, and the kernel's structs in clauses of any probe."""

import os
import socket
import subprocess

import pytest

from pydtrace.dlang.ast import ProbeDesc
from pydtrace.engine.kernel.kernel_structs import BTF
from pydtrace.engine.kernel.probes import system_probes, tracefs
from tests.support.kernel_harness import pydtrace

pytestmark = [
    pytest.mark.usefixtures("bpf"),
    pytest.mark.skipif(not os.path.exists(BTF), reason="host: the kernel has no type information"),
]


def printed(script, command="true", **more):
    out, err, _ = pydtrace("-qn", script, "-c", command, **more)
    return out.split("\n"), err


def test_arguments_have_the_kernels_types():
    """A command becomes a program: its name, its id, and the path that the kernel has."""
    lines, err = printed(
        'rawtp:sched::sched_process_exec /pid == $target/ { printf("%s %d %s %s %s\\n", args[0]->comm, args[0]->tgid == $target, '
        "stringof(args[2]->filename), stringof(args[0]->mm->exe_file->f_path.dentry->d_name.name), execname); }",
        "/bin/sleep 0",
    )
    name = os.path.basename(os.path.realpath("/bin/sleep"))
    assert f"sleep 1 /bin/sleep {name} sleep" in lines, err


def test_words_bool_and_bits():
    """The same exit by args[] and by words; a bit-field of the task beside what is known of it."""
    script = (
        'rawtp:sched::sched_process_exit /pid == $target/ { printf("%d %d %d %d\\n", args[0]->tgid == pid, arg0 == (int64_t)args[0], '
        "args[0]->in_execve, args[0]->exit_code >> 8); }"
    )
    lines, err = printed(script, "sh -c 'exit 7'")
    assert "1 1 0 7" in lines, err


def test_the_running_thread_in_any_clause(running):
    lines, err = printed(
        'syscall::exit_group:entry /pid == $target/ { printf("%d %s %d %d\\n", curthread->tgid == $target, curthread->comm, '
        "curthread->real_parent->tgid == ppid, curthread->mm->mm_users.counter); } BEGIN { self->t = curthread; "
        'printf("%d\\n", self->t->tgid == pid); }'
    )
    assert lines[0] == "1" and "1 true 1 1" in lines, err


def test_a_connection(tmp_path):
    """Ports and states out of struct sock."""
    script = (
        'rawtp:sock::inet_sock_set_state /args[0]->sk_protocol == 6 && args[0]->__sk_common.skc_num == %d/ { printf("%d %d %d\\n", args[1], '
        "args[2], args[0]->__sk_common.skc_family); }"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = tmp_path / "connect.py"
        program.write_text(
            f"import socket\nsocket.create_connection(('127.0.0.1', {port})).close()\n"
        )
        lines, err = printed(script.replace("%d", str(port), 1), f"/usr/bin/env python3 {program}")
    assert "3 1 2" in lines, err  # SYN_RECV to ESTABLISHED, AF_INET


def test_listed_and_matched():
    out, _, _ = pydtrace("-ln", "rawtp:sched::sched_process_*")
    rows = [line.split()[1:] for line in out.splitlines()[1:]]
    assert ["rawtp", "sched", "sched_process_exec"] in rows and all(
        row[:2] == ["rawtp", "sched"] for row in rows
    )
    out, _, _ = pydtrace(
        "-qn",
        "rawtp:sched::sched_process_f*, rawtp:sched::sched_process_exec { @[probename] = count(); }",
        "-c",
        "sh -c /bin/true",
    )
    assert "sched_process_exec" in out and "sched_process_fork" in out


def test_listed_with_the_kernels_types():
    out, _, _ = pydtrace("-lvn", "rawtp:sched::sched_process_exec")
    assert out.split("Argument Types\n")[1].split("\n")[:3] == [
        "\t\targs[0]: struct task_struct *",
        "\t\targs[1]: pid_t",
        "\t\targs[2]: struct linux_binprm *",
    ]


@pytest.mark.parametrize(
    ("clause", "tag"),
    [
        ("rawtp:sched::sched_no_such { }", "D_PDESC_ZERO"),
        ("rawtp:sched::sched_process_exec { trace(args[3]); }", "D_ARGS_IDX"),
        ("rawtp:sched::sched_process_exec { trace(args[0]->no_such); }", "D_TYPE_MEMBER"),
    ],
)
def test_refused(clause, tag):
    _, err, status = pydtrace("-xerrtags", "-qn", clause)
    assert status == 1 and tag in err, err


def test_a_pointer_kept_in_a_variable():
    """What is read through it may be any argument's string, as far as the tracepoint has arguments: it has fewer than the twelve of a probe."""
    out, err, status = pydtrace(
        "-qn",
        "rawtp:sched::sched_process_exec { this->task = args[0]; trace(this->task->comm); exit(0); }",
        "-c",
        "/bin/true",
    )
    assert (err, status) == ("", 0) and out


def test_an_address_that_is_none_is_a_fault():
    out, err, _ = pydtrace(
        "-qn",
        'BEGIN { trace(((struct task_struct *)8)->pid); } ERROR { printf("fault %d", arg4); } tick-100ms { exit(0); }',
    )
    assert "invalid address (0x" in err and "fault 1" in out


@pytest.mark.skipif(
    not os.path.exists("/usr/sbin/bpftool") and not os.path.exists("/usr/bin/bpftool"),
    reason="host: no bpftool",
)
def test_sizes_are_those_of_bpftool():
    dump = subprocess.run(
        ["bpftool", "btf", "dump", "file", BTF], check=True, capture_output=True, text=True
    ).stdout
    size = next(
        line.split("size=")[1].split()[0]
        for line in dump.splitlines()
        if "STRUCT 'sk_buff'" in line
    )
    lines, err = printed('BEGIN { printf("%d\\n", sizeof(struct sk_buff)); }')
    assert size in lines, err


def test_events_that_tracers_made_are_no_raw_tracepoints(tmp_path, monkeypatch):
    """A uprobe of another tracer, by perf probe or the real dtrace, stands among the kernel's events; so a glob would name what can not be attached."""
    (tmp_path / "events" / "sched").mkdir(parents=True)
    (tmp_path / "available_events").write_text(
        "sched:sched_switch\ndt_12_dtrace:BEGIN\nprobe_x:BEGIN\nsyscalls:sys_enter_read\n"
    )
    (tmp_path / "dynamic_events").write_text(
        "p:dt_12_dtrace/BEGIN /lib/x.so:0x000000000000ed20\nr16:probe_x/BEGIN /bin/x:0x10\n"
    )
    monkeypatch.setattr(tracefs, "_FOLDERS", (str(tmp_path / "events"),))
    side = system_probes.SystemProbes([ProbeDesc(None, "rawtp", "", "", "")])
    assert list(side.probes) == [("rawtp", "sched", "", "sched_switch")]
