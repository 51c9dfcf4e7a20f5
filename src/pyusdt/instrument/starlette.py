"""Starlette and FastAPI: http:::request-start and request-done, by a wrapper of Starlette.__call__.

- An application that is mounted in another does not fire again.
"""

from __future__ import annotations

from typing import Any

from .core import wrap_method
from .http import add_mount, wrap_asgi


def install_requests(applications: Any) -> None:
    wrap_method(applications.Starlette, "__call__", wrap_asgi)


def install_mounts(routing: Any) -> None:
    """A route's path begins where its application is mounted."""

    def around(handle: Any) -> Any:
        async def handling(self: Any, scope: Any, receive: Any, send: Any) -> Any:
            add_mount(scope, self)
            return await handle(self, scope, receive, send)

        return handling

    wrap_method(routing.Mount, "handle", around)
