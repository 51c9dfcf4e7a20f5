"""A program in a sandbox (seccomp) that it has entered after importing pyusdt: system calls that tracing needs are denied.

- The program goes on, and every event is delivered or counted.
"""

from __future__ import annotations

import platform
import re
import sys

import pytest

from tests.support import harness

# Enters the sandbox, and fires 200 times from when it is traced; prints how many were taken.
PROGRAM = """
import ctypes, struct, sys, time
import pyusdt
NUMBERS = {"openat": 257, "openat2": 437, "pread64": 17, "flock": 73, "fallocate": 285, "membarrier": 324, "mmap": 9}
load, equal, answer = 0x20, 0x15, 0x06  # of the BPF of sockets
rules = [(load, 0, 0, 0)]  # the call's number
for name in sys.argv[1].split(","):
    rules += [(equal, 0, 1, NUMBERS[name]), (answer, 0, 0, 0x00050001)]  # SECCOMP_RET_ERRNO, EPERM
rules.append((answer, 0, 0, 0x7fff0000))  # SECCOMP_RET_ALLOW
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *rule) for rule in rules))
program = ctypes.create_string_buffer(struct.pack("@HP", len(rules), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
assert libc.prctl(22, 2, program) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
probe = pyusdt.probe("user_trace-i4s4")
end = time.monotonic() + 30
while not probe and time.monotonic() < end:
    time.sleep(0.005)
print("fired", sum(pyusdt.p(i) for i in range(200)))
"""
DENIED = {
    "membarrier": None,
    "openat2": None,
    "flock": None,  # it does without
    "openat,openat2": "Operation not permitted",
    "fallocate": "Operation not permitted",
    "mmap": "Cannot allocate memory",
    "pread64": "cannot make its buffers",
}  # what pydtrace says


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="host: numbers of Linux's calls on x86-64",
)
@pytest.mark.parametrize("denied", DENIED)
def test_denied(denied, tmp_path):
    path = tmp_path / "sandboxed.py"
    path.write_text(PROGRAM)
    got = harness.run(
        [
            harness.PYDTRACE,
            "-q",
            "--strict",
            "-n",
            'pyusdt$target:::user_trace-i4s4 { n++; } END { printf("traced %d\\n", n); }',
            "-c",
            f"{sys.executable} {path} {denied}",
        ]
    )
    assert "fired 200" in got.stdout, got
    traced = int(re.search(r"traced (\d+)", got.stdout)[1])
    dropped = harness.count_drops(got.stderr)
    assert traced + dropped == 200, got
    if DENIED[denied]:
        assert (got.status, traced) == (3, 0) and DENIED[denied] in got.stderr, got
    else:
        assert (got.status, traced) == (0, 200), got
