"""pydtrace --live: the aggregations on a terminal, drawn anew each interval; what the script prints runs below them.

In: what a sink is given (tracing/sink.py); keys that are pressed.  Out: a screen; when it is left, what dtrace would have printed at the
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

from ..engine import EngineError
from .output import Output
from .text import Text
from .view import View

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..tracing.aggregates import Aggregates
    from ..tracing.sink import Info
    from .output import Notify
    from .screen import Screen

_INTERVALS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)  # s
_FIRST = 2  # which of them it begins with
_LOOK = 0.1  # s between looks at the keyboard while nothing is drawn


class _Captured(Output):
    """What the script prints goes into the view, unless the script has sent it to a file."""

    def __init__(self, view: View) -> None:
        super().__init__(-1, "the screen")
        self._view = view

    def write(self, text: bytes) -> None:
        if self.fd == -1:
            self._view.print(text)
        else:
            super().write(text)


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


class Live(Text):
    """The sink."""

    def __init__(self, output: Output, notify: Notify) -> None:
        self.view = View()
        super().__init__(_Captured(self.view), self._capture)
        self._real, self._tell = output, notify
        self._messages: list[tuple[str, bool]] = []
        self._undo = contextlib.ExitStack()
        self._chosen = _FIRST
        self._screen: Screen | None = None

    def _capture(self, message: str, error: bool = True) -> None:
        self._messages.append((message, error))
        self.view.log.append(message)

    def begin(self, info: Info) -> None:
        if not os.isatty(self._real.fd):
            raise EngineError("--live needs a terminal")
        try:
            from .screen import Screen
        except ImportError:
            raise EngineError("--live needs rich: pip install pyusdt[live]") from None
        super().begin(info)
        self._aggregates = info.actions.aggregates
        self._keys = self._undo.enter_context(Keys(sys.stdin.fileno() if sys.stdin else -1))
        self._screen = self._undo.enter_context(Screen(self.view, self._real.fd, info.engine))
        self._last = self._looked = time.monotonic()
        self._draw()

    # --- while tracing ------------------------------------------------------------------------

    def records(self, buffer: bytes) -> None:
        if buffer:
            super().records(buffer)
        now = time.monotonic()
        screen = self._screen
        if screen is None or now - self._looked < _LOOK:
            return
        self._looked = now
        pressed = list(self._keys.pressed())
        for key in pressed:
            self._obey(key)
        if now - self._last >= _INTERVALS[self._chosen] and not screen.paused:
            self._take(now)
            self._draw()
        elif pressed or screen.resized():
            self._draw()

    def _take(self, now: float) -> None:
        self.view.update(self._aggregates, now - self._last)
        self._last = now

    def _draw(self) -> None:
        assert self._screen is not None
        self._screen.draw(_INTERVALS[self._chosen])

    def _obey(self, key: str) -> None:
        screen = self._screen
        assert screen is not None
        if screen.typing or key == "/":
            screen.type(key)
        elif key == "q":
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C: the first ends tracing, the second does not wait
        elif key in "+-":
            self._chosen = min(max(self._chosen + (1 if key == "+" else -1), 0), len(_INTERVALS) - 1)
        else:
            screen.press(key)

    def drop(self, kind: str, count: int, line: str) -> None:
        self.view.lose(kind, count)
        super().drop(kind, count, line)

    # --- at the end ---------------------------------------------------------------------------

    def pause(self) -> None:
        """Text for people has an empty line there; a screen has none."""

    def snapshot(self, aggregates: Aggregates) -> None:
        self._leave()
        self._real.write(aggregates.rest())

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
