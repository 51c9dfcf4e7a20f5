"""What a third party does to the files: neither side crashes, hangs or believes it."""

import os
import random
import signal
import struct
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.core.programs import check, wait_for

PAGE = 4096
DROPS = 16 * 128 + 128 + 8  # in an area: of the probe that ring_target fires
SLOT, FAILED = (
    128,
    24,
)  # in a control file the first slot, and in that the events that found no area


def trace_in_background(world, *options):
    """A target that fires without end, and a reader of it that has its rings."""
    target = world.target("a", 2, 10**12, "wait", "pace=50")
    reader = world.reader(f"pid={target.pid}", *options)
    wait_for(lambda: any(name.endswith("ring0") for name in world.files()))
    return target, reader


@pytest.mark.parametrize("kind", [".ring0", ".area", ".ctl"])
@pytest.mark.parametrize("size", [0, 100, PAGE])
def test_truncated_under_both_sides(world, kind, size):
    """No SIGBUS: the target goes on, and the reader gives the ring up."""
    target, reader = trace_in_background(world, "ms=300")
    path = next(path for path in world.rundir.iterdir() if path.name.endswith(kind))
    os.truncate(path, size)
    result = world.finish(reader)
    assert (
        result["repeated"] <= result["bad"] <= 1
    )  # the event that was cut in two: half of it is zeros now
    time.sleep(0.05)
    assert target.poll() is None
    target.kill()
    world.trace(command=world.target_command("b", 1, 10))


def test_a_holder_that_never_was(world):
    """A third party writes the number of no thread into a ring's busy word: the next session in the slot has rings again."""
    target, reader = trace_in_background(world, "ms=300")
    area = next(path for path in world.rundir.iterdir() if path.name.endswith(".area"))
    with open(area, "r+b") as file:
        file.write(struct.pack("<I", 0xFFFFFFFE))
    world.finish(reader)
    result = world.finish(world.reader(f"pid={target.pid}", "bufsize=1048576", "events=100"))
    assert result["delivered"] >= 100 and result["corrupt"] == 0


def test_what_can_have_been_lost_is_counted(world):
    """So that the next test writes where it means to."""
    target, reader = trace_in_background(world, "ms=300")
    with next(world.rundir.glob("*.area")).open("r+b") as file:
        os.pwrite(file.fileno(), struct.pack("<Q", 7), DROPS)
    assert (world.finish(reader)["dropped"], target.poll()) == (7, None)


@pytest.mark.parametrize("lost", [1 << 45, 1 << 63, (1 << 64) - 1, "by no area"])
def test_what_can_not_have_been_lost_is_not_counted(world, lost):
    """The losses of others are told as they are."""
    reader = world.reader("all", "alive", "pause=20000", "bufsize=65536", "ms=1500")
    reader.stdout.readline()
    liar = world.target("liar", 1, 10**12, "pace=5000")
    wait_for(lambda: any(name.endswith("ring0") for name in world.files()))
    with next(world.rundir.glob("*.ctl" if lost == "by no area" else "*.area")).open("r+b") as file:
        (wanted,) = struct.unpack("<Q", os.pread(file.fileno(), 8, SLOT))
        at, count = (
            (SLOT + FAILED, wanted | (1 << 40) - 1) if lost == "by no area" else (DROPS, lost)
        )
        os.pwrite(file.fileno(), struct.pack("<Q", count), at)
    world.start(world.target_command("honest", 1, 100_000)).communicate(timeout=60)
    honest, result = world.account("honest").returned, world.finish(reader)
    assert liar.poll() is None and honest == 100_000
    assert result["corrupt"] == 0 and honest <= result["delivered"] + result["dropped"] < 2 * honest


