"""What tests of many hosts share: hosts that are namespaces of this machine, a program that fires, a script that counts it by host, a
session that is looked at while it goes on."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess

import pytest

from tests.support import harness

PATIENT = ["-x", "hostwait=110s"]  # a busy machine
FOREVER = """import os, sys, time, pyusdt
fired = 0
while not os.path.exists(sys.argv[1]):
    pyusdt.p(fired)
    fired += 1
    time.sleep(0.0005)
print(fired, flush=True)
"""


@contextlib.contextmanager
def namespaces():
    """The ids of five processes, each the first of a host."""
    if os.geteuid() != 0:
        pytest.skip("host: only root makes namespaces")
    with contextlib.ExitStack() as stack:
        found = []
        for number in range(1, 6):
            words = [
                "unshare",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount",
                "--mount-proc",
                "--uts",
                "--net",
                "--time",
                f"--monotonic={number}00000",
                "sh",
                "-c",
                f"hostname web{number} && mount -t tmpfs tmpfs /dev/shm && echo ready && exec cat",
            ]
            process = stack.enter_context(
                harness.running(words, stdin=subprocess.PIPE)
            )  # it ends with us, however we do
            assert process.stdout.readline() == "ready\n", harness.finish(process, 10)
            with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
                found.append(int(file.read().split()[0]))
        yield found


def options(hosts, *more):
    """Of pydtrace, for namespaces."""
    via = f"env -u PYUSDT_RUNDIR nsenter -a -t {{host}} {harness.PYDTRACE} --serve"
    return ["-q", *PATIENT, "--hosts", ",".join(map(str, hosts)), "--via", via, *more]


def serving(name):
    """The id of pydtrace --serve of a host, or 0."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as file:
                is_it = f"HOST={name}\0".encode() in file.read() + b"\0"
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if is_it and b"--serve" in file.read():
                    return int(pid)
    return 0


class Session:
    """A pydtrace whose output is read while it goes on; both streams into files, so that it never waits for us."""

    def __init__(self, tmp_path, *words):
        self.out, self.err = tmp_path / "out", tmp_path / "err"
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen([harness.PYDTRACE, *words], stdout=out, stderr=err)

    def wait(self, pattern, path=None, seconds=120):
        harness.wait_until(
            lambda: (
                re.search(pattern, (path or self.out).read_text())
                or self.process.poll() is not None
            ),
            seconds,
        )
        assert re.search(pattern, (path or self.out).read_text()), (
            self.out.read_text(),
            self.err.read_text(),
        )

    def end(self):
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(120) == 0, self.err.read_text()
        return self.out.read_text()


COUNT = [
    "-n",
    """pyusdt*:::user_trace-i4s4 { @[host] = count(); @all = count(); @first[host] = min(arg2); @last[host] = max(arg2); }
    tick-100ms { printa("%s=%@d\\n", @); printf("tick\\n"); }
    END { printa("end %s=%@d first %@d last %@d\\n", @, @first, @last); printa("all %@d\\n", @all); }""",
]


def counted(text):
    """{node: (how many events, the first's number, the last's)} at the end."""
    found = {
        int(each[0]): tuple(map(int, each[1:]))
        for each in re.findall(r"end (\d+)=(\d+) first (\d+) last (\d+)", text)
    }
    assert f"all {sum(count for count, _, _ in found.values())}\n" in text, text
    return found


def is_whole(counts, fired):
    """All events of a host were counted, once, from the first one on."""
    count, first, last = counts
    return count == last - first + 1 and last == fired - 1


LOST = r"{} is lost at \d\d:\d\d:\d\d: the line to it is closed; lost is what it has counted since \d\d:\d\d:\d\d, the end of its epoch \d+; it is tried again\n"
BACK = r"{} is back at \d\d:\d\d:\d\d: lost is what it has counted since \d\d:\d\d:\d\d, the end of its epoch \d+, up to now\n"
