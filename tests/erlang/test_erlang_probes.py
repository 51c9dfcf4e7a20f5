"""What tracers see of the probes that Erlang code fires: pydtrace, and tools that nobody here wrote."""

from __future__ import annotations

import contextlib
import os
import re

import pytest

from tests.support import elf_notes, harness

LIBRARY = os.path.join(harness.ROOT, "erlang_nif", "priv", "pyusdt_nif.so")
NAMES = ["user_trace__s1", "user_trace__i4s4", *(f"user_trace__n{n}" for n in range(951))]
STRINGS = ", ".join(f'arg{i} == 0 ? "-" : copyinstr(arg{i})' for i in (1, 6, 7, 8, 9))
SHOW = (
    "erlang*:::user_trace-i4s4, erlang*:::user_trace-n0, erlang*:::user_trace-n950 "
    '{ printf("%s|%d %d %d %d|%s|%s|%s|%s|%s\\n", probename, arg2, arg3, arg4, arg5, '
    + STRINGS
    + "); } "
    'erlang*:::user_trace-s1 { printf("%s|%s\\n", probename, copyinstr(arg0)); }'
)
TAG = "tag é"


def test_notes(erlang):
    shown = harness.run(["readelf", "--wide", "--notes", LIBRARY]).stdout
    assert re.findall(r"Provider: (\w+)\n +Name: (\w+)", shown) == [
        ("erlang", name) for name in NAMES
    ]
    assert len({note.semaphore for note in elf_notes.read_notes(LIBRARY)}) == 953


def test_nothing_else_is_exported(erlang):
    """Whatever else is in the emulator's process, another copy of the C core say, keeps out of its way."""
    shown = harness.run(["nm", "-D", "--defined-only", LIBRARY]).stdout
    exported = {line.split()[-1] for line in shown.splitlines()}
    assert exported == {"nif_init", *(name.replace("__", "_") for name in NAMES)}


def test_values(erlang, trace):
    """Every shape of a call: OTP's rules of what is an integer, a string, absent, too large."""
    run = trace(SHOW, erlang.node("values"), "-x", "strsize=2048")
    assert run.status == 0, run
    n = "user_trace-i4s4"
    assert run.stdout.splitlines() == [
        f"{n}|0 0 0 0|{TAG}|-|-|-|-",
        f"{n}|-1 0 0 0|{TAG}|-|-|-|-",
        f"{n}|0 0 0 0|{TAG}|only|-|-|-",
        f"{n}|1 0 0 0|{TAG}|a|b|c|-",
        f"{n}|0 0 0 0|{TAG}|a|-|-|-",
        f"{n}|9223372036854775807 -9223372036854775808 0 0|{TAG}|-|-|-|-",
        f"{n}|1 2 3 4|{TAG}|b|list||",
        f"{n}|5 0 0 0|{TAG}|caf\ufffd|-|snow ☃|-",
        f"{n}|6 0 0 0|{TAG}|before|-|-|-",
        f"{n}|7 0 0 0|{TAG}|{'x' * 1023}|-|-|-",
        f"{n}|8 0 0 0|{TAG}|{'é' * 511}|-|-|-",
        f"user_trace-n0|9 0 0 0|{TAG}|n0|-|-|-",
        f"user_trace-n950|10 0 0 0|{TAG}|n950|-|-|-",
        f"{n}|0 2 3 0|own|-|s2|s3|-",
        "user_trace-s1|message",
        f"{n}|11 0 0 0|-|untagged|-|-|-",
        "",
    ], run


def test_who_is_the_pid(erlang, trace):
    run = trace(
        "erlang*:::user_trace-i4s4 { @[copyinstr(arg0)] = count(); }", erlang.node("count", 3, 5)
    )
    assert sorted(re.findall(r"^ +<0\.\d+\.0> +(\d+)$", run.stdout, re.MULTILINE)) == [
        "5",
        "5",
        "5",
    ], run


def test_tag_goes_with_a_message(erlang, trace):
    program = (
        'erlang*:::user_trace-i4s4 { printf("%d %s\\n", arg2, arg1 == 0 ? "-" : copyinstr(arg1)); }'
    )
    run = trace(program, erlang.node("tags"))
    assert run.stdout.splitlines()[:3] == ["1 -", "2 request 17", "3 -"], run


def test_work_is_bounded(erlang, trace):
    """Million-element lists cost no more than what a probe shows of them."""
    run = trace(
        'erlang*:::user_trace-i4s4 /arg2/ { printf("[%s]\\n", copyinstr(arg6)); }',
        erlang.node("bounds"),
        "-x",
        "strsize=2048",
        timeout=120,
    )
    texts = run.stdout.split()
    time, whole = filter(
        str.isdigit, texts
    )  # the node's own, wherever they come among the tracer's
    texts = [text for text in texts if not text.isdigit()]
    # of the empty ones the cells run out first; the start of a list nested to the left lies too deep
    assert texts == ["[" + "l" * 1023 + "]", "[]", "[]", "[" + "r" * 1023 + "]"], run
    assert 4 * int(time) < int(whole), "a quarter of what walks the lists to their ends"


