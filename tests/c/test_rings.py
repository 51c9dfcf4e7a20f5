"""Rings and sessions between live processes: the account, order, attaching, forks, two sessions."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.support.core.programs import check, wait_for


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_account(world, threads):
    """Whatever fits is delivered, the rest is counted: by probe, and exactly.  The tracer looks too seldom for it all."""
    result = world.trace(
        "bufsize=65536", "pause=100000", command=world.target_command("a", threads, 100000)
    )
    check(result)
    assert (
        result["delivered"] + result["dropped"] == 100000 * threads == world.account("a").returned
    )
    assert result["dropped"] > 0 and result["by_probe"] == result["dropped"]
    assert world.files() == []


def test_nothing_lost_when_there_is_room(world):
    """Rings are small, so that a thread on a starved machine does not wait in vain for another that makes one."""
    result = world.trace("bufsize=2097152", command=world.target_command("a", 3, 3000))
    check(result)
    assert result["delivered"] == 9000 and result["threads"] == [3000, 3000, 3000]


def test_short_lived(world):
    """It has exited long before the reader looks."""
    result = world.trace("pause=200000", command=world.target_command("a", 1, 10))
    check(result)
    assert (result["delivered"], result["dropped"]) == (10, 0)
    assert world.files() == []


def test_more_threads_than_rings(world):
    result = world.trace("rings=2", "bufsize=16777216", command=world.target_command("a", 24, 2000))
    check(result)
    assert result["delivered"] + result["dropped"] == 48000


@pytest.mark.parametrize("threads", [1, 2])
def test_signal_handler_fires(world, threads):
    """A handler that interrupts a firing takes another ring."""
    result = world.trace(
        "bufsize=16777216", command=world.target_command("a", threads, 200000, "signal")
    )
    check(result)
    account = world.account("a")
    assert account.returned > 200000 * threads
    assert result["delivered"] + result["dropped"] == account.returned


@pytest.mark.parametrize("threads, options, alone", [(1, [], 1), (2, [], 0), (1, ["keep=x"], 0)])
def test_who_takes_rings_without_a_locked_instruction(world, threads, options, alone):
    """A process's only thread, and not in a session whose next tracer may be one that can make no barrier."""
    target = world.target("a", threads, 500, "wait")
    check(world.finish(world.reader("all", f"events={500 * threads}", *options)))
    assert target.wait(60) == 0
    assert world.account("a").alone == alone


@pytest.mark.parametrize("who", ["reader", "target"])
def test_where_membarrier_is_denied(world, who):
    """In a sandbox of either side: rings are taken with a locked instruction."""
    deny = [world.build.program("seccomp_main"), "deny"]
    reader, target = (
        world.reader_command("all", "alive", "targets=1"),
        world.target_command("a", 1, 500),
    )
    reader = world.start([*deny, *reader] if who == "reader" else reader)
    assert reader.stdout.readline() == "ready\n"
    assert world.start([*deny, *target] if who == "target" else target).wait(60) == 0
    result = world.finish(reader)
    check(result)
    assert result["delivered"] == 500 and world.account("a").alone == 0


@pytest.mark.parametrize("options, ended", [([], -signal.SIGSYS), (["keep=x"], 0)])
def test_reader_makes_barriers(world, options, ended):
    """Here it is killed for the first one."""
    reader = world.start(
        [
            world.build.program("seccomp_main"),
            "kill",
            *world.reader_command("all", "ms=50", *options),
        ]
    )
    assert reader.wait(60) == ended


def test_order_of_threads_that_are_alone(world):
    """Two processes of one thread each: their events are in order only by the barriers that the reader makes. (It can fail
    without them only where each of the three has a processor: a store is seen within a microsecond.)"""
    reader = world.reader("all", "targets=2", "bufsize=67108864", "pause=1", "alive")
    assert reader.stdout.readline() == "ready\n"
    for name in ("a", "b"):
        world.target(name, 1, 300000)
    result = world.finish(reader)
    check(result)
    assert result["delivered"] + result["dropped"] == 600000
    assert [world.account(name).alone for name in ("a", "b")] == [1, 1]


@pytest.mark.parametrize("variant", ["plain", "portable"])
def test_attach_to_running(world, variant):
    """Also as a system without /proc finds a process."""
    target = world.target("a", 2, 5000, "wait", "pace=20")
    result = world.finish(world.reader(f"pid={target.pid}", variant=variant))
    check(result)
    assert result["targets"] == 1
    assert result["delivered"] + result["dropped"] == 10000
    assert world.files() == []


