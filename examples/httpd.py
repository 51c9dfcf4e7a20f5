#!/usr/bin/env python3
"""A web server with a probe at the start and at the end of every request.

It serves a folder (this repository, unless told otherwise) on the loopback address, and is nothing but the
standard library's ThreadingHTTPServer plus the two pyusdt calls in `Handler.traced`:

    user_trace-i4s4   arg1 tag "request NUMBER"   arg2 START or END   arg3 request number
                      arg4 status   arg5 bytes written, headers included   arg6 path   arg7 method

Status and bytes are 0 at the start. With --requests N the server ends after it has answered N of them.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import itertools
import os
import threading

import pyusdt

START, END = 0, 1
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class CountingWriter:
    """The connection's output stream; `written` is how many bytes went through it."""

    def __init__(self, stream):
        self.stream = stream
        self.written = 0

    def write(self, data) -> int:
        self.written += len(data)
        return self.stream.write(data)

    def flush(self) -> None:
        self.stream.flush()

    def close(self) -> None:
        self.stream.close()

    @property
    def closed(self) -> bool:
        return self.stream.closed


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept
    disable_nagle_algorithm = True  # headers and body are two writes

    def setup(self) -> None:
        super().setup()
        self.wfile = CountingWriter(self.wfile)

    def traced(self, answer) -> None:
        """Answer one request, by `answer()`, between its two probes."""
        number = next(self.server.numbers)
        before = self.wfile.written
        self.status = 0
        with pyusdt.tag(f"request {number}"):
            pyusdt.p(START, number, 0, 0, self.path, self.command)
            try:
                answer()
            finally:
                pyusdt.p(
                    END, number, self.status, self.wfile.written - before, self.path, self.command
                )
                self.server.answered()

    def do_GET(self) -> None:
        self.traced(super().do_GET)

    def do_HEAD(self) -> None:
        self.traced(super().do_HEAD)

    def send_response(self, code, message=None) -> None:
        self.status = int(code)
        super().send_response(code, message)

    def log_message(self, format, *args) -> None:
        """The probes are the log."""


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, address, handler, requests: int):
        super().__init__(address, handler)
        self.numbers = itertools.count(1)
        self.left = requests or -1
        self.lock = threading.Lock()
        self.done = threading.Event()

    def answered(self) -> None:
        """Called once a request, after its last probe."""
        with self.lock:
            self.left -= 1
            if self.left == 0:
                self.done.set()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--port", type=int, default=0, help="default: one that is free")
    options.add_argument("--root", default=ROOT, help="the folder to serve")
    options.add_argument(
        "--requests", type=int, default=0, help="end after so many; default: at Ctrl-C"
    )
    chosen = options.parse_args()

    with Server(
        ("127.0.0.1", chosen.port),
        functools.partial(Handler, directory=chosen.root),
        chosen.requests,
    ) as server:
        print(f"serving {chosen.root} on http://127.0.0.1:{server.server_port}", flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            server.done.wait()
        except KeyboardInterrupt:
            pass
        server.shutdown()


if __name__ == "__main__":
    main()
