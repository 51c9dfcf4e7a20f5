"""Where the code of processes is: what a user's processes and files do to whoever reads them is that user's trouble alone."""

import os
import threading
import time

import pytest

from pydtrace.driver import unwind_table_loader
from pydtrace.symbols import elf
from pydtrace.untrusted import io_worker
from pydtrace.untrusted.user_quota import UserQuota, canonical_uid
from pydtrace.unwind import unwind_rows, unwind_table

pytestmark = pytest.mark.own_processes

ROOT, BAD, GOOD = 0, 1000, 1001


class World:
    """Processes and files that are made up.  files: {path: (owner, inode)}; processes: {pid: (user, paths)}; what is in `hang` waits for the
    gate, what is in `gone` is not there, and each file takes `slow` seconds."""

    def __init__(self):
        self.files, self.processes, self.hang, self.gone, self.slow = {}, {}, set(), set(), 0.0
        self.gate, self.answers, self.read = threading.Event(), {}, []

    def user_of(self, pid):
        return self.processes[pid][0] if pid in self.processes else -1

    def mapped_code(self, pid):
        if pid in self.hang:
            self.gate.wait(60)
        return [
            (
                unwind_table_loader.maps.Mapping(
                    f"{number:x}000-{number + 1:x}000",
                    "r-xp",
                    "0",
                    "8:1",
                    str(self.files[path][1]),
                    path,
                ),
                True,
            )
            for number, path in enumerate(self.processes[pid][1], 1)
        ]

    def find(self, pid, mapping):
        owner, inode = self.files[mapping.path]
        return mapping.path, os.stat_result((0o100755, inode, 8, 1, owner, 0, 100, 0, 0, 0))

    def table(self, file, most, beat):
        if file.path in self.hang:
            self.gate.wait(60)
        if file.path in self.gone:
            raise FileNotFoundError(file.path)
        if "slow" in file.path:
            time.sleep(self.slow)
        beat()
        self.read.append(file.path)
        return unwind_table.UnwindTable(
            0, unwind_rows.ROW.pack(0, 0) * 10, [elf.Segment(0, 0, 1 << 30, elf.EXECUTES)]
        )

    def number(self, made, pid):
        """Whether the tables of a process are there in the end; it is asked for again and again, as programs in the kernel do."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            made.locate_code(pid, 0)
            time.sleep(0.01)
            if pid in self.answers and all(
                part[3] not in (unwind_rows.NONE, unwind_rows.LATER) for part in self.answers[pid]
            ):
                return True
        return False


@pytest.fixture
def world(monkeypatch):
    made = World()
    monkeypatch.setattr(io_worker, "JOB_TIMEOUT", 0.1)
    for room in (io_worker, unwind_table_loader):
        monkeypatch.setattr(room, "read_process_user", made.user_of)
    monkeypatch.setattr(unwind_table_loader, "mapped_code", made.mapped_code)
    monkeypatch.setattr(unwind_table_loader.maps, "find_mapped_file", made.find)
    monkeypatch.setattr(unwind_table_loader, "_compile_table", made.table)
    monkeypatch.setattr(unwind_table_loader.elf, "load_bias", lambda known, mapping: 0)
    monkeypatch.setattr(
        unwind_table_loader.unwind_rows, "parts", lambda stamp, delay, is_whole, found: found
    )
    yield made
    made.gate.set()


@pytest.fixture
def made(world):
    found = unwind_table_loader.UnwindTableLoader()
    found.max_processes, found.store_value = 1000, world.answers.__setitem__
    found.remove_value, found.add_table = (lambda pid: None), (lambda rows: 7)
    yield found
    found.close()


def hung(made, pids):
    """Ask for all of them, one after the other has made it wait."""
    for pid in pids:
        made.locate_code(pid, 0)
        time.sleep(0.12)


def test_processes_that_hang(world, made, monkeypatch):
    """One user has more of them than there are threads for him: another's, and root's, are known all the same."""
    monkeypatch.setattr(io_worker, "_MAX_HUNG", 3)
    monkeypatch.setattr(io_worker, "_MAX_HUNG_ROOT", 4)
    world.files = {"/libc.so.6": (ROOT, 1), "/other": (GOOD, 2)}
    world.processes = {pid: (BAD, ["/libc.so.6"]) for pid in range(100, 110)} | {
        1: (ROOT, ["/libc.so.6"]),
        2: (GOOD, ["/other"]),
    }
    world.hang = set(range(100, 110))
    hung(made, range(100, 110))
    assert world.number(made, 1) and world.number(made, 2)
    assert len([text for text in made.messages if text.startswith("process ")]) == 3
    assert [text for text in made.messages if text.startswith("user ")] == [
        f"user {BAD}: {made.QUOTA_MESSAGE}"
    ]


def test_files_that_hang(world, made, monkeypatch):
    monkeypatch.setattr(io_worker, "_MAX_HUNG", 3)
    world.files = {f"/bad{number}": (BAD, 100 + number) for number in range(10)} | {
        "/libc.so.6": (ROOT, 1),
        "/other": (GOOD, 2),
    }
    world.hang = {f"/bad{number}" for number in range(10)}
    world.processes = {100: (BAD, sorted(world.hang)), 2: (GOOD, ["/other", "/libc.so.6"])}
    made.locate_code(100, 0)
    assert world.number(made, 2)
    hung(made, [2] * 5)
    assert len([text for text in made.messages if text.startswith("bad")]) == 3
    assert f"user {BAD}: {made.QUOTA_MESSAGE}" in made.messages and not {
        text for text in made.messages if str(GOOD) in text
    }


@pytest.mark.parametrize("harm", ["hang", "gone"])
def test_a_file_of_root_s_that_a_stranger_leads_to(world, made, harm):
    """By a path of his own, which hangs, or ends with him: by another's path it is read."""
    world.files = {"/proc/100/root/libc.so.6": (ROOT, 1), "/libc.so.6": (ROOT, 1)}
    setattr(world, harm, {"/proc/100/root/libc.so.6"})
    world.processes = {100: (BAD, ["/proc/100/root/libc.so.6"]), 2: (GOOD, ["/libc.so.6"])}
    made.locate_code(100, 0)
    assert world.number(made, 2) and world.read == ["/libc.so.6"]
    assert world.number(made, 100), "he may have what others know"


