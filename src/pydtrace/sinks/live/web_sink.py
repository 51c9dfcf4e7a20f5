"""pydtrace --web: the views of --live in a browser; --html: the same page as one file at the end.

The server listens on 127.0.0.1 and prints its address.

- Who does not have the address's token gets nothing, nor does a page of another site: the Host
  header is checked, and no answer can be read by others.
- Nothing that a browser sends reaches the tracing.
- A viewer that does not read delays nobody, and gets the latest state when it reads again. At
  most _VIEWERS are connected, and _CONNECTIONS of each user.
"""

from __future__ import annotations

import errno
import hmac
import os
import secrets
import socket
import threading
import time
from typing import TYPE_CHECKING

from pydtrace.engine import EngineError
from pydtrace.sinks.atomic_file import AtomicFile
from pydtrace.sinks.http.http_server import Handler, Server

from . import view_json
from .live_sink import LiveSink

if TYPE_CHECKING:
    from pydtrace.driver.aggregation_state import AggregationState
    from pydtrace.driver.sink import TraceInfo
    from pydtrace.sinks.output_file import Notify, Output

_MAX_VIEWERS = 16
_MAX_CONNECTIONS = 64  # a browser keeps those open by which it got the page's files
_BUFFER = 1 << 17  # bytes
_FIRST_INTERVAL = 0.25  # s, of a page that is made at the end
_TIMEOUT = 20.0  # s that a viewer may not read
_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_HEADERS = (("Content-Security-Policy", _POLICY), ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"))  # fmt: skip
_FILES = {"": ("index.html", "text/html; charset=utf-8"), "view.js": ("view.js", "text/javascript; charset=utf-8"),
          "view.css": ("view.css", "text/css; charset=utf-8")}  # fmt: skip


def file(name: str) -> str:
    """One of the page's."""
    with open(
        os.path.join(os.path.dirname(__file__), "web_assets", name), encoding="utf-8"
    ) as opened:
        return opened.read()


class _StateFeed:
    """What the viewers are sent: the tracing writes it, each viewer's thread reads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._number, self._whole, self._step, self._is_over = 0, "", "", False
        self.viewers = 0

    def publish_state(self, whole: str, step: str) -> None:
        with self._changed:
            self._number, self._whole, self._step = self._number + 1, whole, step
            self._changed.notify_all()

    def end_feed(self) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def change_viewers(self, change: int) -> bool:
        """One viewer more, or less; False: there are enough."""
        with self._changed:
            if change > 0 and self.viewers >= _MAX_VIEWERS:
                return False
            self.viewers += change
            return True

    def wait_for_state(self, number: int, timeout: float) -> tuple[int, str | None]:
        """(number, state) that follows the one of that number: the step, or all where some were missed; "" where the time was over
        first, None at the end of tracing."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._number != number or self._is_over, timeout):
                return number, ""
            if self._number == number:
                return number, None
            return (
                self._number,
                self._step if number and self._number == number + 1 else self._whole,
            )


class _Handler(Handler):
    """server: a _Server."""

    server: _Server
    timeout = _TIMEOUT

    def answer(self) -> None:
        token, _, name = self.path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self.refuse(403, "the address lacks the token")
            return
        self.server.mark_trusted()
        if name == "events":
            self._send_events()
        elif name in _FILES:
            path, kind = _FILES[name]
            self.send_answer(200, file(path).encode(), kind, *_HEADERS)
        else:
            self.refuse(404, "there is no such page")

    def _send_events(self) -> None:
        states = self.server.states
        if not states.change_viewers(1):
            self.refuse(503, "too many viewers")
            return
        self.connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER
        )  # what lies there is old when it is read
        try:
            self.begin_answer(200, "text/event-stream", ("Connection", "close"), *_HEADERS)
            self._stream_states(states)
        except OSError:
            pass  # the viewer is gone, or does not read
        finally:
            states.change_viewers(-1)
            self.close_connection = True

    def _stream_states(self, states: _StateFeed) -> None:
        number, state = states.wait_for_state(0, 0.0)
        while state is not None:
            self.wfile.write(f"data: {state}\n\n".encode() if state else b": still here\n\n")
            number, state = states.wait_for_state(number, _TIMEOUT / 2)
        self.wfile.write(b"event: end\ndata: over\n\n")


