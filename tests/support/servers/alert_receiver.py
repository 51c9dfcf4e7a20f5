"""A server that takes alerts."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading


class Heard(http.server.BaseHTTPRequestHandler):
    """Keeps what it is told; answers as its server says."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.heard.append((self.path, json.loads(body)))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 200)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def server(*answers):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Heard) as found:
        found.heard, found.answers = [], list(answers)
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        found.url = f"http://127.0.0.1:{found.server_port}/hook"
        yield found
        found.shutdown()
        thread.join()
