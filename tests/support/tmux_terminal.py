"""A terminal (tmux) and what its screen shows."""

import contextlib
import re
import subprocess
import time


class Terminal:
    """A tmux of its own, with one window."""

    def __init__(self, folder, columns, rows):
        self._tmux = ["tmux", "-f", "/dev/null", "-S", str(folder / "tmux")]
        self._run(
            "new-session",
            "-d",
            "-x",
            str(columns),
            "-y",
            str(rows),
            "-c",
            str(folder),
            "env PS1='$ ' sh",
        )

    def _run(self, *arguments):
        return subprocess.run(
            [*self._tmux, *arguments], capture_output=True, text=True, timeout=30, check=True
        ).stdout

    def type(self, *keys):
        self._run("send-keys", *keys)

    def resize(self, columns, rows):
        self._run("resize-window", "-x", str(columns), "-y", str(rows))

    def screen(self):
        return self._run("capture-pane", "-p")

    def until(self, pattern):
        """The screen, once it shows that."""
        end = time.monotonic() + 60
        while not re.search(pattern, screen := self.screen(), re.MULTILINE):
            assert time.monotonic() < end, (pattern, screen)
            time.sleep(0.1)
        return screen

    def end(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            self._run("kill-server")
