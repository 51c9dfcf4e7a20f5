"""Root traces the processes of all users, each in a run directory of his own; and one that changes its user.

Each test has a /dev/shm and pids of its own, in namespaces, so that no other process of the machine is seen.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pydtrace._tracer import find_rundir
from tests.support import harness

pytestmark = [
    pytest.mark.xdist_group("users"),
    pytest.mark.skipif(
        os.geteuid() != 0 or harness.tools("unshare", "nsenter") is not None,
        reason="needs root, unshare and nsenter: other users' processes",
    ),
]
ALICE, BOB = 54001, 54002
COUNT = (
    'BEGIN { printf("begun\\n"); } pyusdt*:::user_trace-i4s4 { @[uid, arg2] = count(); } '
    'END { printa("%d %d %@d\\n", @); }'
)

# Is this user in a forked child, so that python need not be readable to him; fires what it is told to, line by line.
PROGRAM = """
import os, sys, pyusdt
if os.fork():
    sys.exit(os.wait()[1])
before = int(sys.argv[2])
if before: os.setuid(int(sys.argv[1]))
pyusdt.p(0)
if not before: print(os.getpid(), flush=True); sys.stdin.readline(); os.setuid(int(sys.argv[1]))
print(os.getpid(), flush=True)
for line in sys.stdin:
    print(sum(map(pyusdt.p, [int(line)] * 100)), flush=True)
"""


class Users:
    """A mount and pid namespace with an empty /dev/shm; what runs in it."""

    def __init__(self):
        script = "mount -t tmpfs tmpfs /dev/shm && echo made && exec sleep 600"
        command = ["unshare", "-mpf", "--mount-proc", "--kill-child", "sh", "-c", script]
        self.holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "made\n"
        self.shm = Path(f"/proc/{self.holder.pid}/root/dev/shm")
        self.environment = {
            name: value for name, value in os.environ.items() if name != "PYUSDT_RUNDIR"
        }
        self.started = []

    def start(self, *command):
        enter = [
            "nsenter",
            "-t",
            self.holder.pid,
            "-m",
            f"--pid=/proc/{self.holder.pid}/ns/pid_for_children",
        ]
        process = subprocess.Popen(
            [*map(str, enter), *map(str, command)],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment,
        )
        self.started.append(process)
        return process

    def process(self, uid, before=True):
        """(process, its pid) of a program of this user, published."""
        process = self.start(sys.executable, "-c", PROGRAM, uid, int(before))
        return process, int(process.stdout.readline())

    def trace(self, *arguments, script=COUNT):
        """A tracer that has begun, and has its session in all directories."""
        process = self.start(harness.PYDTRACE, "-q", *arguments, "-n", script)
        line = process.stdout.readline()
        assert line == "begun\n" or process.stdout.readline() == "begun\n", process.communicate()
        return process

    def joined(self, *uids):
        """Waits until there is a started session in the directories of these users."""
        for uid in uids:
            harness.wait_until(
                lambda uid=uid: any(
                    path.stat().st_size > 400 and path.read_bytes()[12] == 1
                    for path in self.shm.glob(f"pyusdt-{uid}/*.session")
                )
            )

    def end(self):
        for process in [self.holder, *self.started]:  # the first takes all the others with it
            process.kill()
            process.wait()
            for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
                stream.close()


@pytest.fixture
def users():
    made = Users()
    yield made
    made.end()


def fire(process, mark):
    """How many of a hundred firings found the probe on."""
    process.stdin.write(f"{mark}\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def ended(process):
    """{(uid, mark): count} of a tracer that is told to end, and what it said."""
    subprocess.run(
        ["pkill", "-INT", "-P", str(process.pid)], check=False
    )  # nsenter does not hand it on; one of -p may have ended before
    out, err = process.communicate(timeout=30)
    rows = [
        tuple(map(int, line.split()))
        for line in out.splitlines()
        if re.fullmatch(r"\d+ \d+ \d+", line)
    ]
    return {(uid, mark): count for uid, mark, count in rows}, err


def test_all_users_now_and_later(users):
    alice, _ = users.process(ALICE)
    root, _ = users.process(0)
    tracer = users.trace("-Z")
    users.joined(ALICE, 0)
    bob, _ = users.process(BOB)  # the first of a user who had no directory
    users.joined(BOB)
    assert [fire(who, 7) for who in (alice, root, bob)] == [100, 100, 100]
    counts, err = ended(tracer)
    assert {key: count for key, count in counts.items() if key[1] == 7} == {
        (ALICE, 7): 100,
        (0, 7): 100,
        (BOB, 7): 100,
    }
    assert "not traced" not in err and not list(users.shm.glob("*/*.session")), err


# pydtrace whose -x maxcpu finds that a user costs too much when the file `hold` is there: it reads nothing until `go` is there, too.
CUTTER = """
import os, sys, time
from pydtrace.driver.cpu_limit import CpuLimit
folder, uid = sys.argv[1], int(sys.argv[2])
looks = 0
def check_limit(self):
    global looks
    looks += os.path.exists(folder + "/hold")
    if looks == 3:  # what was fired before is read
        open(folder + "/held", "x").close()
        while not os.path.exists(folder + "/go"):
            time.sleep(0.01)
        self._stop_tracing_user(uid)
        self._report(f"user {uid} is cut off")
    return ""
