"""httpx: client, around the send() of both clients; what is redirected is one request.

In: httpx, when it has been imported.  Out: client:::request-start and request-done.
"""

from __future__ import annotations

from typing import Any

from .core import wrap_method
from .http_clients import around, around_async


def see_requests(httpx: Any) -> None:
    wrap_method(httpx.Client, "send", around)
    wrap_method(httpx.AsyncClient, "send", around_async)