@pytest.mark.parametrize("seed", range(6))
def test_scribbled_shared_memory(world, seed):
    """Random words in control file, area and rings, while both sides work: only crashes and hangs are failures."""
    target, reader = trace_in_background(world, "ms=250")
    dice = random.Random(seed)
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        try:
            paths = [
                path for path in sorted(world.rundir.iterdir()) if not path.name.endswith("session")
            ]
            path = dice.choice(paths)
            with open(path, "r+b") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(dice.randrange(0, max(8, min(size, PAGE * 4)), 4))
                file.write(
                    struct.pack(
                        "<Q",
                        dice.choice([0, 1, dice.getrandbits(64), 2**64 - 1, dice.getrandbits(20)]),
                    )
                )
        except (FileNotFoundError, IndexError):
            continue
    world.finish(reader)
    assert target.poll() is None
    target.kill()
    target.wait()
    for (
        name
    ) in world.files():  # what was scribbled into may not be swept; a fresh target works beside it
        if not name.endswith(".ctl"):
            (world.rundir / name).unlink()
    check(world.trace("bufsize=1048576", command=world.target_command("b", 1, 1000)))


def fields(**changes):
    """A control file's header (c/shared/layout.h) that is right but for the changes, with one probe."""
    size = 320 + 64 * 64 + 8 + 36 + 32
    header = {
        "magic": 0x316C746375737970,
        "version": 12,
        "size": size,
        "pid": os.getpid(),
        "instance": 0,
        "starttime": int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19]),
        "pidns": os.stat("/proc/self/ns/pid").st_ino,
        "state": 1,
        "nprobes": 1,
        "ndescs": 1,
        "slots": 320,
        "words": 320 + 4096,
        "descs": 320 + 4096 + 8,
        "strings": 320 + 4096 + 44,
        "strings_size": 32,
        "gid": 0,
    }
    desc = {
        "provider": 1,
        "module": 3,
        "function": 5,
        "name": 7,
        "count": 1,
        "strings": 0,
        "nargs": 4,
        "family": 0,
        "signature": 0,
    }
    strings = {"text": b"\0p\0m\0f\0user-i4\0".ljust(32, b"\0")}
    for key, value in changes.items():
        next(part for part in (header, desc, strings) if key in part)[key] = value
    values = list(header.values())
    packed = (
        struct.pack("<QIIIIQQ", *values[:7])
        + struct.pack("<9I", *values[7:])
        + b"forged\0".ljust(16, b"\0")
    )
    body = (
        packed.ljust(320, b"\0")
        + bytes(4096 + 8)
        + struct.pack("<9I", *desc.values())
        + strings["text"]
    )
    name = f"{header['pid']}-{header['starttime']}-{header['instance']}.ctl"
    return name, body


FORGERIES = {
    "nothing at all": {"magic": 0},
    "another kind": {"magic": 7},
    "another version": {"version": 13},
    "size": {"size": 1 << 31},
    "pid": None,
    "no probes": {"nprobes": 0},
    "many probes": {"nprobes": 1 << 31},
    "probes but no descs": {"ndescs": 0},
    "many descs": {"ndescs": 1 << 30},
    "slots out": {"slots": 1 << 30},
    "slots odd": {"slots": 321},
    "words out": {"words": 4_294_967_288},
    "words odd": {"words": 4417},
    "descs out": {"descs": 4_294_967_288},
    "strings out": {"strings": 1 << 31},
    "strings size": {"strings_size": 1 << 31},
    "no strings": {"strings_size": 0},
    "provider out": {"provider": 32},
    "name out": {"name": 1 << 31},
    "signature out": {"signature": 32},
    "count": {"count": 2},
    "no count": {"count": 0},
    "count wraps": {"count": 2**32 - 1},
    "args": {"nargs": 13},
    "string mask": {"strings": 1 << 31},
    "no final NUL": {"text": b"\0p\0m\0f\0user-i4".ljust(32, b"x")},
    "no first NUL": {"text": b"x" * 31 + b"\0"},
}


