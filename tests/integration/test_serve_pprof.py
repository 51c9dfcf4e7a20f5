"""pyusdt serve --pprof: profiles over HTTP, who may ask for them, and wrong requests."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from pydtrace.profile.profile_reader import read_profile
from tests.support import harness

COMMAND = os.path.join(os.path.dirname(harness.PYDTRACE), "pyusdt")
BUSY = "def spins():\n    while True: pass\nprint(flush=True)\nspins()"


@contextlib.contextmanager
def served(folder, *options: str):
    """The address of the profiles."""
    process = subprocess.Popen(
        [COMMAND, "serve", "--pprof", "127.0.0.1:0", *options, str(folder)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stderr.readline()
        yield re.search(r"profiles are at (http://\S+)", line)[1]
    finally:
        process.terminate()
        assert process.wait(60) == 0
        process.stderr.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with served(tmp_path_factory.mktemp("scripts")) as found:
        yield found


@pytest.fixture(scope="module")
def busy():
    with contextlib.ExitStack() as stack:
        pids = []
        for _ in range(2):
            process = stack.enter_context(harness.running([sys.executable, "-c", BUSY]))
            process.stdout.readline()
            pids.append(process.pid)
        yield pids


def ask(address: str, **headers: str) -> tuple[int, bytes]:
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_a_profile_of_two_processes(address, busy, tmp_path):
    status, content = ask(f"{address}?seconds=2&hz=97&pid={busy[0]}&pid={busy[1]}")
    assert status == 200, content
    (tmp_path / "got.pb.gz").write_bytes(content)
    found = read_profile(str(tmp_path / "got.pb.gz"))
    own, _ = found.sum_functions()
    assert found.unit == "seconds" and max(own, key=own.get).function == "spins"
    if harness.tools("go") is None:
        done = subprocess.run(
            ["go", "tool", "pprof", "-tags", str(tmp_path / "got.pb.gz")],
            capture_output=True,
            text=True,
            check=True,
        )
        assert all(f" {pid}\n" in done.stdout for pid in busy), done.stdout


def test_go_asks_itself(address, busy):
    if lacking := harness.tools("go"):
        pytest.skip(f"host: {lacking} is not installed")
    done = subprocess.run(
        ["go", "tool", "pprof", "-top", f"{address}?seconds=1&hz=97&pid={busy[0]}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0 and "spins" in done.stdout, done


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("", 400, "which processes?"),
        ("?pid=0", 400, "'0' is no process id"),
        ("?pid=1;2", 400, "is no process id"),
        ("?pid=1&seconds=1e9", 400, "seconds is a number from 1 to 600"),
        ("?pid=1&seconds=nan", 400, "seconds is a number from 1 to 600"),
        ("?pid=1&hz=0", 400, "hz is a number from 1 to 1000"),
        ("?pid=1&path=/etc/passwd", 400, "there is no parameter 'path'"),
        ("?name=no-such-process-is-there", 400, "no process is called"),
        ("?pid=999999999&seconds=1", 404, "no process 999999999"),
        ("/../..", 404, "profiles are at /debug/pprof/profile"),
        ("?" + "&".join(["pid=1"] * 1000), 400, "fields"),
    ],
)
def test_wrong_requests(address, query, status, said):
    answered, content = ask(address + query)
    assert (answered, said in content.decode()) == (status, True), content


def test_another_host_name(address):
    """A page of another site cannot ask by a name that leads here."""
    assert ask(f"{address}?pid=1", Host="evil.example")[0] == 421


def test_another_user(address, busy):
    """Gets nothing without the token."""
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    program = (
        "import sys, urllib.request, urllib.error\n"
        "try: urllib.request.urlopen(sys.argv[1])\n"
        "except urllib.error.HTTPError as error: print(error.code)"
    )
    done = subprocess.run(
        ["/usr/bin/python3", "-c", program, f"{address}?pid={busy[0]}&seconds=1"],
        capture_output=True,
        text=True,
        check=True,
        user=65534,
        group=65534,
        extra_groups=[],
    )
    assert done.stdout == "403\n"


def test_a_token(tmp_path, busy):
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "scripts").mkdir()
    with served(tmp_path / "scripts", "--pprof-token", str(tmp_path / "token")) as address:
        query = f"{address}?seconds=1&pid={busy[0]}"
        assert ask(query)[0] == ask(query, Authorization="Bearer wrong")[0] == 401
        assert ask(query, Authorization="Bearer secret")[0] == 200


def test_wrong_options(tmp_path):
    for options, said in (
        (["--pprof", "nonsense"], "invalid"),
        (["--pprof", "127.0.0.1:0", "--pprof-token", str(tmp_path / "none")], "No such file"),
    ):
        done = subprocess.run(
            [COMMAND, "serve", *options, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        assert done.returncode in (1, 2) and said in done.stderr, done
