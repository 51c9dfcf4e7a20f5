"""HTTP answers from receivers that are not trusted: none takes longer than a number of seconds or
more than a number of bytes.

The input is a socket on which a request was sent; the result http.client's response, for urllib's
connections and urllib3's.

- Head and body of an answer have arrived WITHIN seconds after the request and have at most MOST
  bytes; else reading raises OSError, however slowly bytes arrive.
"""

from __future__ import annotations

import http.client
import io
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket

ANSWER_TIMEOUT = 10.0  # s
MAX_ANSWER = 64 << 10  # bytes


class BoundedResponse(http.client.HTTPResponse):
    """For `response_class` of a connection."""

    def __init__(self, sock: socket.socket, *more: Any, **options: Any) -> None:
        super().__init__(sock, *more, **options)
        self.fp: io.BufferedReader = io.BufferedReader(_BoundedReader(self.fp.detach(), sock))


class _BoundedReader(io.RawIOBase):
    """raw: what reads from the socket."""

    def __init__(self, raw: Any, sock: socket.socket) -> None:
        self._raw, self._sock = raw, sock
        self._until, self._left = time.monotonic() + ANSWER_TIMEOUT, MAX_ANSWER

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        wait = self._until - time.monotonic()
        if wait <= 0:
            raise TimeoutError(f"its answer was not there within {ANSWER_TIMEOUT:g} s")
        if self._left <= 0:
            raise OSError(f"its answer has more than {MAX_ANSWER} bytes")
        self._sock.settimeout(wait)
        count: int | None = self._raw.readinto(buffer)
        self._left -= count or 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
