"""Root traces a process of a user who makes its run directory, or what root takes for it, be something else meanwhile.

The tracer stops at a hook between any two calls of its walk (c/discovery/rundir_open.c), the attacker does what he can there, and the
tracer goes on. Nothing outside of his own /dev/shm may be another than before: not its entries, owners, modes, times, bytes.
"""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.support import mounts

ALICE, BOB, CAROL = 54001, 54002, 54003  # the attacker has the numbers of the first two
pytestmark = [
    pytest.mark.skipif(
        os.geteuid() != 0, reason="needs root for a /dev/shm of its own and another user"
    ),
    pytest.mark.xdist_group("users"),
]
HERE = Path(__file__).parent
# Where the walk can be stopped, and how often it passes there before it is at the end of the directory's name.
STEPS = [(44, 1), (40, 1), (40, 2), (41, 1), (42, 1), (43, 1), (45, 1)]


class Scene:
    """A mount namespace in which all happens, something in it that is to stay as it is, and an attacker."""

    def __init__(self, build):
        self.build, self.started = build, []
        self.folder = Path(tempfile.mkdtemp(dir="/var/tmp"))  # no part of what is mounted over
        self.folder.chmod(0o755)
        script = f"{mounts.empty('/dev/shm', '/tmp')} && echo made && exec sleep 600"
        self.holder = self.popen(["unshare", "-m", "sh", "-c", script])
        assert self.holder.stdout.readline() == "made\n"
        self.root = Path(f"/proc/{self.holder.pid}/root")
        self.decoys = self.folder / "decoys"
        self.make_decoys()

    def popen(self, command, **more):
        environment = {name: value for name, value in os.environ.items() if name != "PYUSDT_RUNDIR"}
        environment.update(more.pop("environment", {}))
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            **more,
        )
        self.started.append(process)
        return process

    def inside(self, *command, **environment):
        return self.popen(
            ["nsenter", "-t", self.holder.pid, "-m", *command], environment=environment
        )

    def make_decoys(self):
        """What root could be made to write to: directories of his and of another user's, of the names that he looks for, with
        files of the names that a sweep removes."""
        for kind, owner in (("root", 0), ("carol", CAROL)):
            for name in ("pyusdt-0", f"pyusdt-{ALICE}", "private"):
                place = self.decoys / kind / name
                place.mkdir(parents=True)
                for file in (
                    "1-1-0.ctl",
                    "00.session",
                    "1-1-0.ctl.00.0123456789abcdef.area",
                    "1-1-0.ctl.00.0123456789abcdef.ring0",
                    "notes",
                ):
                    (place / file).write_text("precious")
                    (place / file).chmod(0o600)
                    os.chown(place / file, owner, owner)
                place.chmod(0o700)
                os.chown(place, owner, owner)
            (self.decoys / kind / "shm").symlink_to(".")
            (self.decoys / kind / "tmp").symlink_to(".")

    def snapshot(self):
        """All that can be seen of the decoys."""
        seen = {}
        for path in [self.decoys, *self.decoys.rglob("*")]:
            at = path.lstat()
            seen[str(path)] = (
                at.st_uid,
                at.st_gid,
                at.st_mode,
                at.st_mtime_ns,
                at.st_ctime_ns,
                at.st_nlink,
                path.read_text() if stat.S_ISREG(at.st_mode) else None,
            )
        return seen

    def target_command(self, owner, *options):
        program = shutil.copy(self.build.program("ring_target"), self.folder)
        account = self.folder / "accounts"
        account.mkdir(exist_ok=True)
        os.chown(account, owner, owner)
        return [program, account / "a", 1, 100, "wait", *options]

    def attacker(self, uids):
        """(its agent, the pid of its program as it is here)."""
        agent = shutil.copy(HERE / "attacker.py", self.folder)
        command = self.target_command(uids[0])
        process = self.inside(sys.executable, agent, ",".join(map(str, uids)), *command)
        line = process.stdout.readline()
        assert line.strip().isdigit(), process.communicate()
        return process, int(line)

    def reader(self, pid, variant="hooks", until="ms=150", **environment):
        program = shutil.copy(self.build.program("ring_reader", variant), self.folder)
        command = [program, "orderlag=5000000", f"pid={pid}", until]
        return self.inside(*command, **environment)

    def end(self):
        for process in [*self.started[1:], self.holder]:
            process.kill()
            process.communicate()
        shutil.rmtree(self.folder)


@pytest.fixture
def scene(build):
    made = Scene(build)
    yield made
    made.end()


def do(agent, what):
    agent.stdin.write(what + "\n")
    agent.stdin.flush()
    return agent.stdout.readline().strip()


def stopped(process, timeout=20):
    """Waits until it is; False where it ended instead."""
    end = time.monotonic() + timeout
    while process.poll() is None:
        state = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        if state == "T":
            return True
        assert time.monotonic() < end, "neither stopped nor ended"
        time.sleep(0.002)
    return False


def published(scene, agent, name):
    """The attacker's program is in its own /dev/shm."""
    end = time.monotonic() + 20
    while do(agent, f"assert_there = os.listdir('/dev/shm/{name}')[0]") != "done":
        assert time.monotonic() < end, do(
            agent, "raise OSError(os.listdir('/dev/shm'), os.getuid(), program.poll())"
        )
        time.sleep(0.01)


