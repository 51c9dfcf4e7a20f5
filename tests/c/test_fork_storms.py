"""Many at once, and what the kernel may do to a process: storms of forks, threads and processes, a reused pid, another clock."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import pytest

from tests.support.core.programs import C_TESTS, ROOT, check

root = pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root for a namespace, another user, or a small tmpfs"
)
NOBODY = 65534


def test_fork_storm(world):
    """Two hundred children at a time, each fires as soon as it can and is gone before anybody looks."""
    reader = world.reader("all", "alive", "bufsize=65536", "targets=201")
    reader.stdout.readline()
    target = world.start(world.target_command("a", 0, 20, "storm=200"))
    result = world.finish(reader, timeout=120)
    assert target.wait() == 0
    check(result)
    account = world.account("a")
    assert (
        account.returned == 4000 == result["delivered"] + result["dropped"]
        and result["targets"] == 201
    )  # their parent, too
    assert world.files() == []


def test_two_hundred_threads(world):
    """More than there are rings: what finds none is counted."""
    result = world.trace("bufsize=4194304", command=world.target_command("a", 200, 500))
    check(result)
    assert result["delivered"] + result["dropped"] == 100000 == world.account("a").returned


@pytest.mark.long
def test_five_hundred_processes(world):
    """All alive at once, all complete."""
    reader = world.reader("all", "alive", "bufsize=65536", "targets=502")
    reader.stdout.readline()
    targets = [
        world.start(world.target_command(name, 0, 50, "storm=250", "pace=20000"))
        for name in ("a", "b")
    ]
    result = world.finish(reader, timeout=300)
    assert [target.wait() for target in targets] == [0, 0]
    assert (
        result["corrupt"] == result["bad"] == result["out_of_order"] == 0
        and result["targets"] == 502
    )
    fired = sum(world.account(name).returned for name in ("a", "b"))
    assert fired == 25000 == result["delivered"] + result["dropped"]
    assert world.files() == []


@root
def test_a_pid_used_again(world):
    """The same pid for two processes, one after the other, while one session looks: each is one of its own."""
    reader = world.reader_command("all", "alive", "targets=2", "bufsize=1048576")
    first, second = (world.target_command(name, 1, 100) for name in "ab")
    script = f"""
        {" ".join(reader)} & reader=$!
        sleep 0.3
        echo 4000 > /proc/sys/kernel/ns_last_pid; {" ".join(first)} & wait $!; echo first $!
        sleep 0.1
        echo 4000 > /proc/sys/kernel/ns_last_pid; {" ".join(second)} & wait $!; echo second $!
        wait $reader"""
    got = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", "bash", "-c", script],
        env=world.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    lines = got.stdout.splitlines()
    assert "first 4001" in lines and "second 4001" in lines, got
    result = json.loads(next(line for line in lines if line.startswith("{")))
    assert (result["targets"], result["delivered"], result["corrupt"]) == (2, 200, 0)
    assert world.files() == []


@root
@pytest.mark.parametrize("offset, corrupt", [(3600, True), (-60, False)])
def test_a_clock_that_is_not_ours(world, offset, corrupt):
    """The target's CLOCK_MONOTONIC is ahead (a time namespace): its events are of the future, and its ring is given up, loudly;
    behind: its events are delivered. It goes on either way, and others are not held up."""
    reader = world.reader("all", "alive", "targets=2", "bufsize=1048576", "ms=4000")
    reader.stdout.readline()
    command = [
        "unshare",
        "--time",
        "--fork",
        "--monotonic",
        str(offset),
        *world.target_command("a", 1, 100),
    ]
    assert world.start(command).wait(timeout=20) == 0
    assert world.target("b", 1, 100).wait(timeout=20) == 0
    result = world.finish(reader)
    assert world.account("a").returned == 100 == world.account("b").returned
    assert result["corrupt"] == (1 if corrupt else 0) and result["delivered"] == (
        100 if corrupt else 200
    ), result


def test_stopped_and_continued(world):
    """A target that sleeps through many looks and checks of its tracer: nothing is lost, nothing twice."""
    target = world.target("a", 2, 3000, "wait", "pace=50")
    reader = world.reader(f"pid={target.pid}", "bufsize=4194304", "alive")
    reader.stdout.readline()
    for _ in range(5):
        target.send_signal(signal.SIGSTOP)
        time.sleep(0.06)
        target.send_signal(signal.SIGCONT)
        time.sleep(0.02)
    result = world.finish(reader)
    assert result["bad"] == result["repeated"] == result["corrupt"] == 0
    assert result["delivered"] + result["dropped"] == 6000 == world.account("a").returned


@root
@pytest.mark.long
def test_many_clocks_that_are_not_ours(world):
    """CLOCK_MONOTONIC further or less far ahead or behind, in a time namespace: delivered or given up, and told."""
    chance = random.Random(60)
    for n in range(60):
        offset = chance.choice([-1, 1]) * round(10 ** chance.uniform(0, 3))
        reader = world.reader("all", "alive", "targets=1", "bufsize=1048576", "ms=4000")
        reader.stdout.readline()
        target = world.start(
            [
                "unshare",
                "--time",
                "--fork",
                "--monotonic",
                str(offset),
                *world.target_command(f"a{n}", 1, 100),
            ]
        )
        assert target.wait(timeout=20) == 0
        result = world.finish(reader)
        world.end_of(target)
        assert world.account(f"a{n}").returned == 100 and (
            result["delivered"] == 100 or result["corrupt"] == 1
        ), (offset, result)


@root
@pytest.mark.parametrize("pages", [1, 4])
def test_no_room_for_a_control_file(world, pages):
    """The program goes on untraced; a tracer says why it can not, or finds nobody."""
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={pages * 4096},mode=700", "tmpfs", world.rundir],
        check=True,
    )
    try:
        (world.rundir / "full").write_bytes(bytes(pages * 4096))
        assert (
            world.start(world.target_command("a", 1, 100)).wait(timeout=20) == 4
        )  # who asks is told
        result = world.finish(world.reader("all", "ms=10"))
        assert result.get("error") == -28 and "session file" in result["message"], result
        program = "import pyusdt; print(pyusdt.p(1), bool(pyusdt.probe('user_trace-s1')))"
        got = subprocess.run(
            [sys.executable, "-c", program],
            env=world.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (got.stdout, got.stderr) == ("False False\n", "")
    finally:
        subprocess.run(["umount", "-l", world.rundir], check=True)


@root
def test_a_run_directory_of_somebody_else(world):
    """Nobody opens root's: neither as a tracer nor as a target."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        programs = [
            shutil.copy(world.build.program(name), folder)
            for name in ("ring_reader", "ring_target")
        ]
        os.chmod(world.rundir, 0o755)  # that he may look at it
        options = {"user": NOBODY, "env": world.env, "capture_output": True, "text": True}
        reader = subprocess.run([programs[0], "all", "ms=10"], check=False, **options)
        os.mkdir(f"{folder}/nobody")
        os.chown(f"{folder}/nobody", NOBODY, NOBODY)
        target = subprocess.run(
            [programs[1], f"{folder}/nobody/account", "1", "100"], check=False, **options
        )
    assert (
        json.loads(reader.stdout)["error"] == -1
        and f"does not belong to uid {NOBODY}" in json.loads(reader.stdout)["message"]
    )
    assert target.returncode == 4 and world.files() == []


