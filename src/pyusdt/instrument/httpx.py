"""httpx: client:::request-start and request-done, around the send() of both clients; a redirected
request is one request.
"""

from __future__ import annotations

from typing import Any

from .core import wrap_method
from .http_clients import wrap_async_send, wrap_send


def install_requests(httpx: Any) -> None:
    wrap_method(httpx.Client, "send", wrap_send)
    wrap_method(httpx.AsyncClient, "send", wrap_async_send)
