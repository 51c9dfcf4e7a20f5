"""`pyusdt serve` on a folder, for tests."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading

from tests.support import harness

COMMAND = os.path.join(os.path.dirname(harness.PYDTRACE), "pyusdt")


class Served:
    """A folder that is served; said: what was printed so far."""

    def __init__(self, folder, *options, **environment):
        self.folder, self.said = folder, ""
        self.process = subprocess.Popen(
            [COMMAND, "serve", *options, str(folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self.process.stderr:
            self.said += line

    def wait(self, pattern, seconds=40):
        with contextlib.suppress(AssertionError):
            harness.wait_until(lambda: re.search(pattern, self.said, re.MULTILINE), seconds)
        assert re.search(pattern, self.said, re.MULTILINE), self.said
        return re.search(pattern, self.said, re.MULTILINE)

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        status = self.process.wait(60)
        self._thread.join(10)
        self.process.stderr.close()
        return status


@contextlib.contextmanager
def served(folder, *options, **environment):
    found = Served(folder, *options, **environment)
    try:
        yield found
    finally:
        found.end()


def put(folder, name, text):
    """Whole, or not there: as an editor does it."""
    (folder / f"{name}.new").write_text(text)
    (folder / f"{name}.new").chmod(0o644)
    (folder / f"{name}.new").rename(folder / name)
