"""The receivers of alerts: a program (`exec:PROGRAM ARGUMENT …`), a webhook (`webhook:URL`), an
Alertmanager (`alertmanager:URL`).

A program reads the note (alerts_sink.py) as JSON, a webhook gets the same as a POST, an
Alertmanager alerts of its API, version 2.

- Each receiver has a thread and room for a number of notes. What finds no room, or cannot be
  delivered after some tries, is counted in `lost`; `why` has the reason.
- No shell is used, and no redirection is followed.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import shlex
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from pydtrace.process.identity import query_process
from pydtrace.results.arrow_tables import json_default
from pydtrace.sinks.http.bounded_http import MAX_ANSWER, BoundedResponse
from pydtrace.untrusted.isolated_python import isolated_command

if TYPE_CHECKING:
    from collections.abc import Callable

    Note = dict[str, Any]

QUEUE_SIZE = 100  # notes
_TIMEOUT = 10.0  # s, of a connection; of a program three times that
_RETRY_DELAYS = (0.0, 1.0, 4.0)  # s before each
CLOSE_TIMEOUT = 5.0  # s that the end waits for what is still to be delivered


class ReceiverError(Exception):
    """A receiver that can not be; the message is one line for the user."""


class _Undelivered(Exception):
    """Why a note did not arrive; another try makes sense."""


class _Refused(_Undelivered):
    """None does."""


class StackDump:
    """The stacks of a process, looked at once, by whoever first needs them.  began: when the process began, as identity.start_ticks() has it: of
    another that has its id by then nothing is shown; None: the process has ended."""

    def __init__(self, pid: int, began: int | None) -> None:
        self._pid, self._began, self._lock = pid, began, threading.Lock()
        self._text: str | None = None

    def read_text(self) -> str:
        """As `pyusdt dump` prints them, or why there are none."""
        with self._lock:
            if self._text is None:
                self._text = (
                    query_process(self._pid, self._began, self._run_dump)
                    or f"process {self._pid} has ended: its stacks could not be read"
                )
            return self._text

    def _run_dump(self) -> str:
        command = isolated_command(
            "from pydtrace.cli.commands.main import main; main()", "dump", str(self._pid)
        )
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return f"the stacks of process {self._pid} could not be had within {_TIMEOUT:g} s"
        return (done.stdout or done.stderr).decode("utf-8", "replace")


class Receiver:
    """deliver: does it, or raises _Undelivered; every: how often what lasts is sent again, in s, None: as the user wants it; stop: ends
    what a deliver() that does not return is at.

    why: the last reason for which a note was not delivered, else ""."""

    def __init__(
        self,
        name: str,
        deliver: Callable[[Note], None],
        repeat_interval: float | None = None,
        stop: Callable[[], None] | None = None,
    ) -> None:
        self.repeat_interval, self.reason = repeat_interval, ""
        self._name, self._deliver, self._stop = name, deliver, stop
        self._queue: queue.SimpleQueue[Note | None] = queue.SimpleQueue()
        self._refused = 0  # notes for which there was no room: counted by who brings them
        self._accepted = 0  # likewise
        self._failed = self._handled = 0  # counted by the thread
        self._closing = threading.Event()
        self._thread = threading.Thread(
            target=self._deliver_notes, name="pyusdt-alert", daemon=True
        )
        self._thread.start()

    @property
    def lost_count(self) -> int:
        """How many notes were not delivered."""
        waiting = self._accepted - self._handled if self._closing.is_set() else 0
        return self._refused + self._failed + waiting

    def add_note(self, note: Note) -> None:
        """To be delivered; never waits."""
        if self._queue.qsize() < QUEUE_SIZE:  # nobody else brings any
            self._queue.put(note)
            self._accepted += 1
        else:
            self._refused += 1
            self.reason = f"{self._name}: {QUEUE_SIZE} are waiting to be delivered"

    def stop_accepting(self) -> None:
        """That was the last note."""
        self._queue.put(None)

    def close(self, until: float) -> None:
        """Behind stop_accepting(): waits for what is on its way until then (monotonic); the rest is lost."""
        self._thread.join(max(0.0, until - time.monotonic()))
        self._closing.set()
        if self._accepted > self._handled:
            self.reason = f"{self._name}: the tracing was over before it answered"
            if self._stop:
                self._stop()

    def _deliver_notes(self) -> None:
        while (note := self._queue.get()) is not None and not self._closing.is_set():
            why = self._try_delivery(note)
            if why and not self._closing.is_set():
                self._failed += 1
                self.reason = f"{self._name}: {why}"
            self._handled += not self._closing.is_set()

    def _try_delivery(self, note: Note) -> str:
        """Why it could not be delivered, or ""."""
        why = ""
        for pause in _RETRY_DELAYS:
            self._closing.wait(pause)
            try:
                self._deliver(note)
                return ""
            except _Refused as error:
                return str(error)
            except _Undelivered as error:
                why = str(error)
        return why


def open_receiver(text: str) -> Receiver:
    """Of the text of an option.  ReceiverError."""
    kind, _, what = text.partition(":")
    if kind not in _KINDS or not what:
        raise ReceiverError(f"'{text}': exec:PROGRAM, webhook:URL or alertmanager:URL is needed")
    return _KINDS[kind](what)


def make_queue_receiver(name: str, notes: queue.Queue[Note]) -> Receiver:
    """To somebody in this process, as plain data, who takes them from the queue; its size is the room that there is."""
    return Receiver(name, lambda note: _put_plain_note(note, notes))


def _put_plain_note(note: Note, notes: queue.Queue[Note]) -> None:
    try:
        notes.put_nowait(json.loads(_encode_json(note)))
    except queue.Full:
        raise _Undelivered(f"{notes.maxsize} are waiting to be taken") from None


# --- a program --------------------------------------------------------------------------------


def _make_program_receiver(text: str) -> Receiver:
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    if not words or not shutil.which(words[0]):
        raise ReceiverError(f"'exec:{text}': there is no such program")
    program = _ProgramRunner(words)
    return Receiver(f"exec:{words[0]}", program.run_program, stop=program.stop)


class _ProgramRunner:
    """One at a time."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._running: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def run_program(self, note: Note) -> None:
        packed = _encode_json(note)
        if self._is_over:
            return
        try:
            with subprocess.Popen(
                self._words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
            ) as process:
                self._running = process
                if self._is_over:  # stop() came just before
                    process.kill()
                try:
                    process.communicate(packed, 3 * _TIMEOUT)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise _Refused(f"it did not end within {3 * _TIMEOUT:g} s") from None
        except OSError as error:
            raise _Undelivered(error.strerror or str(error)) from None
        if process.returncode:
            raise _Refused(f"its exit status was {process.returncode}")

    def stop(self) -> None:
        """Nobody would end it after us."""
        self._is_over = True
        if process := self._running:
            process.kill()


