"""What a tracer reads of a process that calls itself an Erlang node: nothing outside of its root folder, nothing for ever."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from pydtrace.attach import beam_process
from pydtrace.erlang_node.distribution import list_names

JAILED = (
    "import os, sys; os.chroot(sys.argv[1]); os.chdir('/'); print(flush=True); sys.stdin.read()"
)


@pytest.mark.skipif(os.geteuid() != 0, reason="host: not root")
@pytest.mark.parametrize("path", ["/../.erlang.cookie", "/home/../../.erlang.cookie"])
def test_a_cookie_outside_of_a_chroot(tmp_path, path):
    """Its variable HOME names it."""
    (tmp_path / "jail" / "home").mkdir(parents=True)
    (tmp_path / ".erlang.cookie").write_text("of others")
    (tmp_path / "jail" / ".erlang.cookie").write_text("its own")
    with subprocess.Popen(
        [sys.executable, "-c", JAILED, str(tmp_path / "jail")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout and process.stdout.readline() == b"\n"
        assert beam_process._read_below(process.pid, b"/.erlang.cookie") == b"its own"
        assert beam_process._read_below(process.pid, os.fsencode(path)) == b""
        process.kill()


def test_an_epmd_that_never_ends_its_answer():
    """Any user may have started it."""
    ours, theirs = socket.socketpair()

    def drip() -> None:
        try:
            while True:
                theirs.sendall(b"x")
                time.sleep(0.05)
        except OSError:
            pass

    thread = threading.Thread(target=drip)
    thread.start()
    begun = time.monotonic()

    def connect(_address: tuple[str, int], timeout: float) -> socket.socket:
        ours.settimeout(timeout)
        return ours

    with pytest.raises(TimeoutError):
        list_names(connect, ("127.0.0.1", 1), 0.5)
    theirs.close()
    thread.join()
    assert time.monotonic() - begun < 20
