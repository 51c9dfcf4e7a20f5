"""A Redis server of Debian's, for tests: in memory alone, on a socket of its own folder, no address of the network."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile

import harness
import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The path of its socket, while it runs."""
    if (program := shutil.which("redis-server")) is None:
        pytest.skip("no redis-server")
    with tempfile.TemporaryDirectory(prefix="pyusdt-redis-") as folder:
        path = os.path.join(folder, "socket")
        with subprocess.Popen([program, "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", "--dir", folder],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                harness.wait_until(lambda: os.path.exists(path), 60)
                yield path
            finally:
                process.kill()
