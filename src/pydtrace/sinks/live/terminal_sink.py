"""pydtrace --live: the aggregations on a terminal, redrawn at an interval; what the script prints
runs below them.

At the end there are the output that dtrace would have printed and the messages that came
meanwhile.

- The terminal is restored however the tracing ends.
- Nothing waits for the user. Names are escaped.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from pydtrace.engine import EngineError

from .live_sink import LiveSink

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydtrace.driver.aggregation_state import AggregationState
    from pydtrace.driver.sink import TraceInfo
    from pydtrace.sinks.output_file import Notify, Output

    from .terminal_view import TerminalView

_INTERVALS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)  # s
_KEYBOARD_INTERVAL = 0.1  # s between looks at the keyboard


class KeyReader:
    """A terminal's keys, one at a time, without waiting for a line's end; a context manager.  Where the input is no terminal there are
    none."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._before: list[Any] | None = None

    def __enter__(self) -> KeyReader:  # noqa: PYI034
        if os.isatty(self._fd):
            import termios
            import tty

            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            import termios

            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)
            self._before = None

    def read_keys(self) -> Iterator[str]:
        """Those that were pressed since the last look; an arrow or its like is none."""
        while self._before is not None and select.select([self._fd], [], [], 0)[0]:
            with contextlib.suppress(OSError):
                if found := os.read(self._fd, 1024):
                    if not found.startswith(b"\x1b") or found == b"\x1b":
                        yield from found.decode("utf-8", "replace")
                    continue
            return


def is_background(fd: int) -> bool:
    """Whether the terminal belongs to another job: it stops a process that changes its settings then."""
    try:
        return os.tcgetpgrp(fd) != os.getpgrp()
    except OSError:  # not the terminal of this session: it has no jobs
        return False


class TerminalSink(LiveSink):
    """The sink."""

    def __init__(self, output: Output, notify: Notify) -> None:
        super().__init__(output, self._keep_message, also_written=False)
        self._notify_user = notify
        self._messages: list[tuple[str, bool]] = []
        self._exit_stack = contextlib.ExitStack()
        self._screen: TerminalView | None = None

    def _keep_message(self, message: str, error: bool = True) -> None:
        """A message that would be written over the screen comes when that is left."""
        self._messages.append((message, error))

    def begin(self, info: TraceInfo) -> None:
        if not os.isatty(self._real_output.fd):
            raise EngineError("--live needs a terminal; --web shows the same in a browser")
        if is_background(self._real_output.fd):
            raise EngineError(
                "--live has to run in the foreground of its terminal: without &, and with timeout --foreground"
            )
        try:
            from .terminal_view import TerminalView
        except ImportError:
            raise EngineError("--live needs rich: pip install 'pydtrace[live]'") from None
        super().begin(info)
        self._keys = self._exit_stack.enter_context(
            KeyReader(sys.stdin.fileno() if sys.stdin else -1)
        )
        self._screen = self._exit_stack.enter_context(
            TerminalView(self.view, self._real_output.fd, info.engine)
        )
        self._last_check = time.monotonic()
        self.refresh_view()

    # --- while tracing ------------------------------------------------------------------------

    def check_interval(self) -> None:
        screen, now = self._screen, time.monotonic()
        if screen is None or now - self._last_check < _KEYBOARD_INTERVAL:
            return
        self._last_check = now
        pressed = list(self._keys.read_keys())
        for key in pressed:
            self._handle_key(screen, key)
        if not screen.paused:
            super().check_interval()
        if pressed or screen.is_resized():
            self.refresh_view()

    def refresh_view(self) -> None:
        if self._screen:
            self._screen.draw_screen(self.interval)

    def _handle_key(self, screen: TerminalView, key: str) -> None:
        if screen.typing or key == "/":
            screen.type_key(key)
        elif key == "q":
            signal.raise_signal(
                signal.SIGINT
            )  # as Ctrl-C: the first ends tracing, the second does not wait
        elif key in "+-":
            at = _INTERVALS.index(self.interval) + (1 if key == "+" else -1)
            self.interval = _INTERVALS[min(max(at, 0), len(_INTERVALS) - 1)]
        else:
            screen.press_key(key)

    # --- at the end ---------------------------------------------------------------------------

    def pause(self) -> None:
        """Text for people has an empty line there; a screen has none."""

    def snapshot(self, aggregates: AggregationState) -> None:
        self._leave_screen()
        super().snapshot(aggregates)

    def _leave_screen(self) -> None:
        """The terminal as it was, and what was said meanwhile."""
        self._screen = None
        self._exit_stack.close()
        messages, self._messages = self._messages, []
        for text, error in messages:
            self._notify_user(text, error)
        self._notify = self._notify_user

    def close(self) -> None:
        self._leave_screen()
