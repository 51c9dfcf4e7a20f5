"""The scripts of scripts/system/ beside bpftrace's tools of the same names, both at the same time, on the same load: each event of the
load is seen as often by either.  Long: each tool takes bpftrace's start, of some seconds.

What the load does is done in the chroot of the oracle, whose C library and bash bpftrace's tools attach to."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ORACLE = os.path.join(ROOT, "tests", "oracle", "oracle")
CHROOT = os.environ.get("ORACLE_ROOT") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pyusdt-oracle")
LIBRARIES = f"{CHROOT}/usr/lib/x86_64-linux-gnu"
PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")
pytestmark = [pytest.mark.long, pytest.mark.skipif(os.geteuid() != 0 or os.uname().machine != "x86_64", reason="needs root")]
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


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """f(kind): does it, in the chroot, in which /var/tmp is on a disk."""
    folder = tmp_path_factory.mktemp("load")
    (folder / "load.c").write_text(LOAD)
    subprocess.run(["gcc", "-O1", "-w", "-o", folder / COMM, folder / "load.c", "-pthread"], check=True, timeout=120)
    commands = {"program": [str(folder / COMM), str(ROUNDS), str(folder)], "bash": ["sh", "-c", BASH]}
    return lambda kind: subprocess.run([ORACLE, "run", *commands[kind]], check=False, timeout=120)


def traced(command, ready, run):
    """All that a tracer printed while run() ran; ready: of what it prints when it has begun."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        head = []
        while not any(ready in line for line in head[-1:]):
            head.append(process.stdout.readline())
            assert head[-1], head
        time.sleep(2)  # bpftrace attaches before it says so; pydtrace, of all processes, right after
        run()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    return out


def lines(pattern):
    """f(text): how many lines match."""
    return lambda text: len(re.findall(pattern, text, re.MULTILINE))


BEGUN = 'BEGIN { printf("Tracing\\n"); }'  # of ours that print nothing before the end
BESIDE = {  # tool: the load, the least count, what of bpftrace's text and of ours counts its events, files to attach to
    "bashreadline": ("bash", 3, lines(r"echo dlang-(?:one|two)$|exit$"), lines(r"echo dlang-(?:one|two)$|exit$"), [f"{CHROOT}/usr/bin/bash"]),
    "biosnoop": ("program", ROUNDS, lines(rf" {COMM} "), lines(rf" {COMM} "), []),
    "execsnoop": ("program", ROUNDS, lines(r"/bin/true round-\d+"), lines(r"/bin/true round-\d+"), []),
    "gethostlatency": ("program", ROUNDS, lines(rf" {COMM} .* 127\.0\.0\.9$"), lines(rf" {COMM} .* 127\.0\.0\.9$"), [f"{LIBRARIES}/libc.so.6"]),
    "killsnoop": ("program", ROUNDS, lines(rf" {COMM} +\S+ +\d+ +0$"), lines(rf" {COMM} +0 +\d+ +0$"), []),
    "setuids": ("program", ROUNDS, lines(rf" {COMM} +0 +setuid"), lines(rf" {COMM} +0 +setuid"), []),
    "statsnoop": ("program", 2 * ROUNDS, lines(rf" {COMM} .*/(?:absent-\d+|load\d+)$"), lines(rf" {COMM} .*/(?:absent-\d+|load\d+)$"), []),
    "syncsnoop": ("program", ROUNDS, lines(rf" {COMM} +\S*fsync"), lines(rf" {COMM} +fsync"), []),
    "threadsnoop": ("program", ROUNDS, lines(rf" {COMM} +(?:0x|dlang_thread)"), lines(rf" {COMM} +(?:0x|.*dlang_thread)"), [f"{LIBRARIES}/libc.so.6"]),
}


@pytest.mark.parametrize("name", sorted(BESIDE))
def test_beside_bpftrace(name, load):
    kind, least, theirs, ours, files = BESIDE[name]
    found = {}

    def beside():
        command = [PYDTRACE, "-q", "-n", BEGUN, "-s", f"{ROOT}/scripts/system/{name}.d", *[word for path in files for word in ("-x", f"file={path}")]]
        found["ours"] = traced(command, "Tracing", lambda: load(kind))

    def in_chroot():
        found["theirs"] = traced([ORACLE, "bpftrace", f"/usr/sbin/{name}.bt"], "MAJOR MINOR" if name == "biosnoop" else "PID", beside)

    in_chroot()
    counts = theirs(found["theirs"]), ours(found["ours"])
    assert counts[0] == counts[1] >= least, (counts, {who: text[:3000] for who, text in found.items()})