def test_attach_and_detach_while_firing(world):
    """Ten sessions, one after the other, on a process that never stops firing; then it is off."""
    target = world.target("a", 2, 10**12)
    delivered = []
    for _ in range(10):
        result = world.finish(world.reader("ms=30", f"pid={target.pid}"))
        check(result)
        delivered.append(result["delivered"])
    assert any(delivered)  # on a busy machine the target may not run at all in some 30 ms
    time.sleep(0.05)
    before = world.account("a").returned
    time.sleep(0.05)
    assert world.account("a").returned == before
    assert [name for name in world.files() if not name.endswith(".ctl")] == []


def test_two_sessions_are_both_complete(world):
    target = world.target("a", 2, 20000, "wait", "pace=10")
    readers = [world.reader("bufsize=8388608", "alive", f"pid={target.pid}") for _ in range(2)]
    results = [world.finish(reader) for reader in readers]
    for result in results:
        check(result)
    account = world.account("a")
    assert account.returned == 40000
    # They did not attach at the same instant; one of them was there for every firing.
    assert max(result["delivered"] + result["dropped"] for result in results) == 40000
    assert world.files() == []


def test_sixty_three_sessions(world):
    """As many as there are bits, but for the flight recorder's: each has every event of the process, and one more is told that there is no place."""
    readers = [
        world.reader("bufsize=65536", "all", "alive", "targets=1", "pause=50000") for _ in range(63)
    ]
    assert [reader.stdout.readline() for reader in readers] == ["ready\n"] * 63
    refused = world.finish(world.reader("all"))
    assert refused["error"] == -errno.EBUSY and "all 63 session slots" in refused["message"]
    # one thread: another would not wait for so long as this one takes to open them all
    assert world.target("a", 1, 300, "pace=1000").wait(timeout=60) == 0
    for reader in readers:
        result = world.finish(reader)
        check(result)
        assert (result["delivered"], result["dropped"]) == (300, 0)
    assert world.account("a").returned == 300 and world.files() == []


def test_slot_used_again_with_rings_of_another_size(world):
    """The address range of the former session's is too small, or larger than it need be."""
    target = world.target("a", 2, 10**12, "wait", "pace=20")
    for size in (65536, 1048576, 131072):
        result = world.finish(world.reader(f"pid={target.pid}", f"bufsize={size}", "events=500"))
        check(result)
        assert result["delivered"] >= 500


@pytest.mark.skipif(os.geteuid() != 0, reason="host: needs root to mount a small tmpfs")
@pytest.mark.parametrize("size", ["84k", "128k", "1500k"])
def test_little_room(world, size):
    """Threads that collide want more rings, and rings more pages: they share what there is, and what is lost is counted."""
    with world.small(size):
        result = world.trace("bufsize=16777216", command=world.target_command("a", 8, 3000))
        check(result)
        assert (
            result["delivered"] > 50
            and result["delivered"] + result["dropped"] == world.account("a").returned == 24000
        )


@pytest.mark.skipif(os.geteuid() != 0, reason="host: needs root to mount a small tmpfs")
def test_a_ring_grows_when_there_is_room_again(world):
    """Until then it goes round in the pages that it has."""

    def pages():
        return sum(path.stat().st_blocks * 512 for path in world.rundir.glob("*.ring0"))

    with world.small("4m"):
        (world.rundir / "full").write_bytes(bytes((4 << 20) - (100 << 10)))
        target = world.target("a", 1, 10**12, "pace=50")
        reader = world.reader(f"pid={target.pid}", "events=20000", "bufsize=1048576")
        wait_for(lambda: pages() > 0)
        time.sleep(0.5)  # several rounds
        assert pages() < 100 << 10
        (world.rundir / "full").unlink()
        wait_for(lambda: pages() > 200 << 10)
        check(world.finish(reader))