def test_two_cores_in_one_process(world, tmp_path):
    """A program with a core of its own that embeds Python with another: both fire, and one session has all of both."""
    program = tmp_path / "two_cores"
    library, version = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LDVERSION")
    if not list(Path(library).glob(f"libpython{version}.*")):
        pytest.skip(
            "host: a Python without a library to link with"
        )  # one that .ci/pythons unpacked elsewhere
    subprocess.run(
        [
            "gcc",
            "-std=gnu11",
            "-O2",
            "-pthread",
            f"-I{ROOT}/include",
            f"-I{ROOT}/c",
            f"-I{C_TESTS}",
            f"-I{sysconfig.get_paths()['include']}",
            C_TESTS / "two_cores.c",
            *world.build.objects(),
            f"-L{library}",
            f"-Wl,-rpath,{library}",
            f"-lpython{version}",
            "-rdynamic",
            "-ldl",
            "-lm",
            "-o",
            program,
        ],
        check=True,
    )
    script = (
        "pyusdt*:::user_trace-i4s4, other*:::tick { @[substr(probeprov, 0, 5), probename] = count(); } "
        'END { printa("%s %s %@d\\n", @); }'
    )
    env = {**world.env, "PYTHONHOME": sys.base_prefix, "PYTHONPATH": os.pathsep.join(sys.path[1:])}
    tracer = [sys.executable, "-c", "from pydtrace.cli.pydtrace.main import main; main()"]
    got = subprocess.run(
        [*tracer, "-Zqn", script, "-c", str(program)],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert sorted(got.stdout.split("\n"))[-2:] == ["other tick 500", "pyusd user_trace-i4s4 500"], (
        got
    )
    assert world.files() == []
