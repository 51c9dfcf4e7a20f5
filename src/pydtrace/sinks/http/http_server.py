"""What the HTTP servers of sinks/ share: a limited number of connections, and no answers for pages
of other sites.

- Each connection has a thread. The server's own user has at most Server.max_connections, all
  others as many together, since every user of the machine can make some (connection_limit.py).
- Who is slow, silent or does not read delays nobody else, and is left after the handler's
  timeout.
- The Host header is checked (is_own_host()), so that a page of another site that reaches our
  address by a name of its own gets nothing.
- Requests do not reach the tracing. The standard error stays dtrace's.
"""

from __future__ import annotations

import http.server
import ipaddress
import re
import socket
import threading
import time
from typing import Any

from .connection_cost import ConnectionCost
from .connection_limit import ConnectionLimit, identify_peer

_POLL = 0.05  # s: so long does the end take
_PAUSE = 0.01  # s behind each connection of who is cut off: no more of them a second cost anything


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection.  answer() is a subclass's."""

    server: Server
    timeout = 30.0
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "pydtrace", ""

    def do_GET(self) -> None:
        if not self.server.is_own_host(self.headers.get("Host", "")):
            self.refuse(
                421, "pydtrace has another address: ask by IP address or by the name of its machine"
            )
        else:
            self.answer()

    def answer(self) -> None:
        """A request from who may ask."""
        raise NotImplementedError

    def refuse(self, status: int, reason: str, *headers: tuple[str, str]) -> None:
        self.send_answer(status, f"{reason}\n".encode(), "text/plain; charset=utf-8", *headers)

    def send_answer(
        self, status: int, content: bytes, kind: str, *headers: tuple[str, str]
    ) -> None:
        self.begin_answer(status, kind, ("Content-Length", str(len(content))), *headers)
        self.wfile.write(content)

    def begin_answer(self, status: int, kind: str, *headers: tuple[str, str]) -> None:
        """All that stands before the content."""
        self.send_response(status)
        for header, value in (
            ("Content-Type", kind),
            ("X-Content-Type-Options", "nosniff"),
            *headers,
        ):
            self.send_header(header, value)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing is logged."""


class Server(http.server.ThreadingHTTPServer):
    """start() and stop() it.  OSError where it can not have the address."""

    daemon_threads = True
    max_connections = 16

    def __init__(self, host: str, port: int, handler: type[Handler]) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        self._connection_limit, self.connection_cost = (
            ConnectionLimit(self.max_connections),
            ConnectionCost(),
        )
        self._trusted = threading.local()
        self.request_queue_size = self.max_connections
        super().__init__((host, port), handler)
        self.display_host = f"[{host}]" if ":" in host else host
        names = {self.display_host, "127.0.0.1", "localhost", "[::1]"} if is_loopback(host) else ()
        self.hosts = {f"{name}:{self.server_port}" for name in names}

    def is_own_host(self, header: str) -> bool:
        """Whether a Host header names this server.  A page of another site can lead its own name to any address (DNS rebinding), but it
        cannot make a browser send an IP address or the name of this machine for it."""
        if self.hosts:
            return header in self.hosts
        name = re.sub(r":\d{0,5}$", "", header).lower()
        return name in {
            "localhost",
            self.display_host.lower(),
            socket.gethostname().lower(),
        } or _is_address(name)

    def server_bind(self) -> None:
        """Not as HTTPServer, which asks for the name of the address."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def start(self) -> None:
        threading.Thread(
            target=self.serve_forever, args=(_POLL,), name="pydtrace-server", daemon=True
        ).start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()

    def mark_trusted(self) -> None:
        """The connection of this thread has shown that it may ask: what it costs is the tracing's."""
        self._trusted.it = True

    def process_request(self, request: Any, client_address: Any) -> None:
        began = time.thread_time()
        try:
            who = identify_peer(client_address, request.getsockname())
        except (OSError, ValueError):  # it is gone already
            who = ("address", "")
        is_cut_off = self.connection_cost.is_refused(who)
        if not is_cut_off and self._connection_limit.acquire_slot(who):
            super().process_request(request, (who, client_address))
        else:
            self.shutdown_request(request)
        self.connection_cost.add_seconds(who, time.thread_time() - began)
        if is_cut_off:
            time.sleep(_PAUSE)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        who, client_address = client_address
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connection_limit.release_slot(who)
            if not getattr(self._trusted, "it", False):
                self.connection_cost.add_seconds(who, time.thread_time())

    def handle_error(self, *_: Any) -> None:
        """A broken connection is not reported."""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