class _Server(Server):
    max_connections = _MAX_CONNECTIONS

    def __init__(self, port: int, states: _StateFeed) -> None:
        super().__init__("127.0.0.1", port, _Handler)
        self.states, self.token = states, secrets.token_urlsafe(18)
        self.address = f"http://127.0.0.1:{self.server_port}/{self.token}/"


class WebSink(LiveSink):
    """The sink of --web."""

    def __init__(self, output: Output, notify: Notify, port: int) -> None:
        most = view_json.MAX_INTERVALS
        super().__init__(output, notify, also_written=True, history=most, columns=most)
        self._port, self._states = port, _StateFeed()
        self._server: _Server | None = None
        self._printed = 0

    def begin(self, info: TraceInfo) -> None:
        super().begin(info)
        try:
            server = self._server = _Server(self._port, self._states)
        except OSError as error:
            raise EngineError(
                f"--web: port {self._port} of 127.0.0.1: {error.strerror}",
                "choose another port; --web without a port takes a free one"
                if error.errno == errno.EADDRINUSE
                else None,
            ) from None
        server.connection_cost.report = self._notify
        server.start()
        self.stays = self.clock.span is not None
        self._notify(f"the page is {server.address}")
        self._states.publish_state("", "") if self.stays else self.refresh_view()

    def refresh_view(self) -> None:
        if not self.stays:
            now, new = self.clock.wall(), self.view.printed_lines - self._printed
            self._printed += new
            self._states.publish_state(
                view_json.encode_event(
                    "whole",
                    view_json.full_state(
                        self.view, now, self.interval, view_json.LIVE_INTERVALS, self.facts
                    ),
                ),
                view_json.encode_event(
                    "step", view_json.state_delta(self.view, now, self.interval, new)
                ),
            )

    def other_users_time(self) -> float:
        return self._server.connection_cost.others_seconds if self._server else 0.0

    def end(self, status: int) -> None:
        """The whole run is shown; of a recording nothing was before."""
        super().end(status)
        whole = _encode_run(self)
        self._states.publish_state(whole, whole)
        if self.stays:
            self._notify("the recording is over; the page stays until Ctrl-C")

    def close(self) -> None:
        self._states.end_feed()
        server, self._server = self._server, None
        if server:
            end = time.monotonic() + 1.0
            while self._states.viewers and time.monotonic() < end:  # they get the end
                time.sleep(0.01)
            server.stop()


def _encode_run(sink: LiveSink) -> str:
    state = view_json.finished_state(sink.view, sink.clock.wall(), sink.facts)
    return view_json.encode_event("whole", state)


class HtmlSink(LiveSink):
    """The sink of --html: a page that needs no server and no network.  Its intervals become longer with the run."""

    interval = _FIRST_INTERVAL

    def __init__(self, output: Output, notify: Notify, path: str) -> None:
        most = view_json.MAX_INTERVALS
        super().__init__(output, notify, also_written=True, history=most, columns=most)
        self._file = AtomicFile(path)

    def begin(self, info: TraceInfo) -> None:
        super().begin(info)
        with self._file.report_errors():
            self._file.create_file()

    def refresh_view(self) -> None:
        """The page is written at the end."""
        if not self.clock.span:
            self.interval = _FIRST_INTERVAL * self.view.step

    def counted_intervals(self) -> int:
        return self.view.step

    def snapshot(self, aggregates: AggregationState) -> None:
        super().snapshot(aggregates)
        with self._file.report_errors():
            assert self._file.part_path
            with open(self._file.part_path, "w", encoding="utf-8") as opened:
                opened.write(render_page(_encode_run(self)))
        self._file.commit_file()
        self._file.part_path = None

    def close(self) -> None:
        self._file.discard_file()


def render_page(state: str) -> str:
    """The page with a state in it.  No text of the state can end the element that it stands in."""
    parts = {"<link rel=\"stylesheet\" href=\"view.css\">": f"<style>\n{file('view.css')}</style>",
             "<script src=\"view.js\" defer></script>": "",
             "</body>": f"<script type=\"application/json\" id=\"state\">{state.replace('<', chr(92) + 'u003c')}</script>\n"
                        f"<script>\n{file('view.js')}</script>\n</body>"}  # fmt: skip
    text = file("index.html")
    for old, new in parts.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text