# What he does: (it undoes nothing; the scene is over then). D is where the decoys are.
TRICKS = {
    "his directory is a link": "os.rename('/dev/shm/pyusdt-0', '/dev/shm/x'); os.symlink(D + '/private', '/dev/shm/pyusdt-0')",
    "his directory is a mount": "bind(D + '/private', '/dev/shm/pyusdt-0')",
    "its place is a mount": "bind(D, '/dev/shm')",
    "its place is gone": "detach('/dev/shm')",
    "the place's place is a mount": "bind(D, '/dev')",
    "the place is a link": "mount('tmpfs', '/dev'); os.symlink(D, '/dev/shm')",
    "his directory is gone": "program.kill(); program.wait(); remove('/dev/shm/pyusdt-0')",
    "his directory was never there": "program.kill(); program.wait(); os.rename('/dev/shm/pyusdt-0', '/dev/shm/y')",
    "his directory is a fifo": "os.rename('/dev/shm/pyusdt-0', '/dev/shm/x'); os.mkfifo('/dev/shm/pyusdt-0')",
    "his root directory is a mount": "bind(D, '/tmp'); os.mkdir('/dev/shm/r'); bind(D, '/dev/shm/r'); os.chroot('/dev/shm/r')",
}


def attack(scene, agent, pid, step, trick, variant):
    place, passing = step
    reader = scene.reader(pid, variant, HOOK=f"{place}:{passing}", HOOK_SIGNAL="stop")
    assert stopped(reader), f"{step}: {reader.communicate()}"
    said = do(agent, f"D = {trick[0]!r}; {trick[1]}")
    reader.send_signal(signal.SIGCONT)
    reader.communicate(timeout=30)
    return said


def test_what_the_walk_is_for(scene):
    """Without an attack: the process is found, and its events come; the session file there is his."""
    agent, pid = scene.attacker([ALICE, BOB])
    published(scene, agent, "pyusdt-0")
    before = scene.snapshot()
    reader = scene.reader(pid, "plain", "events=100")
    out, err = reader.communicate(timeout=30)
    assert '"targets": 1' in out and '"delivered": 100' in out, (out, err)
    assert scene.snapshot() == before


@pytest.mark.parametrize(
    "variant, decoy, is_child",
    [("hooks", "root", False), ("hooks", "root", True), ("walk", "carol", True)],
)
@pytest.mark.parametrize("trick", TRICKS)
def test_switched_at_every_step(build, trick, variant, decoy, is_child):
    """Of a process that has published itself, or of one that looks like a forked child: there the directory alone counts."""
    for step in STEPS:
        scene = Scene(build)
        try:
            agent, pid = scene.attacker([ALICE, BOB])
            published(scene, agent, "pyusdt-0")
            if is_child:
                assert do(agent, "mapped = map_file('/dev/shm/pyusdt-0/1-1-0.ctl')") == "done"
                pid = agent.pid
            before = scene.snapshot()
            said = attack(
                scene, agent, pid, step, (str(scene.decoys / decoy), TRICKS[trick]), variant
            )
            assert scene.snapshot() == before, step
            assert said == "done", (step, said)
        finally:
            scene.end()


def new_user(scene):
    """A process of root's that has published itself, and is Alice's by now."""
    target = scene.inside(*scene.target_command(0, f"setuid={ALICE}"))
    end = time.monotonic() + 20
    while f"Uid:\t{ALICE}" not in Path(f"/proc/{target.pid}/status").read_text():
        assert time.monotonic() < end and target.poll() is None
        time.sleep(0.002)
    return target


def test_a_process_that_becomes_another_user(scene):
    """The directory that is made for it is Alice's from the beginning: root makes it as her."""
    target = new_user(scene)
    out, err = scene.reader(target.pid, "plain", "events=100").communicate(timeout=30)
    made = (scene.root / f"dev/shm/pyusdt-{ALICE}").stat()
    assert '"delivered": 100' in out, (out, err)
    assert (made.st_uid, made.st_gid, made.st_mode & 0o7777) == (
        ALICE,
        0,
        0o700,
    )  # the program has kept its group


@pytest.mark.parametrize("step", [(44, 1), (41, 1), (42, 1), (43, 1)])
@pytest.mark.parametrize("kind", ["root", "carol"])
def test_another_user_s_directory_is_switched(scene, step, kind):
    """Alice's name is a link by then, before it is made or after."""
    target = new_user(scene)
    before = scene.snapshot()
    reader = scene.reader(target.pid, HOOK=f"{step[0]}:{step[1]}", HOOK_SIGNAL="stop")
    assert stopped(reader), reader.communicate()
    name = scene.root / f"dev/shm/pyusdt-{ALICE}"
    if name.exists():
        name.rename(scene.root / "dev/shm/elsewhere")
    name.symlink_to(scene.decoys / kind / "private")
    reader.send_signal(signal.SIGCONT)
    reader.communicate(timeout=30)
    assert scene.snapshot() == before


def test_a_strangers_directory_of_roots_name(scene):
    """Who makes /dev/shm/pyusdt-0 before root does, has nothing of it."""
    squatted = scene.root / "dev/shm/pyusdt-0"
    squatted.mkdir(mode=0o700)
    os.chown(squatted, CAROL, CAROL)
    out, err = scene.inside(*scene.target_command(0)).communicate(timeout=30)
    assert "not published" in err, (out, err)
    assert list(squatted.iterdir()) == []
