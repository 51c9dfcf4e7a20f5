"""requests: client:::request-start and request-done, around Session.send; each redirection is sent
by itself, within the first.
"""

from __future__ import annotations

from typing import Any

from .core import wrap_method
from .http_clients import wrap_send


def install_requests(sessions: Any) -> None:
    wrap_method(sessions.Session, "send", wrap_send)
