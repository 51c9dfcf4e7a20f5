"""The server that Prometheus asks: GET /metrics.

In: an address, a function that makes the answer, a token and a certificate if asked for.  Out: answers.
Always: each connection has a thread, and there are as many as serving.Bounded allows; who is slow, says nothing or does not read holds
up nobody else and is left after _TIMEOUT; on a loopback address a page of another site gets nothing (the Host header is checked);
nothing that comes reaches the tracing.
"""

from __future__ import annotations

import hmac
import http.server
import ipaddress
import socket
import ssl
import threading
from typing import TYPE_CHECKING, Any

from .serving import Bounded

if TYPE_CHECKING:
    from collections.abc import Callable

    Answer = Callable[[str], tuple[bytes, str]]  # of an Accept header: (content, its type)

PATH = "/metrics"
_POLL = 0.05  # s: so long does the end take
_TIMEOUT = 30.0  # s


class _Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    server: Scrapes
    timeout = _TIMEOUT
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "pydtrace", ""

    def do_GET(self) -> None:
        server = self.server
        if server.hosts and self.headers.get("Host") not in server.hosts:
            self._refuse(421, "this address is not that of the metrics")
        elif server.token and not hmac.compare_digest(self.headers.get("Authorization", "").encode(), b"Bearer " + server.token):
            self._refuse(401, "a bearer token is needed", ("WWW-Authenticate", "Bearer"))
        elif self.path.partition("?")[0] != PATH:
            self._refuse(404, f"the metrics are at {PATH}")
        else:
            self._send(200, *server.answer(self.headers.get("Accept", "")))

    def _refuse(self, status: int, why: str, *headers: tuple[str, str]) -> None:
        self._send(status, f"{why}\n".encode(), "text/plain; charset=utf-8", *headers)

    def _send(self, status: int, content: bytes, kind: str, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for header, value in (("Content-Type", kind), ("Content-Length", str(len(content))), ("X-Content-Type-Options", "nosniff"), *headers):
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing: the standard error is dtrace's."""


class Scrapes(Bounded):
    """The server; start() and stop() it.  OSError where it can not have the address."""

    def __init__(self, host: str, port: int, answer: Answer, token: bytes = b"", context: ssl.SSLContext | None = None) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        self.answer, self.token, self._context = answer, token, context
        super().__init__((host, port), _Handler)
        shown = f"[{host}]" if ":" in host else host
        self.address = f"{'https' if context else 'http'}://{shown}:{self.server_port}{PATH}"
        names = {shown, "127.0.0.1", "localhost", "[::1]"} if is_loopback(host) else ()
        self.hosts = {f"{name}:{self.server_port}" for name in names}

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, args=(_POLL,), name="pydtrace-metrics", daemon=True).start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the thread of the request: there a slow handshake waits alone."""
        if self._context:
            request.settimeout(_TIMEOUT)
            with self._context.wrap_socket(request, server_side=True) as secured:
                super().finish_request(secured, client_address)
        else:
            super().finish_request(request, client_address)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
