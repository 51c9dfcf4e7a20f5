"""Trace all hosts of a Dask cluster with one script.

    import pyusdt.dask
    with pyusdt.dask.trace(client, 'pyusdt*:::user_trace-i4s4 { @[copyinstr(arg6), host] = quantize(arg3); }') as t:
        compute()
    print(t.aggregations[""])

The client is a distributed.Client that is not asynchronous. The hosts are the machines that the
workers run on.

- A coroutine in a worker (Client.run) carries the bytes. Dask itself is not imported. The rest is
  in cluster.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import cluster

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from .tracing import Tracing


def trace(
    client: Any,
    script: str | os.PathLike[str],
    *arguments: object,
    buffer: int = 100_000,
    **options: object,
) -> Tracing:
    """Trace the user's processes on all hosts of a cluster: workers, what they start, those to come; hosts that join are traced, too.

    client: a distributed.Client; the rest is as for pyusdt.trace(); `host` in the script is the address of the worker's machine.
    pyusdt, of this version, has to be installed where the workers run.  Raises CompileError and ValueError here, EngineError when the
    block is entered.
    """
    return cluster.trace_cluster(_Workers(client), script, arguments, buffer, options)


class _Workers(cluster.Cluster):
    carrier = "worker"

    def __init__(self, client: Any) -> None:
        super().__init__()
        if getattr(client, "asynchronous", False):
            raise ValueError(
                "an asynchronous Client cannot be waited for: make one without asynchronous=True"
            )
        self._client = client

    def find_hosts(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = self._client.run_on_scheduler(_find_worker_hosts)
        return found

    def call_on_carrier(self, carrier: str, function: Callable[..., Any], *arguments: Any) -> Any:
        answer = self._client.run(function, *arguments, workers=[carrier], on_error="return").get(
            carrier
        )
        if isinstance(answer, BaseException):
            raise answer
        if answer is None:
            raise OSError("it has gone")
        return answer


def _find_worker_hosts(dask_scheduler: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for address, state in dask_scheduler.workers.items():
        found.setdefault(state.host, []).append(address)
    return found