CpuLimit.check_limit = check_limit
sys.argv[1:3] = []
from pydtrace.cli.pydtrace.main import main
sys.exit(main())
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_user_is_cut_off(users, tmp_path, workers):
    """His processes and those to come are traced no more, and what was not read is counted; the others go on."""
    alice, _ = users.process(ALICE)
    other, _ = users.process(ALICE)
    bob, _ = users.process(BOB)
    tracer = users.start(
        sys.executable,
        "-c",
        CUTTER,
        tmp_path,
        ALICE,
        "--strict",
        "-q",
        "-Z",
        "-x",
        "engine=embedded",
        "-x",
        f"workers={workers}",
        "-x",
        "maxcpu=1000",
        "-x",
        "switchrate=50ms",
        "-n",
        COUNT,
    )
    assert tracer.stdout.readline() == "begun\n"
    users.joined(ALICE, BOB)
    assert [fire(who, 7) for who in (alice, other, bob)] == [100, 100, 100]
    (tmp_path / "hold").touch()
    harness.wait_until((tmp_path / "held").exists)
    assert [fire(who, 8) for who in (alice, other, bob)] == [100, 100, 100]
    (tmp_path / "go").touch()
    harness.wait_until(lambda: fire(alice, 9) == 0 and fire(other, 9) == 0)
    late, _ = users.process(ALICE)
    assert [fire(who, 10) for who in (alice, other, late, bob)] == [0, 0, 0, 100]
    counts, err = ended(tracer)
    assert {key: count for key, count in counts.items() if key[1] in (7, 8, 10)} == {
        (ALICE, 7): 200, (BOB, 7): 100, (BOB, 8): 100, (BOB, 10): 100}  # fmt: skip
    drops = harness.count_drops(err)
    assert drops >= 200 and drops % 100 == 0 and f"user {ALICE} is cut off" in err, err
    assert tracer.returncode in (3, -2) and not list(users.shm.glob("*/*.ring*")), (
        err,
        tracer.returncode,
    )


def test_processes_of_two_users_by_pid(users):
    alice, first = users.process(ALICE)
    other, _ = users.process(ALICE)
    bob, second = users.process(BOB)
    both = ", ".join(f"pyusdt{each}:::user_trace-i4s4" for each in (first, second))
    script = COUNT.replace("pyusdt*:::user_trace-i4s4", both)
    tracer = users.trace("-p", first, "-p", second, script=script)
    users.joined(ALICE, BOB)
    harness.wait_until(lambda: fire(alice, 1) == 100 and fire(bob, 1) == 100)
    assert [fire(who, 7) for who in (alice, other, bob)] == [100, 0, 100]
    counts, _ = ended(tracer)
    assert counts[ALICE, 7] == counts[BOB, 7] == 100


def slots_taken(users):
    """By locks that are held for ever."""
    held = []
    for slot in range(64):
        path = users.shm / f"pyusdt-{ALICE}" / f"{slot:02}.session"
        held.append(path.open("w"))
        path.chmod(0o600)
        os.chown(path, ALICE, ALICE)
        fcntl.flock(held[-1], fcntl.LOCK_EX)
    return held


def links(users):
    """Names of session files that are links to a file of root."""
    secret = users.shm / "secret"
    secret.write_text("secret")
    secret.chmod(0o600)
    for slot in range(0, 64, 2):
        (users.shm / f"pyusdt-{ALICE}" / f"{slot:02}.session").symlink_to(secret)
        os.link(secret, users.shm / f"pyusdt-{ALICE}" / f"{slot + 1:02}.session")


def mounts(users):
    """Names of session files under which files of root are mounted."""
    secret = users.shm / "secret"
    secret.write_text("secret")
    secret.chmod(0o600)
    for slot in range(64):
        name = f"/dev/shm/pyusdt-{ALICE}/{slot:02}.session"
        users.start("touch", name).wait()
        users.start("mount", "--bind", "/dev/shm/secret", name).wait()


def fifos(users):
    for slot in range(64):
        path = users.shm / f"pyusdt-{ALICE}" / f"{slot:02}.session"
        os.mkfifo(path, 0o600)
        os.chown(path, ALICE, ALICE)


def open_to_others(users):
    (users.shm / f"pyusdt-{ALICE}").chmod(0o755)


def anothers(users):
    os.chown(users.shm / f"pyusdt-{ALICE}", BOB, BOB)


