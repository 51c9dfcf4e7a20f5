"""redis: cache, around execute_command() of the clients and the clusters' clients, and execute() of a pipeline, which is one command.

In: redis.client, redis.cluster and those of redis.asyncio, when they have been imported.  Out: cache:::command-start and command-done.
Always: of a command only its first argument is told, its key as a rule; values are never looked at, nor what AUTH and HELLO carry.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from .core import harmless, name_of, wrap_method
from .probes import probes
from .wrap_calls import around, around_async

if TYPE_CHECKING:
    from collections.abc import Callable

_start, _done = probes("cache")
_READS = frozenset(
    ("GET", "GETDEL", "GETEX", "HGET")
)  # None is their answer where there is nothing
_SECRETS = frozenset(("AUTH", "HELLO"))


class _Command:
    """One command that is traced, until its answer is there, or an exception."""

    __slots__ = ("began", "key", "name")

    def __init__(self, name: str, key: Any) -> None:
        self.name = name
        self.key = key if isinstance(key, (str, bytes)) else str(key)
        _start(self.name, self.key)
        self.began = perf_counter_ns()

    @harmless
    def done(self, result: Any, error: BaseException | None = None) -> None:
        took = perf_counter_ns() - self.began
        hit = -1 if error is not None or self.name not in _READS else int(result is not None)
        _done(self.name, self.key, hit, took, name_of(type(error)) if error is not None else "")


@harmless
def _command(_client: Any, name: Any, *arguments: Any, **_named: Any) -> _Command | None:
    if not (_start or _done):
        return None
    name = str(name).upper()
    return _Command(name, arguments[0] if arguments and name not in _SECRETS else "")


@harmless
def _pipeline(*_arguments: Any, **_named: Any) -> _Command | None:
    return _Command("PIPELINE", "") if _start or _done else None


def _seer(client: str, pipeline: str, wrapped: Callable[[Any], Any]) -> Callable[[Any], None]:
    """What sees the commands of a module's classes of these names; wrapped: puts a hook around a method."""

    def see(module: Any) -> None:
        wrap_method(getattr(module, client), "execute_command", wrapped(_command))
        wrap_method(getattr(module, pipeline), "execute", wrapped(_pipeline))

    return see


see_commands, see_async_commands = (
    _seer("Redis", "Pipeline", each) for each in (around, around_async)
)
see_commands_of_clusters, see_async_commands_of_clusters = (
    _seer("RedisCluster", "ClusterPipeline", each) for each in (around, around_async)
)
