"""A receiver of OpenTelemetry's protocol, by HTTP and by gRPC."""

from __future__ import annotations

import contextlib
import http.server
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as service


class Receiver(list):
    """status: what is answered; unavailable: how often gRPC says that it is; rejected: what of each request is said to be refused; of a
    subclass path, name, response: where it comes in, and the answer."""

    status, unavailable, rejected = 200, 0, {}

    def answer(self):
        partial = (
            {"partial_success": {**self.rejected, "error_message": "not those"}}
            if self.rejected
            else {}
        )
        return self.response(**partial).SerializeToString()


class Received(Receiver):
    """{name: [point]} of each request."""

    path, name = "/v1/metrics", "opentelemetry.proto.collector.metrics.v1.MetricsService"
    response = service.ExportMetricsServiceResponse

    def take(self, body):
        request = service.ExportMetricsServiceRequest.FromString(body)
        found = {}
        for resource in request.resource_metrics:
            self.resource = {each.key: each.value for each in resource.resource.attributes}
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    data = getattr(metric, metric.WhichOneof("data"))
                    found[metric.name] = metric, list(data.data_points)
        self.append(found)

    def points(self, name):
        return [point for each in self if name in each for point in each[name][1]]


@contextlib.contextmanager
def by_http(found):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if found.status == 200:
                assert self.path == found.path
                found.take(body)
            answer = found.answer() if found.status == 200 else b""
            self.send_response(found.status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextlib.contextmanager
def by_grpc(found):
    def export(body, context):
        if found.unavailable:
            found.unavailable -= 1
            context.abort(grpc.StatusCode.UNAVAILABLE, "not yet")
        found.take(body)
        return found.answer()

    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers(
        [
            grpc.method_handlers_generic_handler(
                found.name, {"Export": grpc.unary_unary_rpc_method_handler(export)}
            )
        ]
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"grpc://127.0.0.1:{port}"
    server.stop(None).wait()
