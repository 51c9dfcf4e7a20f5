"""OpenTelemetry's exporters, extended: what a receiver did not accept is not reported as accepted.

http:// and https:// stand for OTLP over HTTP, grpc:// and grpcs:// for gRPC. The results are the
SDK's exporter, and what its answers say (Heard).

- A redirection is not followed and is no success. Answers are bounded by
  sinks/http/bounded_http.py.
- What a receiver refused of a request that it accepted (OTLP's partial success) is counted. A
  status of success counts as such, whatever follows it.
"""

from __future__ import annotations

import contextlib
import urllib.parse
from importlib import import_module
from typing import Any

from pydtrace.engine import EngineError
from pydtrace.sinks.http.bounded_http import MAX_ANSWER, BoundedResponse

INSTALL_HINT = "{} needs OpenTelemetry's exporters: pip install 'pydtrace[otel]'"
TIMEOUT = 10.0  # s for one export
_RESPONSES = {
    "metric": ("metrics", "ExportMetricsServiceResponse"),
    "trace": ("trace", "ExportTraceServiceResponse"),
}


class PartialSuccess:
    """refused: points or spans that the receiver did not want, though it took the rest; why: what it said of the last ones."""

    __slots__ = ("refused", "reason")

    def __init__(self) -> None:
        self.refused, self.reason = 0, ""

    def add_answer(self, response: Any) -> None:
        """Of an answer that says that the request was taken."""
        partial = response.partial_success
        if count := max(
            getattr(partial, "rejected_data_points", 0), getattr(partial, "rejected_spans", 0)
        ):
            self.refused += count
            self.reason = partial.error_message.split("\n", 1)[0][:500]


def make_exporter(url: str, option: str, signal: str) -> tuple[Any, PartialSuccess]:
    """signal: "metric" or "trace".  ImportError, EngineError."""
    found = urllib.parse.urlsplit(url)
    wire = {"grpc": "grpc", "grpcs": "grpc", "http": "http", "https": "http"}.get(found.scheme)
    if wire is None or not found.hostname:
        raise EngineError(
            f"{option} {url}: a URL that begins with http://, https://, grpc:// or grpcs:// is needed"
        )
    module = import_module(f"opentelemetry.exporter.otlp.proto.{wire}.{signal}_exporter")
    exporter = module.OTLPSpanExporter if signal == "trace" else module.OTLPMetricExporter
    heard = PartialSuccess()
    if wire == "grpc":
        return _make_grpc_exporter(exporter, heard)(
            endpoint=found.netloc, insecure=found.scheme == "grpc", timeout=TIMEOUT
        ), heard
    path, name = _RESPONSES[signal]
    response = getattr(
        import_module(f"opentelemetry.proto.collector.{path}.v1.{path}_service_pb2"), name
    )
    endpoint = url if found.path not in ("", "/") else f"{url.rstrip('/')}/v1/{signal}s"
    return exporter(
        endpoint=endpoint, timeout=TIMEOUT, session=_make_session(response, heard)
    ), heard


def _make_session(response: Any, heard: PartialSuccess) -> Any:
    """For an exporter over HTTP.  response: the message that answers hold."""
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
    from urllib3.connection import HTTPConnection, HTTPSConnection

    def pool(kind: Any, connection: Any) -> Any:
        made = type("Connection", (connection,), {"response_class": BoundedResponse})
        return type("Pool", (kind,), {"ConnectionCls": made})

    pools = {
        "http": pool(HTTPConnectionPool, HTTPConnection),
        "https": pool(HTTPSConnectionPool, HTTPSConnection),
    }

    class Adapter(HTTPAdapter):
        def init_poolmanager(self, *words: Any, **options: Any) -> None:
            super().init_poolmanager(*words, **options)
            self.poolmanager.pool_classes_by_scheme = pools

        def proxy_manager_for(self, *words: Any, **options: Any) -> Any:
            manager = super().proxy_manager_for(*words, **options)
            manager.pool_classes_by_scheme = pools
            return manager

    class Session(requests.Session):
        def request(self, *words: Any, **options: Any) -> Any:
            answer = super().request(
                *words, **{**options, "allow_redirects": False, "stream": True}
            )
            with contextlib.closing(answer):
                if 300 <= answer.status_code < 400:
                    raise requests.RequestException(
                        f"it answered {answer.status_code}, and is not where the URL says"
                    )
                with contextlib.suppress(Exception):  # a body that does not end, or is no answer
                    body = answer.raw.read(MAX_ANSWER, decode_content=True)
                    if answer.ok:
                        heard.add_answer(response.FromString(body))
            return answer

    session = Session()
    for scheme in pools:
        session.mount(f"{scheme}://", Adapter())
    return session


def _make_grpc_exporter(kind: Any, heard: PartialSuccess) -> Any:
    """The exporter's class, whose stub (it makes a new one when a connection is lost) tells us of its answers."""

    class Stub:
        def __init__(self, stub: Any) -> None:
            self._stub = stub

        def Export(self, *words: Any, **options: Any) -> Any:
            response = self._stub.Export(*words, **options)
            heard.add_answer(response)
            return response

    class Exporter(kind):  # type: ignore[misc]
        @property
        def _client(self) -> Any:
            return self._stub_now

        @_client.setter
        def _client(self, stub: Any) -> None:
            self._stub_now = stub and Stub(stub)

    return Exporter
