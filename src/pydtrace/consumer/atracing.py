"""The consumer API for asyncio: trace() with `async with` and `async for`.

- The event loop is not blocked: what takes time (open, end) runs in a thread.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .tracing import Tracing, trace, watch

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable

    from typing_extensions import Unpack

    from pydtrace.results.records import Record

    from .trace_keywords import TraceKeywords


class AsyncTracing:
    """A Tracing for asyncio: entering the block, leaving it and iterating are awaited. All other members are those of Tracing."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tracing, name)

    async def __aenter__(self) -> AsyncTracing:  # noqa: PYI034
        loop, self._readable = asyncio.get_running_loop(), asyncio.Event()

        def notify_reader() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._readable.set)

        self._tracing._listener = notify_reader
        entering = asyncio.ensure_future(asyncio.to_thread(self._tracing.__enter__))
        try:
            await asyncio.shield(entering)
        except (
            asyncio.CancelledError
        ):  # the thread can not be cancelled: what it opens is closed again
            await asyncio.shield(self._undo_enter(entering))
            raise
        return self

    async def _undo_enter(self, entering: asyncio.Future[Tracing]) -> None:
        try:
            await entering
        except Exception:  # noqa: BLE001  (nothing was opened)
            return
        await asyncio.to_thread(self._tracing.__exit__, None, None, None)

    def __aexit__(self, *exception: object) -> Awaitable[None]:
        # no coroutine, which might never begin; shielded: a cancelled task still leaves the probes off
        self._tracing._running.stopping = True
        return asyncio.shield(asyncio.to_thread(self._tracing.__exit__, *exception))

    def __aiter__(self) -> AsyncTracing:
        return self

    async def __anext__(self) -> Record:
        tracing = self._tracing
        waiting = tracing._running.queue.waiting
        while True:
            self._readable.clear()
            finished = tracing.finished
            if waiting:
                return waiting.popleft()
            if finished:
                tracing._has_more()  # raises what ended it
                raise StopAsyncIteration
            await self._readable.wait()


def atrace(
    script: str | os.PathLike[str], *arguments: object, **more: Unpack[TraceKeywords]
) -> AsyncTracing:
    """trace() for asyncio: `async with pyusdt.atrace(script, pid=…) as t: async for rec in t: …`"""
    return AsyncTracing(trace(script, *arguments, **more))


def awatch(*probes: str, where: str | None = None, **more: Unpack[TraceKeywords]) -> AsyncTracing:
    """watch() for asyncio."""
    return AsyncTracing(watch(*probes, where=where, **more))