def test_files_that_are_slow(world, made, monkeypatch):
    """Each is read in time, but there is no end to them; meanwhile everybody else's wait, and not for long."""
    monkeypatch.setattr(io_worker, "_INITIAL_SECONDS", 0.5)
    monkeypatch.setattr(made, "TIME_SHARE", 0.0, raising=False)
    world.slow = 0.05
    world.files = {f"/slow{number}": (BAD, 100 + number) for number in range(400)} | {
        "/other": (GOOD, 2)
    }
    world.processes = {100: (BAD, sorted(world.files)[1:]), 2: (GOOD, ["/other"])}
    made.locate_code(100, 0)
    assert world.number(made, 2)
    assert len(world.read) <= 12 and f"user {BAD}: {made.QUOTA_MESSAGE}" in made.messages


def test_what_is_bounded_is_shared():
    """A user has half of what the others have left, root all."""
    shares = UserQuota(1000)
    shares.used[BAD] += shares.find_available(BAD)
    assert shares.used[BAD] == 500 and shares.find_available(BAD) == 0
    shares.used[GOOD] += shares.find_available(GOOD)
    assert (
        shares.used[GOOD] == 250
        and shares.find_available(1002) == 125
        and shares.find_available(ROOT) == 250
    )
    shares.used[BAD] -= 300
    assert shares.find_available(GOOD) > 0


def test_ids_that_a_user_has_for_others_are_one():
    assert [canonical_uid(uid) for uid in (0, 1000, 65535, 131072, 131073, 196607)] == [
        0,
        1000,
        65535,
        131072,
        131072,
        131072,
    ]


def test_whose_a_process_is():
    """Its real user, also where /proc says that it is root's, since nobody may look into it."""
    pid = os.fork()
    if not pid:
        if os.getuid() == 0:
            os.setresuid(1000, 0, 0)
        time.sleep(60)
        os._exit(0)
    try:
        until, wanted = time.monotonic() + 10, os.getuid() or 1000
        while io_worker.read_process_user(pid) != wanted and time.monotonic() < until:
            time.sleep(0.01)
        assert io_worker.read_process_user(pid) == wanted
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    assert io_worker.read_process_user(pid) == -1