@pytest.mark.parametrize("bufsize", [1 << 16, 1 << 22, 1 << 28])
def test_a_ring_holds_what_it_says(world, bufsize):
    """Before anything is read: as many events as have their place in it, though its pages come by and by."""
    count = min(bufsize // 256, 100_000)
    reader = world.reader("all", "alive", "targets=1", "pause=1000000", f"bufsize={bufsize}")
    reader.stdout.readline()
    world.start(world.target_command("a", 1, count)).communicate(timeout=60)
    result = world.finish(reader)
    check(result)
    assert (result["delivered"], result["dropped"]) == (count, 0)


@pytest.mark.parametrize("options, lost", [([], False), (["rings=1"], True)])
def test_who_has_filled_a_ring_takes_another(world, options, lost):
    """One thread, nobody reads: what does not fit in one ring goes into more, as many as there may be, in order."""
    count = 5000  # of more than 40 bytes each, 64 KiB a ring
    reader = world.reader("all", "alive", "targets=1", "pause=1000000", "bufsize=65536", *options)
    reader.stdout.readline()
    world.start(world.target_command("a", 1, count)).communicate(timeout=60)
    result = world.finish(reader)
    check(result)
    assert result["delivered"] + result["dropped"] == count
    assert (result["dropped"] > 0) == lost


def test_what_one_thread_can_fill_is_bounded(world):
    """Of large rings, no more are made for it than have 64 MiB together."""
    reader = world.reader("all", "alive", "targets=1", "pause=3000000", "bufsize=33554432")
    reader.stdout.readline()
    world.start(world.target_command("a", 1, 2_000_000)).communicate(timeout=60)
    rings = [path.name for path in world.rundir.glob("*.ring*")]
    result = world.finish(reader)
    check(result)
    assert len(rings) == 2 and result["dropped"] > 0
    assert result["delivered"] + result["dropped"] == 2_000_000


def test_all_processes_of_the_user(world):
    """Those that run, and those that come."""
    first = world.target("a", 1, 3000, "wait", "pace=50")
    reader = world.reader("all", "alive", "targets=3")
    assert reader.stdout.readline() == "ready\n"
    others = [world.target(name, 1, 3000) for name in "bc"]
    result = world.finish(reader)
    check(result)
    assert result["targets"] == 3
    assert result["delivered"] + result["dropped"] == 9000
    assert all(child.wait() == 0 for child in (first, *others))


@pytest.mark.parametrize("how", ["fork", "rawfork"])
def test_forked_child_publishes_itself(world, how):
    """It joins a session that wants all, and uses none of its parent's rings."""
    reader = world.reader("all", "alive", "bufsize=8388608", "targets=2")
    reader.stdout.readline()
    target = world.target("a", 2, 10000, how)
    result = world.finish(reader)
    assert result["corrupt"] == result["bad"] == result["out_of_order"] == 0
    fired = world.account("a").returned + world.account("a.child").returned
    assert fired >= 40000 and result["delivered"] + result["dropped"] == fired
    assert result["targets"] == 2 and target.wait() == 0
    assert world.files() == []


def test_forked_child_is_not_the_parents_session(world):
    """With -c, only the command itself is traced."""
    result = world.trace("bufsize=8388608", command=world.target_command("a", 1, 5000, "fork"))
    assert result["targets"] == 1
    assert result["delivered"] + result["dropped"] == world.account("a").returned
    assert world.account("a.child").returned == 0


def test_attach_to_an_orphan(world):
    """A daemon: forked by a process that has ended, and with it its control file, it has fired nothing yet."""
    parent = world.start(world.target_command("a", 1, 100, "orphan"))
    child = int(parent.stdout.readline())
    assert parent.wait() == 0 and world.files() == []
    reader = world.reader("alive", "targets=1", f"pid={child}")
    assert reader.stdout.readline() == "ready\n"
    os.kill(child, signal.SIGUSR1)
    result = world.finish(reader)
    check(result)
    assert (result["targets"], result["delivered"], result["dropped"]) == (1, 100, 0)
    assert world.files() == []


def test_attach_where_the_control_file_was_removed(world):
    """By hand, or by systemd's RemoveIPC, which empties /dev/shm when a user logs out: that is said."""
    target = world.target("a", 1, 0, "linger")
    for path in world.rundir.iterdir():
        path.unlink()
    result = world.finish(world.reader(f"pid={target.pid}"))
    assert (result["error"], result["message"]) == (
        -61,
        f"process {target.pid} cannot be traced: its control file was removed",
    )


def test_a_large_ring_takes_no_longer_to_make(world):
    """Eight threads fire at once where nobody has fired before; a page takes its time. (Again where a starved machine had one wait
    for more than 20 ms: a ring of this size, made whole, takes four seconds.)"""
    for _ in range(5):
        reader = world.reader("all", "alive", "targets=1", "bufsize=268435456")
        reader.stdout.readline()
        out, _ = world.start([world.build.program("slow_main"), "large"]).communicate(timeout=60)
        result = world.finish(reader)
        assert (result["corrupt"], result["targets"]) == (0, 1)
        assert result["delivered"] + result["dropped"] == int(out) == 8
        if result["dropped"] == 0:
            return
    pytest.fail("events were lost each time")


@pytest.mark.parametrize("what", ["open", "grow"])
def test_threads_wait_for_a_slow_path_only_once(world, what):
    """A large file takes its time. Others, who want what is being made, give up after 20 ms, and then fire without waiting."""
    reader = world.reader("all", "alive", "targets=1", "bufsize=1048576")
    reader.stdout.readline()
    out, _ = world.start([world.build.program("slow_main"), what]).communicate(timeout=60)
    result = world.finish(reader)
    assert result["corrupt"] == 0 and result["targets"] == 1
    fired, waited, again = map(int, out.split())
    assert result["delivered"] + result["dropped"] == fired + (2 if what == "grow" else 1)
    assert waited > 0 and again == 0, out


def test_cancelled_thread_on_a_slow_path(world):
    """A firing that opens its session makes system calls: none of them ends the thread, which would keep the lock for ever."""
    target = world.target("a", 3, 100, "cancel")
    result = world.finish(world.reader("all", "targets=1", "bufsize=1048576"))
    check(result)
    assert target.wait(30) == 0
    assert world.account("a").returned_by[:3] == (1, 100, 100)
    assert (result["delivered"], result["dropped"]) == (201, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="host: /proc")
def test_first_thread_that_ends(world):
    """The system calls such a process a zombie; its other threads go on, and it is traced and not swept."""
    target = world.target("a", 2, 10**12, "wait", "leave", "pace=50")
    for who in ("all", f"pid={target.pid}", "all"):
        result = world.finish(world.reader(who, "targets=1", "events=500", "ms=5000"))
        check(result)
        assert result["targets"] == 1
    assert "\nState:\tZ" in Path(f"/proc/{target.pid}/status").read_text()
    assert target.poll() is None and len(world.files()) == 1


def test_off_when_nobody_is_there(world):
    target = world.target("a", 1, 50000)
    assert target.wait() == 0
    assert world.account("a").returned == 0 and world.account("a").off == 50000
    assert world.files() == []


def test_attach_errors(world):
    """Each has its own number."""
    silent = world.target("a", 1, 0, "no-probes", "linger")
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert world.finish(world.reader(f"pid={gone.pid}"))["error"] == -3
    assert world.finish(world.reader(f"pid={silent.pid}"))["error"] == -61
    assert world.files() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be somebody else")
def test_another_users_process(world):
    target = world.target("a", 1, 0, "linger")
    nobody = 65534
    with tempfile.TemporaryDirectory() as folder:
        program = shutil.copy(world.build.program("ring_reader"), folder)
        os.mkdir(f"{folder}/run", 0o700)
        os.chown(f"{folder}/run", nobody, nobody)
        os.chmod(folder, 0o755)
        env = {"PYUSDT_RUNDIR": f"{folder}/run"}
        run = subprocess.run(
            [program, f"pid={target.pid}"],
            check=False,
            user=nobody,
            env=env,
            capture_output=True,
            text=True,
        )
    result = json.loads(run.stdout)
    assert result["error"] == -1 and "another user" in result["message"]


def test_killed_target(world):
    """All that it fired before is delivered; at most the one event of each thread that was inside is not."""
    for name in "abcde":
        reader = world.reader("bufsize=8388608", "all", "alive", "targets=1")
        reader.stdout.readline()
        target = world.target(name, 2, 10**12, "pace=1")
        time.sleep(0.03)
        target.send_signal(signal.SIGKILL)
        target.wait()
        result = world.finish(reader)
        check(result)
        account = world.account(name)
        assert account.returned <= result["delivered"] + result["dropped"] <= account.started
        assert world.files() == []


def test_killed_reader(world):
    """The application is back at off-cost within a second, and the next tracer finds everything in order."""
    target = world.target("a", 2, 0, "until-off", "wait")
    for _ in range(2):
        assert world.reader(f"pid={target.pid}", "die=2000").wait(timeout=20) == -signal.SIGKILL
        begun = time.monotonic()
        while target.poll() is None and time.monotonic() - begun < 1:
            time.sleep(0.01)
        assert target.poll() is not None, "still on a second after the tracer was killed"
        target = world.target("a", 2, 0, "until-off", "wait")
    target.kill()
    target.wait()
    world.trace(command=world.target_command("b", 1, 10))
    assert world.files() == []


def test_stopped_reader_costs_drops_only(world):
    """A tracer that does not read is alive: its rings fill, and what they can not take is counted."""
    target = world.target("a", 1, 300000, "wait")
    reader = world.reader(f"pid={target.pid}", "bufsize=65536", "alive")
    reader.stdout.readline()
    reader.send_signal(signal.SIGSTOP)
    target.wait(timeout=30)
    reader.send_signal(signal.SIGCONT)
    result = world.finish(reader)
    check(result)
    assert result["delivered"] + result["dropped"] == 300000