@pytest.mark.parametrize(
    "schedulers, bufsize", [("1", "16m"), ("2", "16m"), ("8", "16m"), ("8", "64m"), ("8", "256m")]
)
def test_every_event_of_every_scheduler_arrives(erlang, trace, schedulers, bufsize):
    """From the first on, however large a ring may become."""
    node = erlang.node("count", 16, 2000, options=("+S", f"{schedulers}:{schedulers}"))
    run = trace("erlang*:::user_trace-i4s4 { @ = count(); @sum = sum(arg2); }", node, "-b", bufsize)
    fired, counted, total = map(int, run.stdout.split())
    assert fired == 32000 and counted == fired and total == 16 * sum(range(1, 2001)), run


def test_new_code_while_probes_fire(erlang, trace):
    """Loaded and purged under eight firing processes: no event is lost, no process killed."""
    node = erlang.node("upgrade", 8, 5000)
    run = trace("erlang*:::user_trace-i4s4 { @ = count(); }", node, "-b", "16m")
    assert run.status == 0 and run.stdout.split() == ["40000", "40000"], run


@contextlib.contextmanager
def waiting_node(erlang, rounds: int):
    with harness.running(erlang.node("wait", rounds)) as node:
        assert node.stdout.readline() == "ready\n"
        yield node


def test_attaches_to_a_running_node(erlang):
    program = 'erlang$target:::user_trace-i4s4 { printf("%s %s %d\\n", copyinstr(arg1), copyinstr(arg6), arg4); }'
    with waiting_node(erlang, 20) as node:
        run = harness.run([harness.PYDTRACE, "-q", "-n", program, "-p", str(node.pid)])
        assert run.stdout.splitlines() == ["GGOOOAAALL!!!!! one 9"] * 20 + [""], run
        assert harness.finish(node, 20).status == 0


# ---- tools of others ----


def test_dtrace_sees_the_arguments(erlang, oracle):
    program = 'erlang$target:::user_trace-n0 { printf("%s %d %s", copyinstr(arg1), arg2, copyinstr(arg6)); exit(0); }'
    with waiting_node(erlang, 1000) as node:
        run = oracle("dtrace", "-q", "-n", program, "-p", str(node.pid))
        assert run.stdout.strip() == "GGOOOAAALL!!!!! 0 nought", run


def test_bpftrace_sees_the_arguments(erlang, oracle):
    program = f'usdt:{LIBRARY}:erlang:user_trace__i4s4 {{ printf("%s %d %s\\n", str(arg1), arg4, str(arg7)); exit(); }}'
    with waiting_node(erlang, 1000) as node:
        run = oracle("bpftrace", "-p", str(node.pid), "-e", program)
        assert "GGOOOAAALL!!!!! 9 four" in run.stdout, run


# ---- OTP's own scripts ----

OTP_PRINTS = {
    "user-probe.d": ["<0.9.0> GGOOOAAALL!!!!! 7 8 9 0 'one' 'four' '' ''", "a message"],
    "user-probe-n.d": [
        "probe n0: <0.9.0> GGOOOAAALL!!!!! 0 0 0 0 'nought' '' '' ''",
        "probe n1: <0.9.0> GGOOOAAALL!!!!! 1 0 0 0 '' '' '' ''",
    ],
}


def otp_script(name: str) -> str:
    installed = harness.run(
        ["erl", "-noshell", "-eval", "io:put_chars(code:lib_dir(runtime_tools)), halt()."]
    ).stdout
    return os.path.join(installed, "examples", name)


def printed(run: harness.Run) -> list[str]:
    """The different lines, in order; a node's first process has another number from release to release."""
    return list(
        dict.fromkeys(
            re.sub(r"<0\.\d+\.0>", "<0.9.0>", line) for line in run.stdout.splitlines() if line
        )
    )


@pytest.mark.parametrize("name", OTP_PRINTS)
def test_otps_script_unchanged(erlang, name):
    with waiting_node(erlang, 5) as node:
        run = harness.run([harness.PYDTRACE, "-q", "-s", otp_script(name), "-p", str(node.pid)])
    assert printed(run) == OTP_PRINTS[name], run


@pytest.mark.parametrize("name", OTP_PRINTS)
def test_otps_script_under_dtrace(erlang, oracle, name, tmp_path):
    """dtrace for Linux finds the probes of a running process only where the provider's name has the pid."""
    with open(otp_script(name)) as file:
        text = file.read()
    assert text.count("erlang*") == 2
    script = tmp_path / name
    script.write_text(text.replace("erlang*", "erlang$target"))
    with waiting_node(erlang, 150) as node:
        run = oracle("dtrace", "-q", "-s", str(script), "-p", str(node.pid))
    assert printed(run) == OTP_PRINTS[name], run


def test_stacks(erlang, trace):
    """On demand, by p and pn: the functions that the process itself says, as far as the emulator's backtrace_depth goes."""
    node = erlang.node("run", module="stacks")
    run = trace(
        'erlang*:::user_trace-i4s4, erlang*:::user_trace-n7 { printf("<%s|%k>", copyinstr(arg6), jstack(20)); }',
        node,
        "-x",
        "strsize=1024",
    )
    events = [
        tuple(text.split() for text in event)
        for event in re.findall(r"<([^|>]*)\|([^>]*)>", run.stdout)
    ]
    assert len(events) == 10, run
    for told, seen in events:
        assert seen and seen == told, run
    assert max(len(seen) for _, seen in events) > 8
