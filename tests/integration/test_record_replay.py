"""--record and --replay: the same script prints the same, others see all, damaged files do no harm."""

import os
import struct
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pydtrace.dlang.compile import Compiler
from pydtrace.engine import Targets
from pydtrace.engine.tick_timers import MAX_OWED
from pydtrace.select_engine import open_engine
from tests.support import harness
from tests.support.recordings import COUNT, SCRIPT, replay


def said(text: str) -> list[str]:
    """What was printed on the standard error, but for how many probes there are: nobody else is in the recording."""
    return [line for line in text.splitlines() if "matched" not in line]


def test_the_same_script_prints_the_same(recording):
    path, live = recording
    got = replay(path, "-n", SCRIPT)
    assert got.stdout == live.stdout and said(got.stderr) == said(live.stderr) and got.status == 0
    assert (
        "item 11 python" in got.stdout and "END" in got.stdout and "invalid address" in got.stderr
    )


def test_another_script(recording):
    """It asks for what the first script did not look at; $target is as it was."""
    path, _ = recording
    script = 'pyusdt$target:::user_trace-i4s4 /arg1/ { printf("%s|%s|%d\\n", copyinstr(arg1), copyinstr(arg7), arg5); }'
    got = replay(path, "-q", "-n", script)
    assert got.stdout.splitlines()[:2] == ["red|even|-2147483648", "green|odd|-2147483649"], got


def test_exit_in_a_replay(recording):
    got = replay(
        recording[0], "-q", "-n", "pyusdt*:::user_trace-i4s4 /arg2 == 3/ { trace(arg2); exit(5); }"
    )
    assert got.status == 5 and got.stdout.split() == ["3"]


def test_cannot_be_traced_too(recording):
    got = replay(recording[0], "-n", "BEGIN", "-c", "true")
    assert got.status == 1 and "--replay reads a recording" in got.stderr
    got = replay(recording[0], "-n", "BEGIN", "-x", "engine=kernel")
    assert got.status == 1 and "--replay is not possible with the kernel engine" in got.stderr


def test_drops_are_in_the_recording(tmp_path):
    (tmp_path / "gate").touch()
    slow = (
        "pyusdt$target:::user_trace-i4s4 { this->n = strlen(copyinstr(arg0)); }" * 60
    )  # many times what a firing takes
    script = "pyusdt$target:::user_trace-i4s4 { @ = count(); }" + slow
    live = harness.run(
        [
            harness.PYDTRACE,
            "--record",
            str(tmp_path / "r"),
            "-q",
            "-b",
            "64k",
            "-n",
            script,
            "-c",
            harness.program("gated.py", tmp_path / "gate", 60_000, 60_000),
        ]
    )
    got = replay(tmp_path / "r", "-q", "--strict", "-n", script)
    dropped = [harness.count_drops(run.stderr) for run in (live, got)]
    assert got.stdout == live.stdout and dropped[0] == dropped[1] > 0 and got.status == 3
    assert int(got.stdout) + dropped[0] == 60_000


def test_forked_children_and_new_probes_keep_their_ids(tmp_path):
    script = "pyusdt*:::user_trace-i4s4"
    live = harness.run(
        [
            harness.PYDTRACE,
            "--record",
            str(tmp_path / "r"),
            "-n",
            script,
            "-c",
            harness.program("forks.py"),
        ]
    )
    assert (
        len(live.stdout.splitlines()) == 5
        and replay(tmp_path / "r", "-n", script).stdout == live.stdout
    )


@pytest.mark.parametrize("everybody", [False, True])
def test_a_replay_signals_nobody(recording, tmp_path, everybody):
    """Whoever has the recorded process's id now is another user; -1 is everybody (the signal is one that nobody minds)."""
    data, at = bytearray(recording[0].read_bytes()), 128
    victim = subprocess.Popen(["sleep", "60"])
    try:
        while at < len(data):
            kind, size = struct.unpack_from("=II", data, at)
            if kind == 2:
                struct.pack_into(
                    "=2I", data, at + 16, *[2**32 - 1 if everybody else victim.pid] * 2
                )
            at += 8 + size
        path = tmp_path / "strange"
        path.write_bytes(data)
        actions = "raise(28); raise(28);" if everybody else "raise(15); stop();"  # 28: SIGWINCH
        got = replay(
            path,
            "-wqn",
            f"pyusdt*:::user_trace-i4s4 {{ {actions} exit(0); }} BEGIN {{ raise(28); }}",
        )
        assert got.status == 0 and got.stderr.count("a replay does not send signals") == 1, got
        with pytest.raises(subprocess.TimeoutExpired):
            victim.wait(0.2)
    finally:
        victim.kill()
        victim.wait()


def spoil_events(data, has):
    """The events of a recording that say of each other arguments than there are."""
    data, at = bytearray(data), 128
    while at < len(data):
        kind, size = struct.unpack_from("=II", data, at)
        if kind == 3:
            struct.pack_into("=H", data, at + 8 + 8 + 22, has)
        at += 8 + size
    return data


READS_ALL = 'pyusdt*:::user_trace-i4s4 { printf("<%x> ", arg2 | arg9); } pyusdt*:::user_trace-i4s4 { trace(copyinstr(arg6)); }'


