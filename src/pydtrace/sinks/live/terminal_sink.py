"""pydtrace --live: the aggregations on a terminal, drawn anew each interval; what the script prints runs below them.

In: what a sink is given (driver/sink.py); keys that are pressed.  Out: a screen; when it is left, what dtrace would have printed at the
end, and the messages that came meanwhile.  Always: the terminal is as it was when tracing ends, however it ends by itself; nothing
waits for the user; what names hold is shown, not obeyed.
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

from .live_sink import Watching

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydtrace.driver.aggregation_state import Aggregates
    from pydtrace.driver.sink import Info
    from pydtrace.sinks.output_file import Notify, Output

    from .terminal_view import Screen

_INTERVALS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)  # s
_LOOK = 0.1  # s between looks at the keyboard


class Keys:
    """A terminal's keys, one at a time, without waiting for a line's end; a context manager.  Where the input is no terminal there are
    none."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._before: list[Any] | None = None

    def __enter__(self) -> Keys:  # noqa: PYI034
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

    def pressed(self) -> Iterator[str]:
        """Those that were pressed since the last look; an arrow or its like is none."""
        while self._before is not None and select.select([self._fd], [], [], 0)[0]:
            with contextlib.suppress(OSError):
                if found := os.read(self._fd, 1024):
                    if not found.startswith(b"\x1b") or found == b"\x1b":
                        yield from found.decode("utf-8", "replace")
                    continue
            return


class Live(Watching):
    """The sink."""

    def __init__(self, output: Output, notify: Notify) -> None:
        super().__init__(output, self._keep, kept=False)
        self._tell = notify
        self._messages: list[tuple[str, bool]] = []
        self._undo = contextlib.ExitStack()
        self._screen: Screen | None = None

    def _keep(self, message: str, error: bool = True) -> None:
        """A message that would be written over the screen comes when that is left."""
        self._messages.append((message, error))

    def begin(self, info: Info) -> None:
        if not os.isatty(self._real.fd):
            raise EngineError("--live needs a terminal; --web shows the same in a browser")
        try:
            from .terminal_view import Screen
        except ImportError:
            raise EngineError("--live needs rich: pip install pyusdt[live]") from None
        super().begin(info)
        self._keys = self._undo.enter_context(Keys(sys.stdin.fileno() if sys.stdin else -1))
        self._screen = self._undo.enter_context(Screen(self.view, self._real.fd, info.engine))
        self._looked = time.monotonic()
        self.refresh()

    # --- while tracing ------------------------------------------------------------------------

    def look(self) -> None:
        screen, now = self._screen, time.monotonic()
        if screen is None or now - self._looked < _LOOK:
            return
        self._looked = now
        pressed = list(self._keys.pressed())
        for key in pressed:
            self._obey(screen, key)
        if not screen.paused:
            super().look()
        if pressed or screen.resized():
            self.refresh()

    def refresh(self) -> None:
        if self._screen:
            self._screen.draw(self.interval)

    def _obey(self, screen: Screen, key: str) -> None:
        if screen.typing or key == "/":
            screen.type(key)
        elif key == "q":
            signal.raise_signal(
                signal.SIGINT
            )  # as Ctrl-C: the first ends tracing, the second does not wait
        elif key in "+-":
            at = _INTERVALS.index(self.interval) + (1 if key == "+" else -1)
            self.interval = _INTERVALS[min(max(at, 0), len(_INTERVALS) - 1)]
        else:
            screen.press(key)

    # --- at the end ---------------------------------------------------------------------------

    def pause(self) -> None:
        """Text for people has an empty line there; a screen has none."""

    def snapshot(self, aggregates: Aggregates) -> None:
        self._leave()
        super().snapshot(aggregates)

    def _leave(self) -> None:
        """The terminal as it was, and what was said meanwhile."""
        self._screen = None
        self._undo.close()
        messages, self._messages = self._messages, []
        for text, error in messages:
            self._tell(text, error)
        self._notify = self._tell

    def close(self) -> None:
        self._leave()
