"""redis: cache, around execute_command() of the clients and the clusters' clients, and execute() of
a pipeline, which is one command.

Probes: cache:::command-start and command-done.

- Only the first argument of a command is recorded, its key as a rule. Values are never read, nor
  what AUTH and HELLO carry.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from . import request_spans
from .core import suppress_errors, type_name, wrap_method
from .probes import provider_probes
from .request_spans import done_probe, span_probe
from .wrap_calls import wrap_async_call, wrap_call

if TYPE_CHECKING:
    from collections.abc import Callable

_start, _done = provider_probes("cache")
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

    @suppress_errors
    def done(self, result: Any, error: BaseException | None = None) -> None:
        took = perf_counter_ns() - self.began
        hit = -1 if error is not None or self.name not in _READS else int(result is not None)
        _done(self.name, self.key, hit, took, type_name(type(error)) if error is not None else "")
        request_spans.add_span("cache", self.name, self.began, took)


def _is_traced() -> bool:
    return bool(_start or _done or span_probe or done_probe)


@suppress_errors
def _begin_command(_client: Any, name: Any, *arguments: Any, **_named: Any) -> _Command | None:
    if not (_start or _done or span_probe or done_probe):
        return None
    name = str(name).upper()
    return _Command(name, arguments[0] if arguments and name not in _SECRETS else "")


@suppress_errors
def _begin_pipeline(*_arguments: Any, **_named: Any) -> _Command | None:
    return _Command("PIPELINE", "") if _is_traced() else None


def _make_installer(
    client: str, pipeline: str, wrapped: Callable[[Any], Any]
) -> Callable[[Any], None]:
    """What sees the commands of a module's classes of these names; wrapped: puts a hook around a method."""

    def install(module: Any) -> None:
        wrap_method(getattr(module, client), "execute_command", wrapped(_begin_command))
        wrap_method(getattr(module, pipeline), "execute", wrapped(_begin_pipeline))

    return install


install_commands, install_async_commands = (
    _make_installer("Redis", "Pipeline", each) for each in (wrap_call, wrap_async_call)
)
install_commands_of_clusters, install_async_commands_of_clusters = (
    _make_installer("RedisCluster", "ClusterPipeline", each)
    for each in (wrap_call, wrap_async_call)
)
