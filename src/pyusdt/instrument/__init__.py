"""Probes in frameworks: http:::request-done, db:::query-start … (docs/reference/frameworks.md).

They are enabled by enable("django", "flask"), by PYUSDT_INSTRUMENT in the environment of a
program that imports pyusdt, or by `pyusdt run`. The hooks are set when the program imports a
framework, or at once if it has been imported.

- No framework is imported by this package, and the part for a framework is imported with it.
- Nothing is raised into the program.
"""

from __future__ import annotations

import sys

from . import import_hooks
from .core import trouble

__all__ = ["PARTS", "enable", "enable_as_asked", "trouble"]

# A module of a framework's: the part and its function that takes this module when it has been imported.
_HOOKS = {
    "django.core.handlers.base": ("django", "install_routes"),
    "django.core.handlers.wsgi": ("django", "install_wsgi"),
    "django.core.handlers.asgi": ("django", "install_asgi"),
    "django.db.backends.signals": ("django", "install_queries"),
    "flask.app": ("flask", "install_requests"),
    "flask.signals": ("flask", "install_routes"),
    "starlette.applications": ("starlette", "install_requests"),
    "starlette.routing": ("starlette", "install_mounts"),
    "sqlalchemy.engine": ("sqlalchemy", "install_queries"),
    "sqlalchemy.pool.impl": ("sqlalchemy", "install_pool"),
    "psycopg": ("psycopg", "install_queries"),
    "psycopg2": ("psycopg2", "install_queries"),
    "asyncpg.connection": ("asyncpg", "install_queries"),
    "asyncpg.prepared_stmt": ("asyncpg", "install_prepared_queries"),
    "redis.client": ("redis", "install_commands"),
    "redis.asyncio.client": ("redis", "install_async_commands"),
    "redis.cluster": ("redis", "install_commands_of_clusters"),
    "redis.asyncio.cluster": ("redis", "install_async_commands_of_clusters"),
    "celery.signals": ("celery", "install_tasks"),
    "rq.job": ("rq", "install_jobs"),
    "concurrent.futures.thread": ("pools", "install_threads"),
    "concurrent.futures.process": ("pools", "install_processes"),
    "multiprocessing.pool": ("pools", "install_pools"),
    "anyio.to_thread": ("pools", "install_threads_of_anyio"),
    "multiprocessing.process": ("multiprocessing", "install_processes"),
    "asyncio.events": ("asyncio", "install_callbacks"),
    "uvloop": ("asyncio", "remark_foreign_loop"),
    "requests.sessions": ("requests", "install_requests"),
    "httpx": ("httpx", "install_requests"),
    "aiohttp.web_protocol": ("aiohttp", "install_server"),
    "aiohttp.client": ("aiohttp", "install_client"),
    "grpc": ("grpc", "install_calls"),
    "grpc.aio": ("grpc", "install_calls_of_aio"),
    "opentelemetry.sdk.trace": ("otel", "install_spans"),
    "pyusdt.tags": ("tag_blocks", "install_blocks"),
    "logging": ("logging", "install_records"),
    "loguru._handler": ("loguru", "install_records"),
    "structlog._base": ("structlog", "install_records"),
}
PARTS = tuple(dict.fromkeys(part for part, _ in _HOOKS.values()))
_ALIASES = {"fastapi": "starlette"}


def enable(*parts: str) -> None:
    """Hooks in these frameworks, in all of PARTS where none is named.  Again: nothing more.  ValueError for what is no part."""
    names = {_ALIASES.get(part, part) for part in parts} or set(PARTS)
    if wrong := names - set(PARTS):
        raise ValueError(
            f"no part of pyusdt.instrument: {', '.join(sorted(wrong))} (there are {', '.join([*PARTS, *_ALIASES])})"
        )
    for module, (part, function) in _HOOKS.items():
        if part in names:
            import_hooks.install_when_imported(module, f"{__name__}.{part}", function)


def enable_as_asked(value: str) -> None:
    """PYUSDT_INSTRUMENT: parts with commas between them, or all.  Nothing is raised; a word that is no part is reported, the others count."""
    words = value.replace(",", " ").split()
    asked = [word for word in words if word not in ("all", "1")]
    if asked != words or not words:
        enable()
    for part in asked:
        try:
            enable(part)
        except ValueError as error:
            sys.stderr.write(f"pyusdt: PYUSDT_INSTRUMENT: {error}\n")
