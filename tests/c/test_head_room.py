"""What buffers leave to the program: room in its file system, memory, addresses; and that no limit on it ends it."""

import contextlib
import os
import shutil
import time
from pathlib import Path

import pytest

from tests.support.core.programs import check, wait_for

MIB = 1 << 20
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="host: needs root to mount a small tmpfs")
V1, V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


def limited(world, limits, *options):
    """A target with limits of prlimit(1)."""
    return [shutil.which("prlimit"), *limits, *world.target_command("a", *options)]


def account_is_exact(world, result, fired):
    check(result)
    assert result["delivered"] + result["dropped"] == world.account("a").returned == fired


@ROOT
def test_a_small_file_system(world):
    """Two processes fill their buffers, and three quarters of what was free stay free."""
    least = []
    with world.small("16m"):
        reader = world.reader("all", "alive", "targets=2", "pause=500000", "bufsize=4194304")
        reader.stdout.readline()
        targets = [world.start(world.target_command(f"a{i}", 4, 40000)) for i in range(2)]
        while any(target.poll() is None for target in targets):
            fs = os.statvfs(world.rundir)
            least.append(fs.f_bavail * fs.f_frsize)
            time.sleep(0.002)
        result = world.finish(reader)
    check(result)
    assert result["delivered"] + result["dropped"] == 320000 and result["dropped"] > 0
    assert 11.5 * MIB < min(least) < 13 * MIB


@contextlib.contextmanager
def memory_cgroup(limit):
    """One with this limit, below one without; and the file that has its highest usage."""
    v1 = (V1 / "memory.limit_in_bytes").exists()
    outer = (V1 if v1 else V2) / f"pyusdt-test-{os.getpid()}"
    inner = outer / "inner"
    try:
        if not v1 and "memory" not in (V2 / "cgroup.subtree_control").read_text().split():
            raise OSError("memory is not delegated")
        outer.mkdir()
    except OSError as error:
        pytest.skip(f"host: no memory cgroup can be made: {error}")
    try:
        (outer / ("memory.limit_in_bytes" if v1 else "memory.max")).write_text(str(limit))
        if not v1:
            (outer / "cgroup.subtree_control").write_text("+memory")
        inner.mkdir()
        yield inner, outer / ("memory.max_usage_in_bytes" if v1 else "memory.peak")
    finally:
        for each in (inner, outer):
            with contextlib.suppress(FileNotFoundError):
                each.rmdir()


def test_a_memory_cgroup(world):
    """The limit is that of an outer cgroup. The process goes on, and has most of it for itself."""
    with memory_cgroup(24 * MIB) as (inner, highest):
        reader = world.reader("all", "alive", "targets=1", "pause=500000", "bufsize=4194304")
        reader.stdout.readline()
        script = f'echo $$ > {inner}/cgroup.procs; exec "$@"'
        target = world.start(["sh", "-c", script, "sh", *world.target_command("a", 8, 40000)])
        assert target.wait(60) == 0
        result = world.finish(reader)
        used = int(highest.read_text())
    account_is_exact(world, result, 320000)
    assert result["dropped"] > 0 and used < 12 * MIB


def test_few_addresses(world):
    """Rings of 8 MiB each have a quarter at most of what the program and its threads leave."""
    reader = world.reader("all", "alive", "targets=1", "pause=500000", "bufsize=4194304")
    reader.stdout.readline()
    target = world.start(limited(world, ["--as=268435456"], 8, 40000, "linger"))
    wait_for(
        lambda: (
            (world.folder / "a").exists()
            and (world.folder / "a").stat().st_size
            and world.account("a").returned == 320000
        ),
        60,
    )
    rings = sum(end - start for start, end in mappings(target.pid, ".ring"))
    target.kill()
    result = world.finish(reader)
    account_is_exact(world, result, 320000)
    assert 0 < rings <= 64 * MIB


def test_no_addresses(world):
    """Not even for one ring: all is counted."""
    result = world.trace("bufsize=67108864", command=limited(world, ["--as=134217728"], 1, 500))
    account_is_exact(world, result, 500)
    assert result["dropped"] == 500


@pytest.mark.parametrize("size, published", [(65536, False), (8 * MIB, True)])
def test_a_limit_on_files(world, size, published):
    """SIGXFSZ, which would end the program, is never sent: nothing is traced, or all is counted."""
    child = world.start(limited(world, [f"--fsize={size}"], 1, 500, "wait"))
    if not published:
        assert (child.wait(60), child.stderr.read()) == (4, "ring_target: not published\n")
        return
    result = world.finish(world.reader("all", "targets=1", "bufsize=16777216"))
    account_is_exact(world, result, 500)
    assert child.returncode in (None, 0) and result["dropped"] == 500


def mappings(pid, suffix):
    """(start, end) of the process's mappings of files whose names contain this."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if suffix in line:
            yield tuple(int(word, 16) for word in line.split()[0].split("-"))


def test_addresses_are_given_back(world):
    """The first firing after the tracer was killed unmaps the rings, and finds the probe off."""
    target = world.target("a", 4, 0, "wait", "until-off", "linger", "pace=100")
    reader = world.reader("all", "bufsize=4194304", "die=5000")
    wait_for(lambda: any(mappings(target.pid, ".ring")), 20)
    reader.communicate(timeout=60)
    wait_for(lambda: len(os.listdir(f"/proc/{target.pid}/task")) == 1, 20)
    assert list(mappings(target.pid, ".ring")) == []
    assert world.files() == [name for name in world.files() if name.endswith(".ctl")]
