"""A server of live views and metrics: what it has in common whoever asks.

In: an address, a handler of one connection.  Out: a thread for each connection.
Always: at most `at_once` connections, since every user of the machine can make some; one more is closed at once; no name is looked up;
nothing of a connection reaches the standard error, which is dtrace's.
"""

from __future__ import annotations

import http.server
import socket
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socketserver


class Bounded(http.server.ThreadingHTTPServer):
    """OSError where it can not have the address."""

    daemon_threads = True
    at_once = 16

    def __init__(self, address: tuple[str, int], handler: type[socketserver.BaseRequestHandler]) -> None:
        self._free = threading.BoundedSemaphore(self.at_once)
        self.request_queue_size = self.at_once
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Not as HTTPServer, which asks for the name of the address."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, *_: Any) -> None:
        """Who broke off is no news."""
