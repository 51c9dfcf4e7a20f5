"""The scripts of scripts/system/ beside bpftrace's tools of the same names, both at the same time, on the same load: each event of the
load is seen as often by either.  Long: each tool takes bpftrace's start, of some seconds.

Some tools count the whole machine and do not say for whom.  Of those one runs while the other has begun and has not ended, then the
other way round: what began later and ended sooner has counted no more, and no less than the load made.

What the load does is done in the chroot of the oracle, whose C library and bash bpftrace's tools attach to."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from tests.support.paths import ORACLE, ROOT

HERE = os.path.dirname(os.path.abspath(__file__))
CHROOT = os.environ.get("ORACLE_ROOT") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pyusdt-oracle"
)
LIBRARIES = f"{CHROOT}/usr/lib/x86_64-linux-gnu"
PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0 or os.uname().machine != "x86_64", reason="needs root"),
]
ROUNDS = 20

LOAD = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void *dlang_thread(void *arg) { return arg; }

int main(int argc, char **argv)
{
    char path[300], arg[40];
    void *page;
    if (posix_memalign(&page, 4096, 4096) != 0)
        return 1;
    for (int i = 0; i < atoi(argv[1]); i++) {
        struct addrinfo *found;
        struct timespec little = {0, 1000000};
        struct stat status;
        struct statfs disk;
        pthread_t thread;
        if (getaddrinfo("127.0.0.9", "80", NULL, &found) == 0)
            freeaddrinfo(found);
        pthread_create(&thread, NULL, dlang_thread, NULL);
        pthread_join(thread, NULL);
        syscall(SYS_nanosleep, &little, NULL);
        snprintf(path, sizeof path, "%s/absent-%d", argv[2], i);
        syscall(SYS_stat, path, &status);
        statfs(argv[2], &disk);
        snprintf(path, sizeof path, "%s/made", argv[2]);
        int fd = open(path, O_CREAT | O_WRONLY | O_DIRECT | O_SYNC, 0600);
        if (pwrite(fd, page, 4096, 4096 * (i % 4)) != 4096)
            return 2;
        fsync(fd);
        close(fd);
        kill(getpid(), 0);
        syscall(SYS_setuid, 0);
        snprintf(arg, sizeof arg, "round-%d", i);
        char program[] = "/bin/true", *words[] = {program, arg, NULL};  /* in memory that is there after fork(), for bpftrace */
        pid_t pid = fork();
        if (pid == 0)
            execv(program, words);
        waitpid(pid, NULL, 0);
    }
    return 0;
}
"""
COMM = "dlang_load"
BASH = """printf 'echo dlang-one\\necho dlang-two\\nexit\\n' | bash --norc --noprofile -i >/dev/null 2>&1"""
CALLS = """
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    for (int i = 0; i < atoi(argv[1]); i++)
        syscall(SYS_getppid);
    return 0;
}
"""
MANY = 3_000_000  # system calls: the program is to be among the ten that make most
SSL = """import ctypes, sys
ssl = ctypes.CDLL("libssl.so.3")
for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new"):
    getattr(ssl, name).restype = ctypes.c_void_p
open("/proc/self/comm", "w").write("dlang_load")
context = ctypes.c_void_p(ssl.SSL_CTX_new(ctypes.c_void_p(ssl.TLS_client_method())))
for i in range(int(sys.argv[1])):
    each = ctypes.c_void_p(ssl.SSL_new(context))
    ssl.SSL_set_connect_state(each)
    ssl.SSL_do_handshake(each)
    ssl.SSL_write(each, b"x", 1)
    ssl.SSL_read(each, ctypes.create_string_buffer(8), 8)
    ssl.SSL_free(each)
"""
# Connections of a network of its own, whose loopback carries 8 kbit/s and keeps two packets.
DROPS = """import socket, subprocess, time
def run(line): subprocess.run(line.split(), check=True)
run("ip link set lo up")
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    with socket.socket(family) as server:
        server.bind((address, 0))
        server.listen()
        with socket.create_connection(server.getsockname()[:2]) as s:
            peer, _ = server.accept()
            run("tc qdisc add dev lo root tbf rate 8kbit burst 2000 limit 2000")
            for i in range(40):
                s.sendall(b"x" * 1000)
            time.sleep(1)
            run("tc qdisc del dev lo root")
            time.sleep(0.2)
names, values = (line.split() for line in open("/proc/net/snmp") if line.startswith("Tcp:"))
print("sent again:", values[names.index("RetransSegs")])
"""
OOM = """import os, subprocess, sys
group = f"/sys/fs/cgroup/memory/pyusdt-test-{os.getpid()}"
os.mkdir(group)
with open(f"{group}/memory.limit_in_bytes", "w") as file:
    file.write("20M")
words = ["sh", "-c", f"echo $$ >{group}/cgroup.procs; exec '{sys.executable}' -SIE -c 'x = bytearray(200 << 20)'"]
process = subprocess.Popen(words)
print("killed:", process.pid, process.wait())
os.rmdir(group)
"""
SYNC = "for i in 1 2 3 4 5; do dd if=/dev/zero of={0}/written bs=4k count=100 2>/dev/null; sync; sleep 0.1; done"


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """f(kind): does it, in the chroot, in which /var/tmp is on a disk."""
    folder = tmp_path_factory.mktemp("load")
    for name, text in (
        ("load.c", LOAD),
        ("calls.c", CALLS),
        ("ssl.py", SSL),
        ("drops.py", DROPS),
        ("oom.py", OOM),
    ):
        (folder / name).write_text(text)
    (folder / "calls").mkdir()
    for source, program in (("load.c", folder / COMM), ("calls.c", folder / "calls" / COMM)):
        subprocess.run(
            ["gcc", "-O1", "-w", "-o", program, folder / source, "-pthread"],
            check=True,
            timeout=120,
        )
    inside = [ORACLE, "run"]
    commands = {
        "program": [*inside, str(folder / COMM), str(ROUNDS), str(folder)],
        "bash": [*inside, "sh", "-c", BASH],
        "calls": [*inside, str(folder / "calls" / COMM), str(MANY)],
        "ssl": [*inside, sys.executable, str(folder / "ssl.py"), str(ROUNDS)],
        "drops": ["unshare", "-n", sys.executable, str(folder / "drops.py")],
        "sync": ["sh", "-c", SYNC.format(folder)],
        "oom": [sys.executable, str(folder / "oom.py")],
    }
    return lambda kind: (
        subprocess.run(
            commands[kind], check=False, timeout=120, stdout=subprocess.PIPE, text=True
        ).stdout
    )


