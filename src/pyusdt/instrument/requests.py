"""requests: client, around Session.send; each redirection is sent by itself, within the first.

In: requests.sessions, when it has been imported.  Out: client:::request-start and request-done.
"""

from __future__ import annotations

from typing import Any

from .core import wrap_method
from .http_clients import wrap_send


def install_requests(sessions: Any) -> None:
    wrap_method(sessions.Session, "send", wrap_send)