@pytest.mark.parametrize(
    "plant, said",
    [
        *((each, "all 63 session slots") for each in (slots_taken, links, fifos, mounts)),
        (open_to_others, "must be 0700"),
        (anothers, "does not belong to uid"),
    ],
)
def test_a_hostile_user_costs_his_own_events(users, plant, said):
    """Whatever is in his directory: the others' are complete, no file is touched, and the user is told."""
    (users.shm / f"pyusdt-{ALICE}").mkdir(mode=0o700)
    os.chown(users.shm / f"pyusdt-{ALICE}", ALICE, ALICE)
    held = plant(users)
    bob, _ = users.process(BOB)
    tracer = users.trace("-Z")
    users.joined(BOB)
    assert fire(bob, 7) == 100
    counts, err = ended(tracer)
    assert counts[BOB, 7] == 100 and re.search(
        f"processes of uid {ALICE} are not traced: .*{said}", err
    ), err
    secret = users.shm / "secret"
    assert not secret.exists() or (secret.read_text(), secret.stat().st_uid) == ("secret", 0)
    del held


def test_a_process_that_is_another_users(users):
    """Its control file, copied into the directory of somebody else, is not believed."""
    root, pid = users.process(0)
    (users.shm / f"pyusdt-{ALICE}").mkdir(mode=0o700)
    os.chown(users.shm / f"pyusdt-{ALICE}", ALICE, ALICE)
    (source,) = users.shm.glob(f"pyusdt-0/{pid}-*.ctl")
    copy = users.shm / f"pyusdt-{ALICE}" / source.name
    copy.write_bytes(source.read_bytes())
    copy.chmod(0o600)
    os.chown(copy, ALICE, ALICE)
    tracer = users.trace("-Z")
    users.joined(ALICE, 0)
    assert fire(root, 7) == 100
    counts, _ = ended(tracer)
    assert {key[0] for key in counts} == {0}
    wanted = copy.read_bytes()[192 : 192 + 64 * 64]
    assert wanted == bytes(len(wanted))


def files(users, _):
    """More names than anybody needs."""
    for n in range(66000):
        (users.shm / f"pyusdt-{ALICE}" / f"{n + 10**6}-1-0.ctl").touch()


def processes(users, control_file):
    """One process, as more than can be."""
    data = control_file.read_bytes()[:200000]
    pid, start, _ = control_file.name.split("-")
    for n in range(1, 1100):
        copy = control_file.with_name(f"{pid}-{start}-{n}.ctl")
        copy.write_bytes(data)
        os.truncate(copy, control_file.stat().st_size)
        copy.chmod(0o600)
        os.chown(copy, ALICE, ALICE)


@pytest.mark.long
@pytest.mark.parametrize(
    "plant, said", [(files, "too many files in"), (processes, "there are too many")]
)
def test_a_crowd_costs_its_users_events(users, plant, said):
    _, pid = users.process(ALICE)
    bob, _ = users.process(BOB)
    (control_file,) = users.shm.glob(f"pyusdt-{ALICE}/{pid}-*.ctl")
    plant(users, control_file)
    tracer = users.trace("-Z")
    users.joined(BOB)
    assert fire(bob, 7) == 100
    counts, err = ended(tracer)
    assert (
        counts[BOB, 7] == 100 and f"not all processes of uid {ALICE} are traced: {said}" in err
    ), err


# Becomes this user, in a forked child if it is told so, and fires.
HIDDEN = """
import os, sys, pyusdt
if sys.argv[2:] and os.fork():
    sys.exit(os.wait()[1])
os.setgroups([])
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))
pyusdt.p(1)
print(os.getpid(), flush=True)
sys.stdin.readline()
"""


def found_by(uid, pid):
    """The run directory of a process as this user's tracer finds it, or why not."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.environ.pop("PYUSDT_RUNDIR", None)
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            os.write(write, find_rundir(pid).encode())
        except OSError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read) as file:
        said = file.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.parametrize("more", [["fork"], []])
def test_the_new_user_of_a_process(more):
    """The kernel shows him nothing of it.  A forked child has a file in his directory, by which -p finds it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYUSDT_RUNDIR"}
    with harness.running(
        [sys.executable, "-c", HIDDEN, str(ALICE), *more], env=environment, stdin=subprocess.PIPE
    ) as process:
        pid = int(process.stdout.readline())
        said = found_by(ALICE, pid)
        other = found_by(BOB, pid)
        process.stdin.close()
        process.wait()
    for path in {f"/dev/shm/pyusdt-{uid}" for uid in (ALICE, BOB)}:
        shutil.rmtree(path, ignore_errors=True)
    assert (
        said == f"/dev/shm/pyusdt-{ALICE}" if more else "no permission to read process" in said
    ), said
    assert "belongs to another user" in other, other


@pytest.mark.parametrize("by_pid", [False, True])
def test_setuid_without_a_fork(users, by_pid):
    """It is found where it was, publishes itself where it belongs, and a session that comes later has all events."""
    process, pid = users.process(ALICE, before=False)
    process.stdin.write("go\n")
    process.stdin.flush()
    assert int(process.stdout.readline()) == pid
    tracer = users.trace("-Z", *(("-p", pid) if by_pid else ()))
    users.joined(ALICE)
    assert fire(process, 7) == 100
    process.stdin.close()
    process.wait()
    counts, err = ended(tracer)
    assert counts == {(ALICE, 7): 100} and "drop" not in err, err
    assert list(users.shm.glob("*/*")) == []
