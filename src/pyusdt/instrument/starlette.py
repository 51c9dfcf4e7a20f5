"""Starlette and FastAPI: http, by a wrapper of Starlette.__call__; an application mounted in another does not fire again.

In: starlette.applications, when it has been imported.  Out: http:::request-start and request-done.
"""

from __future__ import annotations

from typing import Any

from .core import wrap_method
from .http import around_asgi


def see_requests(applications: Any) -> None:
    wrap_method(applications.Starlette, "__call__", around_asgi)
