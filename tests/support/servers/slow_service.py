"""An HTTP service for tests, as a program: /quick answers at once, /slow after 0.3 s, /busy after 0.1 s with 503.

Output: its URL.
"""

import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWERS = {"/quick": (200, 0.0), "/slow": (200, 0.3), "/busy": (503, 0.1)}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        status, seconds = ANSWERS.get(self.path, (404, 0.0))
        time.sleep(seconds)
        self.send_response(status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_arguments: object) -> None:
        """Nothing is logged."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
