"""vm_http.py PORT: a server of the standard library alone, each request a thread, which counts the calls of work() itself: /count
answers with their number."""

import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

calls = 0
counting = threading.Lock()


def work():
    global calls
    with counting:
        calls += 1
    return "done"


def count():
    return str(calls)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        answer = work() if self.path == "/work" else count()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
