"""The functions of an Erlang node at which probes may fire, for `pydtrace -l`: asked by Erlang's distribution, as `pyusdt attach` does."""

from __future__ import annotations

from pydtrace import _tracer
from pydtrace.erlang_node.distribution import DistributionError
from pydtrace.erlang_node.etf import Atom

from .beam_attach import BeamOptions, connect_to_process
from .refusal import NotAttached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Protocol

    class ProbeDesc(Protocol):
        provider: str
        module: str
        function: str
        name: str

    Probe = tuple[str, str, str, str]

PROBES = (
    "local-function-entry", "function-return", "global-function-entry",
    "bif-entry", "bif-return", "nif-entry", "nif-return",
)  # fmt: skip
_TIMEOUT = 5.0
_ELIXIR = "Elixir."


def names_functions(desc: ProbeDesc) -> bool:
    """Whether a description names functions of Erlang nodes: a module or a function, and no other probe."""
    return bool(
        (desc.module or desc.function)
        and desc.provider.startswith("erlang")
        and any(_matches(desc.name, name) for name in PROBES)
    )


def list_function_probes(
    pid: int, descriptions: Sequence[ProbeDesc], warn: Callable[[str], None]
) -> list[Probe]:
    """[(provider, module, function, name)]; none, with a warning, if the node cannot be asked."""
    wanted = [desc for desc in descriptions if _matches(desc.provider, f"erlang{pid}")]
    names = [name for name in PROBES if any(_matches(desc.name, name) for desc in wanted)]
    try:
        with connect_to_process(pid, _TIMEOUT, BeamOptions()) as node:
            answers = [(name, node.call("pyusdt_vm", "functions", Atom(name))) for name in names]
    except (DistributionError, NotAttached) as error:
        warn(f"the functions of process {pid} are not listed: {error}")
        return []
    return sorted(
        (f"erlang{pid}", module, function, name)
        for name, answer in answers
        for module, function in set(_read_functions(answer))
        if any(
            _matches(desc.name, name)
            and _matches(desc.module, module)
            and _matches(desc.function, function)
            for desc in wanted
        )
    )


def _read_functions(answer: object) -> Iterator[tuple[str, str]]:
    """The answer is untrusted."""
    for row in answer if isinstance(answer, list) else ():
        if isinstance(row, tuple) and len(row) == 2 and isinstance(row[1], list):
            for pair in row[1]:
                if isinstance(pair, tuple) and len(pair) == 2:
                    yield str(row[0]).removeprefix(_ELIXIR), str(pair[0])


def _matches(pattern: str, name: str) -> bool:
    return not pattern or bool(_tracer.glob(pattern, name))
