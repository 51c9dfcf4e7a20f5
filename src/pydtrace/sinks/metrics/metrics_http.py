"""The server that Prometheus asks: GET /metrics, with a token and a certificate if these are
configured (sinks/http/token_server.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydtrace.sinks.http.token_server import TokenHandler, TokenServer

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    Answer = Callable[[str], tuple[bytes, str]]  # of an Accept header: (content, its type)

PATH = "/metrics"


class _Handler(TokenHandler):
    """server: Scrapes."""

    server: MetricsServer

    def answer_trusted(self) -> None:
        if self.path.partition("?")[0] != PATH:
            self.refuse(404, f"the metrics are at {PATH}")
        else:
            self.send_answer(200, *self.server.answer(self.headers.get("Accept", "")))


class MetricsServer(TokenServer):
    """The server."""

    def __init__(
        self,
        host: str,
        port: int,
        answer: Answer,
        token: bytes = b"",
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.answer = answer
        super().__init__(host, port, _Handler, token, context)
        self.address = f"{self.origin}{PATH}"
