"""Flask: http, by a wrapper of Flask.wsgi_app, which each application may replace, and by the signal
that a route was chosen.

Probes: http:::request-start and request-done.
"""

from __future__ import annotations

from typing import Any

from .core import suppress_errors, wrap_method
from .http import is_traced, set_route, wrap_wsgi


def install_requests(app: Any) -> None:
    wrap_method(app.Flask, "wsgi_app", wrap_wsgi)


@suppress_errors
def _note_route(_application: Any, **_more: Any) -> None:
    if not is_traced():
        return
    from flask import request

    if request.url_rule is not None:
        set_route(request.environ, request.url_rule.rule)


def install_routes(signals: Any) -> None:
    signals.request_started.connect(_note_route)
