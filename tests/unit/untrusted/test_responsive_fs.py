"""Paths on a file system that does not answer: root's tracer goes on without what lies there, and says so.

The file system is FUSE's, mounted with nobody behind it: each look at it waits in the kernel.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import stat
import time

import pytest

from pydtrace.driver.address_symbolizer import AddressSymbolizer
from pydtrace.process import maps
from pydtrace.symbols.perf_map import PerfMaps
from pydtrace.untrusted import responsive_fs
from pydtrace.untrusted.responsive_fs import ResponsiveFs

ME = os.getpid()
DETACHED = 2


@contextlib.contextmanager
def silent(folder):
    """Until the block ends nobody answers for what is in the folder."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        pytest.skip(f"host: no FUSE: {error}")
    try:
        how = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        if libc.mount(b"silent", os.fsencode(folder), b"fuse.silent", 0, how.encode()) != 0:
            pytest.skip(f"host: FUSE is not mounted: {os.strerror(ctypes.get_errno())}")
        yield
    finally:
        libc.umount2(os.fsencode(folder), DETACHED)
        os.close(fd)


@pytest.fixture
def asks(monkeypatch):
    """A Reachable, as if this were a new tracer; with little patience."""
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    made = ResponsiveFs()
    monkeypatch.setattr(responsive_fs, "LOOK_TIMEOUT", 0.5)
    monkeypatch.setattr(responsive_fs, "_MOUNTS_INTERVAL", 0.0)
    for module in ("pydtrace.driver.address_symbolizer", "pydtrace.symbols.perf_map"):
        monkeypatch.setattr(f"{module}.RESPONSIVE_FS", made)
    return made


def test_what_does_not_answer_is_left(asks, tmp_path):
    """And what lies beside it is looked at as before."""
    there, other = tmp_path / "there", tmp_path / "other"
    there.mkdir()
    other.write_text("x")
    with silent(there):
        began = time.monotonic()
        assert not asks(f"{there}/lib.so", ME)
        assert asks(str(other), ME) and asks(str(tmp_path / "missing"), ME)
        assert not asks(f"{there}/other.so", ME)  # nobody is asked again in that folder
        assert time.monotonic() - began < 10
        assert asks.drain_messages() == [
            f"{there}/lib.so: its file system does not answer: nothing is looked up there"
        ]
        assert asks.drain_messages() == []
    assert asks._helper is not None


def test_a_root_of_its_own(asks, tmp_path):
    """A process in a chroot, in our mount namespace: its paths are not ours, and it does not see on what file system its root lies."""
    (tmp_path / "there").mkdir()
    with silent(tmp_path / "there"):
        child = os.fork()
        if not child:
            os.chroot(tmp_path)
            signal.pause()
        try:
            while responsive_fs._mount_view("self") == responsive_fs._mount_view(str(child)):
                time.sleep(0.01)
            assert not asks(f"/proc/{child}/root/there/lib.so", child)
            assert "" in responsive_fs._mounted_types(
                str(child)
            ) and "" not in responsive_fs._mounted_types("self")
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    assert responsive_fs._mounted_types(str(child)) == [""]


def test_there_is_an_end_to_helpers(asks, tmp_path, monkeypatch):
    monkeypatch.setattr(responsive_fs, "_MAX_HUNG", 2)
    with contextlib.ExitStack() as mounted:
        for name in "abc":
            (tmp_path / name).mkdir()
            mounted.enter_context(silent(tmp_path / name))
        assert [asks(f"{tmp_path}/{name}/x", ME) for name in "abc"] == [False] * 3
        assert len(asks.drain_messages()) == 3 and asks.drain_messages() == []


