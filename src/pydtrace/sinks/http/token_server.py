"""A server that answers only who has a token, if one is configured, and speaks TLS, if a certificate
is.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

from .http_server import Handler, Server

if TYPE_CHECKING:
    import ssl


class TokenHandler(Handler):
    """One connection.  answer_trusted() is a subclass's."""

    server: TokenServer

    def answer(self) -> None:
        server = self.server
        if server.token and not hmac.compare_digest(
            self.headers.get("Authorization", "").encode(), b"Bearer " + server.token
        ):
            self.refuse(401, "a bearer token is needed", ("WWW-Authenticate", "Bearer"))
            return
        if server.token:
            server.mark_trusted()
        self.answer_trusted()

    def answer_trusted(self) -> None:
        """A request from who may ask and has the token."""
        raise NotImplementedError


class TokenServer(Server):
    def __init__(
        self,
        host: str,
        port: int,
        handler: type[TokenHandler],
        token: bytes = b"",
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.token, self._context = token, context
        super().__init__(host, port, handler)
        self.origin = f"{'https' if context else 'http'}://{self.display_host}:{self.server_port}"

    def is_own_host(self, header: str) -> bool:
        """Who has the token may ask by any name, where others reach the address as well."""
        return (bool(self.token) and not self.hosts) or super().is_own_host(header)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the thread of the request: there a slow handshake waits alone."""
        if self._context:
            request.settimeout(TokenHandler.timeout)
            with self._context.wrap_socket(request, server_side=True) as secured:
                super().finish_request(secured, client_address)
        else:
            super().finish_request(request, client_address)


def read_token(path: str) -> bytes:
    """The word in a file.  Raises OSError; ValueError where it is no word of printable ASCII."""
    with open(path, "rb") as file:
        token = file.read(4096).strip()
    if not token or not all(33 <= byte <= 126 for byte in token):
        raise ValueError("the file is to hold one word of printable ASCII")
    return token
