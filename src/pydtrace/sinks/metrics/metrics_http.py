"""The server that Prometheus asks: GET /metrics, with a token and a certificate if these are
configured (sinks/http/http_server.py).
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

from pydtrace.sinks.http.http_server import Handler, Server

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    Answer = Callable[[str], tuple[bytes, str]]  # of an Accept header: (content, its type)

PATH = "/metrics"


class _Handler(Handler):
    """server: Scrapes."""

    server: MetricsServer

    def answer(self) -> None:
        server = self.server
        if server.token and not hmac.compare_digest(
            self.headers.get("Authorization", "").encode(), b"Bearer " + server.token
        ):
            self.refuse(401, "a bearer token is needed", ("WWW-Authenticate", "Bearer"))
            return
        if server.token:
            server.mark_trusted()
        if self.path.partition("?")[0] != PATH:
            self.refuse(404, f"the metrics are at {PATH}")
        else:
            self.send_answer(200, *server.answer(self.headers.get("Accept", "")))


class MetricsServer(Server):
    """The server."""

    def __init__(
        self,
        host: str,
        port: int,
        answer: Answer,
        token: bytes = b"",
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.answer, self.token, self._context = answer, token, context
        super().__init__(host, port, _Handler)
        self.address = (
            f"{'https' if context else 'http'}://{self.display_host}:{self.server_port}{PATH}"
        )

    def is_own_host(self, header: str) -> bool:
        """Who has the token may ask by any name, where others reach the address as well."""
        return (bool(self.token) and not self.hosts) or super().is_own_host(header)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the thread of the request: there a slow handshake waits alone."""
        if self._context:
            request.settimeout(_Handler.timeout)
            with self._context.wrap_socket(request, server_side=True) as secured:
                super().finish_request(secured, client_address)
        else:
            super().finish_request(request, client_address)