def traced(command, ready, run):
    """All that a tracer printed while run() ran; ready: what it prints when it has begun."""
    with tempfile.TemporaryFile(
        "w+", errors="replace"
    ) as output:  # a pipe that nobody reads would stop it
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, text=True
        )
        try:
            until = time.monotonic() + 60
            while ready not in os.pread(output.fileno(), 1 << 16, 0).decode(errors="replace"):
                assert process.poll() is None and time.monotonic() < until, os.pread(
                    output.fileno(), 1 << 16, 0
                )
                time.sleep(0.1)
            time.sleep(
                2
            )  # bpftrace attaches before it says so; pydtrace, of all processes, right after
            run()
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
        finally:
            process.kill()
        output.seek(0)
        return output.read()


def lines(pattern):
    """f(text): how many lines match."""
    return lambda text: len(re.findall(pattern, text, re.MULTILINE))


def bars(before=""):
    """f(text): the sum of bpftrace's histograms whose name begins with the text; the end of a key of several lines is any."""

    def count(text):
        maps = re.findall(rf"^(?:@{before}.*|\]):\n((?:[\[(].*\n)+)", text, re.MULTILINE)
        return sum(int(number) for rows in maps for number in re.findall(r"[\])] +(\d+) \|", rows))

    return count


def rows(before=""):
    """f(text): the sum of our distributions whose key has the text."""

    def count(text):
        tables = re.findall(
            rf"^ +{before}.*\n +value +-+ Distribution.*\n((?: +.*\|.*\n)+)", text, re.MULTILINE
        )
        return sum(
            int(number)
            for table in tables
            for number in re.findall(r"\| *@* +(\d+) *$", table, re.MULTILINE)
        )

    return count


