"""The scripts of scripts/system/: what they say beside what a program did.  test_against_bpftrace.py is the rest."""

import glob
import os
import re
import socket
import subprocess
import sys

import pytest

from pydtrace.dlang.compile import Compiler
from pydtrace.engine.kernel.kernel_structs import BTF, KernelBtf
from pydtrace.options import Options
from tests.support.paths import ROOT

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(ROOT, "scripts", "system")
NAMES = sorted(os.path.basename(path)[:-2] for path in glob.glob(os.path.join(FOLDER, "*.d")))
PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")
needs_types = pytest.mark.skipif(
    not os.path.exists(BTF), reason="host: the kernel has no type information"
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def script(name):
    return os.path.join(FOLDER, f"{name}.d")


@needs_types
def test_every_script_compiles_and_is_named():
    structs = KernelBtf()
    with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
        rows = dict(re.findall(r"^\| \[(\w+)\.d\]\(\1\.d\) \| (.*) \|$", file.read(), re.MULTILINE))
    assert sorted(rows) == NAMES
    for name in NAMES:
        with open(script(name), encoding="utf-8") as file:
            text = file.read()
        assert rows[name] in text.splitlines()[0] and f"scripts/system/{name}.d" in text
        compiler = Compiler(Options(), kernel=structs)
        compiler.compile_text(text, f"{name}.d")
        assert compiler.generate_program().clauses


LOAD = """import os, signal, socket, subprocess, sys, time
folder, port, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for i in range(rounds):
    with open(f"{folder}/made-{i}", "w") as file:
        file.write("x")
        os.fsync(file.fileno())
    try:
        open(f"{folder}/absent-{i}")
    except OSError:
        pass
    os.kill(os.getpid(), 0)
    os.setuid(0)
    subprocess.run(["/bin/true", f"round-{i}"])
    socket.create_connection(("127.0.0.1", port)).close()
    time.sleep(0.001)
"""


@pytest.fixture
def load(tmp_path):
    """f(rounds) -> the load's command line; a server takes its connections."""
    (tmp_path / "load.py").write_text(LOAD)
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        yield lambda rounds: [
            sys.executable,
            "-SE",
            f"{tmp_path}/load.py",
            str(tmp_path),
            str(server.getsockname()[1]),
            str(rounds),
        ]


@needs_types
@needs_root
def test_what_a_program_did(load, tmp_path):
    names = (
        "execsnoop",
        "opensnoop",
        "killsnoop",
        "setuids",
        "syncsnoop",
        "naptime",
        "tcpconnect",
        "tcpaccept",
    )
    command = load(5)
    done = subprocess.run(
        [
            PYDTRACE,
            "-q",
            *[word for name in names for word in ("-s", script(name))],
            "-c",
            " ".join(command),
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    out, port = done.stdout, command[-2]
    for i in range(5):
        assert re.search(rf"^\d+ +\d+ +\d+ +/bin/true round-{i}$", out, re.MULTILINE), (
            out,
            done.stderr,
        )
        assert re.search(rf"^\d+ +python\S* +\d+ +0 {tmp_path}/made-{i}$", out, re.MULTILINE)
        assert re.search(rf"^\d+ +python\S* +-1 +2 {tmp_path}/absent-{i}$", out, re.MULTILINE)
    pid = re.search(rf"^(\d+) +python\S* +4 +127.0.0.1 +127.0.0.1 +{port}$", out, re.MULTILINE)[1]
    for pattern in (
        rf"^{pid} +python\S* +0 +{pid} +0$",
        rf"^{pid} +python\S* +0 +setuid +0$",
        rf"^{pid} +python\S* +fsync$",
        rf" python\S* +{pid} +0\.00[01]$",
        rf"^{pid} +python\S* +4 +127.0.0.1 +127.0.0.1 +{port}$",
        rf"^4 +127.0.0.1 +\d+ +127.0.0.1 +{port}$",
    ):
        assert len(re.findall(pattern, out, re.MULTILINE)) == 5, (pattern, out)


MORE = """import _thread, os, socket, threading, time
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
done = threading.Lock()
for i in range(3):
    a.send(b"packet-%d" % i)
    b.recv(100)
    socket.getaddrinfo("127.0.0.9", 80)
    done.acquire()
    _thread.start_new_thread(lambda: (time.sleep(0.02), done.release()), ())
    done.acquire()
    done.release()
    socket.sethostname(socket.gethostname())
"""


@needs_types
@needs_root
def test_what_a_program_did_in_libraries_and_sockets(tmp_path):
    (tmp_path / "more.py").write_text(MORE)
    names = (
        "threadsnoop",
        "gethostlatency",
        "undump",
        "capable",
        "plockstat",
        "lockstat",
        "runqlen",
        "biostacks",
    )
    done = subprocess.run(
        [
            PYDTRACE,
            "-q",
            *[word for name in names for word in ("-s", script(name))],
            "-c",
            f"{sys.executable} -SE {tmp_path}/more.py",
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
    )
    out = done.stdout
    for pattern in (
        r"^\d{4} \w+ +\d+ \S+ (\d+) +python\S* +\S*`?\S+$",
        r" python\S* +\d+\.\d{3} 127\.0\.0\.9$",
        r" python\S* +\d+ +8 .*\n.*\n.*packet-\d",
        r" python\S* +21 +CAP_SYS_ADMIN +0$",
    ):
        assert len(re.findall(pattern, out, re.MULTILINE)) >= 3, (pattern, out, done.stderr)
    slept = re.search(r"nanoseconds asleep, futex .*?\n\n", out, re.DOTALL)
    assert slept and re.search(r"^pthread_mutex_lock +0x[0-9a-f]+ +\d+ +\d+$", out, re.MULTILINE), (
        out,
        done.stderr,
    )