@pytest.mark.parametrize("has", [0, 1, 1 << 11, 1 << 6, 1 << 12])
def test_an_event_that_lacks_what_a_clause_reads(recording, tmp_path, has):
    """A process may write shorter events than was asked for: what is not there is 0, and reading its string is a fault."""
    path = tmp_path / "short"
    path.write_bytes(spoil_events(recording[0].read_bytes(), has))
    got = replay(path, "-q", "-n", READS_ALL)
    if has == 1 << 12:
        assert "makes no sense" in got.stderr and not got.stdout.strip(), (
            got
        )  # a string without its argument
    else:
        assert set(got.stdout.split()) == {"<0>"} and "invalid address" in got.stderr, got


def test_an_event_that_is_shorter_than_it_says(recording, tmp_path):
    path = tmp_path / "long"
    data = spoil_events(recording[0].read_bytes(), 0xCFFF)
    path.write_bytes(data)
    got = replay(path, "-q", "-n", READS_ALL)
    assert "makes no sense" in got.stderr and not got.stdout.strip(), got


def test_a_disk_that_is_full():
    got = harness.run([harness.PYDTRACE, "--record", "/dev/full", "-q", "-n", "BEGIN { exit(0); }"])
    assert got.status == 1 and "No space left" in got.stderr, got


@pytest.mark.parametrize(
    "spoil, status, message",
    [
        (lambda data: b"", 1, "not a recording"),
        (lambda data: b"x" * 500, 1, "not a recording"),
        (lambda data: data[:8] + struct.pack("=I", 6) + data[12:], 1, "another version"),
        (lambda data: data[:12] + data[12:16][::-1] + data[16:], 1, "byte order"),
        (lambda data: data[:-5], 0, "ends in the middle"),
        (lambda data: data[:128] + struct.pack("=II", 99, 8) + bytes(8), 0, "unknown kind"),
        (
            lambda data: data[:128] + struct.pack("=II", 1, 2**32 - 8) + bytes(8),
            0,
            "impossible size",
        ),
    ],
)
def test_what_is_no_recording(recording, tmp_path, spoil, status, message):
    """What can be read of one is."""
    bad = tmp_path / "bad"
    bad.write_bytes(spoil(recording[0].read_bytes()))
    got = replay(bad, "-Zq", "-n", COUNT)
    assert message in got.stderr and got.status == status, got


@pytest.mark.parametrize(
    "quiet, ticks, all_ticks", [(10, 1 + 10 + 1 + MAX_OWED + 1, 10**8), (3000, 2000, 2000)]
)
def test_an_event_of_another_century(recording, tmp_path, monkeypatch, quiet, ticks, all_ticks):
    """Where the times of a file say that nothing happened for long, its ticks have an end."""
    data, at, last = bytearray(recording[0].read_bytes()), 128, None
    while at < len(data):
        kind, size = struct.unpack_from("=II", data, at)
        if kind == 5:
            del data[at:]
        last, at = (at if kind == 3 else last), at + 8 + size
    [begun] = struct.unpack_from("=Q", data, 16)
    struct.pack_into("=Q", data, last + 8 + 8 + 8, begun + all_ticks * 10**10 + 10**9)
    path = tmp_path / "late"
    path.write_bytes(data)
    monkeypatch.setattr("pydtrace.engine.embedded.replay._MAX_QUIET_TICKS", quiet)
    compiler = Compiler()
    compiler.compile_text('tick-10s { printf("tick"); }')
    engine, _ = open_engine(compiler.generate_program(), {"replay": str(path)}, Targets())
    engine.begin()
    found = bytearray()
    while not engine.finished:
        found += engine.poll(0)
    engine.end()
    [size] = struct.unpack_from("=I", found)
    assert len(found) == ticks * size
    told = engine.warnings()
    engine.close()
    assert [int(text.split()[0].replace(",", "")) + ticks for text in told] == [all_ticks] * (
        ticks < all_ticks
    )


MUTATIONS = st.lists(
    st.tuples(
        st.integers(0, 2**32),
        st.one_of(
            st.binary(min_size=1, max_size=8),
            st.sampled_from([b"\xff" * 4, b"\0" * 8, struct.pack("=I", 2**31), b"\xff" * 8]),
        ),
    ),
    min_size=1,
    max_size=6,
)


@settings(
    max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
@given(MUTATIONS, st.integers(0, 2**32))
def test_mutated_recordings(recording, replayer, mutations, cut):
    """Whatever a stranger changes: an error, or a replay of what makes sense."""
    data = bytearray(recording[0].read_bytes())
    for at, put in mutations:
        at %= len(data)
        data[at : at + len(put)] = put
    if cut % 3 == 0:
        del data[cut % len(data) :]
    assert replayer(bytes(data)) in ("ok", "EngineError")


def test_leaves_no_descriptor_open(recording, replayer):
    """A hundred replays in one process."""
    data = recording[0].read_bytes()
    assert {replayer(data) for _ in range(100)} == {"ok"}
    assert os.path.getsize(recording[0]) == len(data)