def numbers(pattern):
    """f(text): the sum of what the pattern's group matches."""
    return lambda text: sum(map(int, re.findall(pattern, text, re.MULTILINE)))


BEGUN = 'BEGIN { printf("Tracing\\n"); }'  # of ours that print nothing before the end
BESIDE = {  # tool: the load, the least count, what of bpftrace's text and of ours counts its events, files to attach to
    "bashreadline": (
        "bash",
        3,
        lines(r"echo dlang-(?:one|two)$|exit$"),
        lines(r"echo dlang-(?:one|two)$|exit$"),
        [f"{CHROOT}/usr/bin/bash"],
    ),
    "bitesize": ("program", ROUNDS, bars(rf"\[{COMM}\]"), rows(COMM), []),
    "biosnoop": ("program", ROUNDS, lines(rf" {COMM} "), lines(rf" {COMM} "), []),
    "execsnoop": (
        "program",
        ROUNDS,
        lines(r"/bin/true round-\d+"),
        lines(r"/bin/true round-\d+"),
        [],
    ),
    "gethostlatency": (
        "program",
        ROUNDS,
        lines(rf" {COMM} .* 127\.0\.0\.9$"),
        lines(rf" {COMM} .* 127\.0\.0\.9$"),
        [f"{LIBRARIES}/libc.so.6"],
    ),
    "killsnoop": (
        "program",
        ROUNDS,
        lines(rf" {COMM} +\S+ +\d+ +0$"),
        lines(rf" {COMM} +0 +\d+ +0$"),
        [],
    ),
    "naptime": (
        "program",
        ROUNDS,
        lines(rf" {COMM} +0\.001$"),
        lines(rf" {COMM} +\d+ +0\.001$"),
        [],
    ),
    "setuids": (
        "program",
        ROUNDS,
        lines(rf" {COMM} +0 +setuid"),
        lines(rf" {COMM} +0 +setuid"),
        [],
    ),
    "ssllatency": ("ssl", 3 * ROUNDS, bars("hist"), rows("SSL_"), [f"{LIBRARIES}/libssl.so.3"]),
    "sslsnoop": (
        "ssl",
        3 * ROUNDS,
        lines(rf" {COMM} +\d+ +-1 0x"),
        lines(rf" {COMM} +\d+ +-1 SSL_"),
        [f"{LIBRARIES}/libssl.so.3"],
    ),
    "statsnoop": (
        "program",
        2 * ROUNDS,
        lines(rf" {COMM} .*/(?:absent-\d+|load\d+)$"),
        lines(rf" {COMM} .*/(?:absent-\d+|load\d+)$"),
        [],
    ),
    "syncsnoop": ("program", ROUNDS, lines(rf" {COMM} +\S*fsync"), lines(rf" {COMM} +fsync"), []),
    "syscount": (
        "calls",
        MANY,
        numbers(rf"^@process\[{COMM}\]: (\d+)$"),
        numbers(rf"^ +{COMM} +(\d+)$"),
        [],
    ),
    "tcpdrop": (
        "drops",
        2,
        lines(r" (?:127\.0\.0\.1|::1):\d+ +(?:127\.0\.0\.1|::1):\d+ +[A-Z]"),
        lines(r" (?:127\.0\.0\.1|::1) +\d+ +(?:127\.0\.0\.1|::1) +\d+ +state-"),
        [],
    ),
    "threadsnoop": (
        "program",
        ROUNDS,
        lines(rf" {COMM} +(?:0x|dlang_thread)"),
        lines(rf" {COMM} +(?:0x|.*dlang_thread)"),
        [f"{LIBRARIES}/libc.so.6"],
    ),
}


