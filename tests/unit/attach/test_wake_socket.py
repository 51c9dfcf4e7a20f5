"""The byte that wakes an event loop: into a socket pair of the process itself only, and with its user's rights."""

from __future__ import annotations

import array
import errno
import os
import socket
import struct
import subprocess
import sys

import pytest

from pydtrace import _tracer


def wake(fd: int, uid: int | None = None) -> None:
    _tracer.wake_socket(os.getpid(), fd, os.getuid() if uid is None else uid, os.getgid())


def test_a_pair_of_its_own():
    one, other = socket.socketpair()
    with one, other:
        wake(one.fileno())
        assert other.recv(10) == b"\0"


def test_a_full_one_is_not_waited_for():
    one, other = socket.socketpair()
    with one, other:
        one.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                one.send(bytes(4096))
        with pytest.raises(OSError) as error:
            wake(one.fileno())
        assert error.value.errno == errno.EAGAIN


def pair_of_another_process() -> socket.socket:
    """What a service has handed out, say."""
    code = "import array, socket, sys\na, b = socket.socketpair()\n"
    code += "socket.socket(fileno=int(sys.argv[1])).sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [a.fileno()]))])\nsys.stdin.read()"
    one, other = socket.socketpair()
    with one, other:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(other.fileno())],
            pass_fds=[other.fileno()],
            stdin=subprocess.PIPE,
        )
        _, ancillary, _, _ = one.recvmsg(10, 100)
        made = socket.socket(fileno=array.array("i", ancillary[0][2])[0])
        process.communicate()
        return made


@pytest.mark.parametrize("which", ["of another", "datagrams", "inet", "file", "pipe", "none"])
def test_any_other_descriptor_is_refused(which, tmp_path):
    wrong = errno.EBADF if which == "none" else errno.EINVAL
    opened: list[socket.socket] = []
    if which == "of another":
        opened = [pair_of_another_process()]
    elif which == "datagrams":
        opened = list(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
    elif which == "inet":
        opened = [socket.socket()]
    fds = [each.fileno() for each in opened]
    fds = (
        fds
        or {
            "file": lambda: [os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT)],
            "pipe": lambda: [os.pipe()[1]],
            "none": lambda: [987654],
        }[which]()
    )
    try:
        with pytest.raises(OSError) as error:
            wake(fds[0])
        assert error.value.errno == wrong
    finally:
        for each in opened:
            each.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="host: not root")
def test_the_sender_is_the_user():
    one, other = socket.socketpair()
    with one, other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        wake(one.fileno(), 65534)
        data, ancillary, _, _ = other.recvmsg(10, 100)
        _, uid, _ = struct.unpack("3i", ancillary[0][2])
        assert (data, uid) == (b"\0", 65534)