# --- a server ---------------------------------------------------------------------------------


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class _Connection(http.client.HTTPConnection):
    response_class = BoundedResponse


class _SecureConnection(http.client.HTTPSConnection):
    response_class = BoundedResponse


class _Http(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, request)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SecureConnection, request)


_opener = urllib.request.build_opener(_NoRedirection, _Http, _Https)


def _check_url(kind: str, text: str) -> str:
    found = urllib.parse.urlsplit(text)
    if found.scheme not in ("http", "https") or not found.hostname:
        raise ReceiverError(
            f"'{kind}:{text}': a URL that begins with http:// or https:// is needed"
        )
    return text


def _post_json(url: str, body: bytes) -> None:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with (
            _opener.open(request, timeout=_TIMEOUT) as answer,
            contextlib.suppress(OSError, http.client.HTTPException),
        ):
            answer.read(MAX_ANSWER)  # it has said that it took the note, whatever comes behind that
    except urllib.error.HTTPError as error:
        kind = _Undelivered if error.code >= 500 or error.code == 429 else _Refused
        raise kind(f"it answered {error.code}") from None
    except (OSError, http.client.HTTPException) as error:
        raise _Undelivered(
            str(getattr(error, "reason", None) or error) or type(error).__name__
        ) from None


def _make_webhook(text: str) -> Receiver:
    url = _check_url("webhook", text)
    return Receiver(url, lambda note: _post_json(url, _encode_json(note)))


def _make_alertmanager(text: str) -> Receiver:
    url = _check_url("alertmanager", text).rstrip("/") + "/api/v2/alerts"
    return Receiver(
        url,
        lambda note: _post_json(url, json.dumps([_to_alertmanager(note)]).encode()),
        repeat_interval=_REPEAT_INTERVAL,
    )


_REPEAT_INTERVAL = 60.0  # s; what it does not hear of again it takes for resolved


def _to_alertmanager(note: Note) -> dict[str, Any]:
    """As Alertmanager has it: what tells one from another are labels, all the rest are annotations.  A record's own `host` (of many) is
    the alert's."""
    labels = {_clean_label(name): value for name, value in note["labels"].items() if value}
    annotations = {
        _clean_label(name): str(value)
        for name, value in note["values"].items()
        if not isinstance(value, str)
    }
    return {
        "labels": {"host": note["host"], **labels, "alertname": note["alert"]},
        "annotations": {
            **annotations,
            "count": str(note["count"]),
            "probe": note["probe"],
            "pid": str(note["pid"]),
            **{name: note[name] for name in ("text",) if name in note},
            "evidence": _encode_json(note.get("evidence", {})).decode(),
        },
        "startsAt": _format_time(note["began"]),
        "endsAt": _format_time(
            note["last"] if note["state"] == "resolved" else note["sent"] + 3 * _REPEAT_INTERVAL
        ),
    }


def _clean_label(name: str) -> str:
    """A name that may be one of a label."""
    made = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    return made if made and not made[0].isdigit() else f"_{made}"


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")


def _json_default(value: object) -> Any:
    return value.read_text() if isinstance(value, StackDump) else json_default(value)


def _encode_json(what: Any) -> bytes:
    return json.dumps(what, ensure_ascii=False, default=_json_default).encode("utf-8", "replace")


_KINDS = {
    "exec": _make_program_receiver,
    "webhook": _make_webhook,
    "alertmanager": _make_alertmanager,
}