WHOLE = {  # tools that count the whole machine: the load, the least count, what counts bpftrace's and ours
    "biolatency": ("program", 2 * ROUNDS, bars("usecs"), rows()),
    "biostacks": ("program", 2 * ROUNDS, bars("usecs"), rows()),
    "cpuwalk": ("calls", 20, bars("cpu"), rows("busy at")),
    "pidpersec": (
        "program",
        2 * ROUNDS,
        numbers(r"PIDs/sec: @: (\d+)$"),
        numbers(r"^\d{4} .* (\d+)$"),
    ),
    "runqlat": ("program", 2 * ROUNDS, bars("usecs"), rows("microseconds")),
    "runqlen": ("calls", 20, bars("runqlen"), rows("waiting")),
    "writeback": (
        "sync",
        5,
        lines(r"^\d\d:\d\d:\d\d  +\d+:\d+ "),
        lines(r"^\d{4} \w+ +\d+ .* +\d+ +\d+ +\d+$"),
    ),
}


def ours_of(name, files, run):
    command = [
        PYDTRACE,
        "-q",
        "-n",
        BEGUN,
        "-s",
        f"{ROOT}/scripts/system/{name}.d",
        *[word for path in files for word in ("-x", f"file={path}")],
    ]
    return traced(command, "Tracing", run)


def theirs_of(name, run):
    return traced([ORACLE, "bpftrace", f"/usr/sbin/{name}.bt"], "Attached", run)


@pytest.mark.parametrize("name", sorted(BESIDE))
def test_beside_bpftrace(name, load):
    kind, least, theirs, ours, files = BESIDE[name]
    found = {}

    def beside():
        found["ours"] = ours_of(name, files, lambda: load(kind))

    found["theirs"] = theirs_of(name, beside)
    counts = theirs(found["theirs"]), ours(found["ours"])
    assert counts[0] == counts[1] >= least, (
        counts,
        {who: text[:3000] for who, text in found.items()},
    )


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_of_the_whole_machine(name, load):
    kind, least, theirs, ours = WHOLE[name]
    found = {}

    def inner_ours():
        found["inner"] = ours_of(name, [], lambda: load(kind))

    def inner_theirs():
        found["inner"] = theirs_of(name, lambda: load(kind))

    outer = theirs_of(name, inner_ours)
    assert least <= ours(found["inner"]) <= theirs(outer), (outer[:3000], found["inner"][:3000])
    outer = ours_of(name, [], inner_theirs)
    assert least <= theirs(found["inner"]) <= ours(outer), (outer[:3000], found["inner"][:3000])


def test_opensnoop(load):
    """bpftrace's loses events where many files are opened, and says so: what it shows is what ours shows, which has all of the load."""
    shown, found = re.compile(rf"^(\d+) +{COMM} +(-?\d+) +(\d+) (.*/made)$", re.MULTILINE), {}

    def beside():
        found["ours"] = ours_of("opensnoop", [], lambda: load("program"))

    text = theirs_of("opensnoop", beside)
    theirs, ours = shown.findall(text), shown.findall(found["ours"])
    assert len(ours) == ROUNDS and set(theirs) <= set(ours), (theirs, ours)
    assert len(theirs) == ROUNDS or re.search(r"Lost \d+ events|Map full", text), text[-3000:]


# bpftrace's own tools of these names need kprobes: beside what the kernel says itself.
def test_tcpretrans(load):
    told = []
    shown = ours_of("tcpretrans", [], lambda: told.append(load("drops")))
    count = len(
        re.findall(
            r"^(?:127\.0\.0\.1|::1) +\d+ +(?:127\.0\.0\.1|::1) +\d+ +state-", shown, re.MULTILINE
        )
    )
    assert 1 <= int(re.search(r"sent again: (\d+)", told[0])[1]) <= count, (
        told,
        shown,
    )  # what is closed is still sent


@pytest.mark.skipif(
    not os.path.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    reason="host: no memory cgroups of version 1",
)
def test_oomkill(load):
    told = []
    shown = ours_of("oomkill", [], lambda: told.append(load("oom")))
    pid, status = re.search(r"killed: (\d+) (-\d+)", told[0]).groups()
    assert status == "-9" and re.search(
        rf" makes the kernel kill python\S* \({pid}\), total [1-9]\d* pages$", shown, re.MULTILINE
    ), (told, shown)
