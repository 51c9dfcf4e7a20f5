"""Trace all hosts of a Ray cluster with one script.

    import pyusdt.ray, ray
    ray.init(address="auto")
    with pyusdt.ray.trace('pyusdt*:::user_trace-i4s4 { @[copyinstr(arg6), host] = quantize(arg3); }') as t:
        compute()
    print(t.aggregations[""])

The cluster is the one that ray.init() has connected to. The hosts are the addresses of its nodes.

- An actor on each node carries the bytes. It takes no processor from Ray's schedule, and is made
  anew if it was lost.
- Of several nodes with one address one is asked, since one tracer sees all processes there. The
  rest is in cluster.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import cluster

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from .tracing import Tracing

_ANSWER_TIMEOUT = 40.0  # s that an answer may take: a new actor's process, and a tracer, have to start before the first


def trace(
    script: str | os.PathLike[str], *arguments: object, buffer: int = 100_000, **options: object
) -> Tracing:
    """Trace the user's processes on all hosts of the cluster: tasks', actors', what they start, those to come; nodes that join are traced, too.

    All is as for pyusdt.trace(); `host` in the script is the address of the node.  pyusdt, of this version, has to be installed where the
    nodes run.  Raises CompileError and ValueError here (that where ray.init() was not called, too), EngineError when the block is entered.
    """
    return cluster.trace_cluster(_Nodes(), script, arguments, buffer, options)


class _Carrier:
    """The actor."""

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await function(*arguments)


class _Nodes(cluster.Cluster):
    carrier = "node"

    def __init__(self) -> None:
        super().__init__()
        import ray

        if not ray.is_initialized():
            raise ValueError("there is no cluster: ray.init() comes first")
        self._actors: dict[str, Any] = {}

    def find_hosts(self) -> dict[str, list[str]]:
        import ray

        found: dict[str, list[str]] = {}
        for node in ray.nodes():
            if node["Alive"]:
                found.setdefault(node["NodeManagerAddress"], []).append(node["NodeID"])
        return found

    def call_on_carrier(self, carrier: str, function: Callable[..., Any], *arguments: Any) -> Any:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        actor = self._actors.get(carrier)
        if actor is None:
            there = NodeAffinitySchedulingStrategy(carrier, soft=False)
            actor = self._actors[carrier] = (
                ray.remote(num_cpus=0)(_Carrier).options(scheduling_strategy=there).remote()
            )
        try:
            return ray.get(actor.call.remote(function, *arguments), timeout=_ANSWER_TIMEOUT)
        except BaseException:
            self._actors.pop(
                carrier, None
            )  # its handle was the only one: Ray ends what is left of it
            raise