@pytest.mark.parametrize("what", ["right", *FORGERIES])
def test_forged_control_file(world, what):
    """The reader takes a right one, and nothing else; what it can not read does not keep it from the rest."""
    name, body = fields(**(FORGERIES.get(what) or {}))
    if what == "pid":
        name = f"1{name}"
    path = world.rundir / name
    path.write_bytes(body)
    path.chmod(0o600)
    result = world.trace("all", "ms=150", command=world.target_command("a", 1, 50))
    check(result)
    assert result["delivered"] == 50
    assert result["targets"] == (2 if what == "right" else 1)


EDGES = st.sampled_from(
    [
        0,
        1,
        7,
        8,
        63,
        64,
        191,
        192,
        4095,
        4096,
        4097,
        2**16,
        2**20,
        2**31 - 1,
        2**31,
        2**32 - 8,
        2**32 - 1,
    ]
)
WORDS = st.one_of(
    st.integers(0, 31), st.integers(1074, 1090)
)  # of the header, and of the description and the strings


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(
    st.lists(st.tuples(WORDS, st.one_of(EDGES, st.integers(0, 2**32 - 1))), min_size=1, max_size=4),
    st.one_of(st.none(), st.integers(0, 4400)),
)
def test_any_control_file(world, words, cut):
    """Whatever words are in it and wherever it ends: the reader reads it, or does not; it lives on, and so do its like."""
    name, body = fields()
    body = bytearray(body)
    for at, word in words:
        struct.pack_into("<I", body, at * 4, word)
    path = world.rundir / name
    path.write_bytes(body[:cut])
    path.chmod(0o600)
    result = world.finish(world.reader("all", "ms=5"))
    check(result)
    assert result["targets"] <= 1 and result["delivered"] == 0
    path.unlink(missing_ok=True)


@pytest.mark.parametrize("plant", ["symlink", "fifo", "directory", "hard link", "others may write"])
def test_planted_files(world, plant, tmp_path):
    """In place of the first session's file, and of a control file: never followed, never opened, no hang."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    victim.chmod(0o600)
    for name in ("00.session", "1-1-0.ctl", "1-1-0.ctl.00.0000000000000001.ring0"):
        path = world.rundir / name
        if plant == "symlink":
            path.symlink_to(victim)
        elif plant == "fifo":
            os.mkfifo(path, 0o600)
        elif plant == "directory":
            path.mkdir()
        elif plant == "hard link":
            other = world.rundir / f"x{name}"
            other.write_bytes(b"precious")
            os.link(other, path)
        else:
            path.touch()
            path.chmod(0o666)
    result = world.trace(command=world.target_command("a", 1, 50))
    if plant == "symlink":
        assert result.get("error", 0) < 0 or result["delivered"] == 50
    assert victim.read_bytes() == b"precious"


@pytest.mark.parametrize("mode, message", [(0o755, "0700"), (0o770, "0700")])
def test_rundir_open_to_others(world, mode, message):
    world.rundir.chmod(mode)
    result = world.finish(world.reader("all", "ms=10"))
    assert result["error"] == -1 and message in result["message"]
    target = world.start(world.target_command("a", 1, 1))
    assert target.wait() == 4  # not published, and says so to who asks


def test_full_file_system(world, tmp_path):
    """No room for rings: firing goes on, each event is counted as dropped."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small tmpfs")
    with world.small("60k"):
        result = world.trace("bufsize=1048576", command=world.target_command("a", 2, 2000))
        assert result["delivered"] == 0 and result["dropped"] == 4000 == world.account("a").returned
        target = world.target("b", 1, 100)
        assert target.wait() == 0


def test_stopped_target_does_not_stop_the_reader(world):
    """SIGSTOP at any place: others' events still come."""
    stopped = world.target("a", 1, 10**12, "wait", "pace=10")
    reader = world.reader("all", "alive", "ms=500")
    reader.stdout.readline()
    time.sleep(0.1)
    stopped.send_signal(signal.SIGSTOP)
    other = world.target("b", 1, 500)
    result = world.finish(reader)
    stopped.kill()
    assert other.wait() == 0 and result["bad"] == 0
    assert result["delivered"] >= 500