def test_without_a_helper_the_tracer_looks_itself(asks, monkeypatch):
    """One that was killed is made anew, and where none can be nothing fails."""
    monkeypatch.setattr(responsive_fs, "_mounted_types", lambda pid: iter(["nfs4"]))
    assert asks("/nowhere", ME)
    asks._helper.kill()
    asks._helper.wait()
    assert asks("/nowhere", ME) and asks("/nowhere", ME) and asks._helper is not None
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    asks._helper.kill()
    asks._helper.wait()
    assert asks("/nowhere", ME) and asks("/nowhere", ME) and asks._helper is None
    assert asks.drain_messages() == []


def test_names_of_such_files_are_addresses(asks, tmp_path):
    """A mapping's path, and the folder of perf's maps."""
    where = tmp_path / "there"
    where.mkdir()
    with silent(where):
        mapping = maps.Mapping("", "r-xp", "0", "00:99", "7", f"{where}/lib.so")
        symbols = AddressSymbolizer(code_of=lambda address: (mapping, 64))
        began = time.monotonic()
        assert symbols.name_address(ME, 0x40) == "lib.so`0x40"
        assert time.monotonic() - began < 10
        assert [each.startswith(f"{where}/lib.so: ") for each in symbols.warnings()] == [True]


def test_nobody_is_asked_where_all_answer(asks, monkeypatch):
    monkeypatch.setattr(
        responsive_fs, "_mounted_types", lambda pid: iter(["ext4", "proc", "tmpfs"])
    )
    assert asks("/nowhere", ME) and asks._helper is None
    monkeypatch.setattr(responsive_fs, "_mounted_types", lambda pid: iter(["ext4", "nfs4"]))
    assert asks("/nowhere", ME) and asks._helper is not None


def test_names_that_perf_maps_have_no_time_for_are_told(monkeypatch):
    monkeypatch.setattr("pydtrace.symbols.perf_map._AT_ONCE", -1.0)
    monkeypatch.setattr("pydtrace.driver.address_symbolizer.FRAME_RESOLVERS", [PerfMaps])
    monkeypatch.setattr(maps, "read_maps", lambda pid: [])
    symbols = AddressSymbolizer()
    assert symbols.name_address(ME, 0x5000) == "0x5000"
    [told] = symbols.warnings()
    assert told.startswith(
        f"names of functions of user {os.getuid()}'s processes were not all read"
    )
    assert symbols.warnings() == []


def test_the_helper_opens_what_it_has_looked_at(tmp_path, monkeypatch):
    """Whoever has named the path puts a device in its place after the helper's first look."""
    for name, target in (("path", "file"), ("other", "/dev/null")):
        (tmp_path / name).symlink_to(target)
    (tmp_path / "file").write_text("x")
    (tmp_path / "file").chmod(0o644)
    path, read, other = str(tmp_path / "path"), [], [str(tmp_path / "other")]

    def swapped(function):
        def call(named, *arguments, **options):
            found = function(named, *arguments, **options)
            if named == path and other:
                os.rename(other.pop(), path)
            return found

        return call

    helper = {}
    exec(responsive_fs._PROGRAM.split("data = b")[0], helper)  # noqa: S102
    monkeypatch.setattr(os, "stat", swapped(os.stat))
    monkeypatch.setattr(os, "open", swapped(os.open))
    monkeypatch.setattr(
        os,
        "pread",
        lambda fd, size, at, pread=os.pread: read.append(
            (os.fstat(fd).st_mode, pread(fd, size, at))
        ),
    )
    helper["look"](path)
    assert [(stat.S_ISREG(mode), data) for mode, data in read] == [(True, b"x")]
    helper["look"](path)
    assert len(read) == 1  # the device is not opened


def test_who_may_not_answer_is_asked():
    """The list names those that do; a kind that nobody has thought of is asked."""
    assert (
        not {
            "autofs",
            "9p",
            "ceph",
            "cifs",
            "fuse",
            "fuseblk",
            "fuse.sshfs",
            "nfs",
            "nfs4",
            "virtiofs",
            "",
        }
        & responsive_fs._LOCAL_FILE_SYSTEMS
    )
