"""Matching: which clauses run at a probe site, in which process.

- In one process a site has one program, with the clauses in the order of the source.
- The name of a provider ends with the process id, so a clause can match in one process and not in
  another.
"""

from __future__ import annotations

from pydtrace import _tracer
from pydtrace.symbols.demangle import (
    demangle,
    is_demangled_pattern,
    may_match,
    strip_parameters,
    strip_return_type,
)

from .return_sites import is_cold_part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import Protocol

    from pydtrace.program.program import Clause

    from .finder import Site, TracedFile

    class ProbeDesc(Protocol):
        """dlang.ast.ProbeDesc."""

        provider: str
        module: str
        function: str
        name: str

    # f(function, its size, offsets of its instructions) -> names of the probes that are asked for
    FunctionFilter = Callable[[str, int, Callable[[], Iterable[int]]], Iterable[str]]
    Plan = tuple[
        int | None, tuple[int, ...], tuple[int, ...]
    ]  # a process or None for any, clauses, processes that it is not for

_NEVER_PIDS = ("4194305", "7538620")  # no Linux has such pids: what matches both matches any
_HEX, _GLOB = frozenset("0123456789abcdef"), frozenset("*?[")


class Matcher:
    """clauses: [program.Clause]; demangles: as is_function_match() has it."""

    def __init__(self, clauses: Iterable[Clause], demangles: bool = True) -> None:
        self._demangles = demangles
        self._descriptions = [
            (clause.index, desc)
            for clause in clauses
            if clause.index is not None
            for desc in clause.probes
        ]
        self._providers: dict[tuple[str, str], bool] = {}
        self._sites: dict[int, list[tuple[int, ProbeDesc]]] = {}
        self.function_sizes: dict[
            ProbeDesc, int
        ] = {}  # {description: bytes of the function that it names}

    @staticmethod
    def is_match(desc: ProbeDesc, probe: Sequence[str]) -> bool:
        """Whether a description stands for (provider, module, function, name)."""
        return all(map(_tracer.glob, (desc.provider, desc.module, desc.function, desc.name), probe))

    def find_probe_clauses(self, probe: Sequence[str]) -> tuple[int, ...]:
        """Indexes of the clauses for a probe that is not a site's."""
        return _sort_unique(
            index for index, desc in self._descriptions if self.is_match(desc, probe)
        )

    def make_function_filter(
        self, file: TracedFile, pids: Collection[int]
    ) -> FunctionFilter | None:
        """For TracedFile.add_functions: f(function, its size, offsets) -> the pid provider's probes of it that are asked for, where
        offsets() are its instructions'; or None where nothing of the file is.  As in dtrace, patterns do not stand for functions of no
        size, which are the C library's at a program's begin and end, or assembly."""
        asked = [
            desc
            for _, desc in self._descriptions
            if is_pid_provider(desc.provider)
            and any(
                _tracer.glob(desc.module, module)
                for module in (*file.short_names, *file.requested_paths)
            )
            and any(_tracer.glob(desc.provider, f"pid{pid}") for pid in (pids or _known_pids(file)))
        ]
        if not asked:
            return None

        def wanted_probes(
            function: str, size: int, offsets: Callable[[], Iterable[int]]
        ) -> Iterable[str]:
            found = {}  # in the order of the descriptions, as dtrace fires those of one place
            for desc in asked:
                if (
                    is_function_match(desc.function, function, self._demangles)
                    if size
                    else desc.function == function
                ):
                    places = offsets() if can_match_offset(desc.name) else ()
                    if desc.function in (function, demangle(function)):
                        self.function_sizes[desc] = size
                    first = (
                        ("return", "entry")
                        if desc.function == function or not is_cold_part(function)
                        else ("entry",)
                    )
                    names = (*first, *(f"{offset:x}" for offset in places))
                    found.update(
                        dict.fromkeys(name for name in names if _tracer.glob(desc.name, name))
                    )
            return found

        return wanted_probes

    def _is_provider_match(self, pattern: str, name: str) -> bool:
        found = self._providers.get((pattern, name))
        if found is None:
            found = self._providers[pattern, name] = _tracer.glob(pattern, name)
        return found

    def _find_descriptions(self, site: Site) -> list[tuple[int, ProbeDesc]]:
        """[(clause index, description)] that match a site but for the provider."""
        found = self._sites.get(id(site))
        if found is None:
            found = self._sites[id(site)] = [
                (index, desc)
                for index, desc in self._descriptions
                if _tracer.glob(desc.name, site.note.name)
                and any(_tracer.glob(desc.module, module) for module in site.module_names)
                and (
                    desc.function in ("", "*")
                    or is_function_match(desc.function, site.function, self._demangles)
                )
            ]
        return found

    def count_sites(self, sites: Iterable[Site]) -> int:
        """Of the sites, how many a description may stand for."""
        return sum(bool(self._find_descriptions(site)) for site in sites)

    def _find_clauses(self, site: Site, pid: int | str) -> tuple[int, ...]:
        name = f"{site.note.provider}{pid}"
        return _sort_unique(
            index
            for index, desc in self._find_descriptions(site)
            if self._is_provider_match(desc.provider, name)
        )

    def plan_programs(self, site: Site, pids: Collection[int]) -> list[Plan]:
        """[(pid or None for any, clauses, pids that it is not for)]; pids: the only targets, or () for all."""
        if not self._find_descriptions(site):
            return []
        if pids:
            planned: list[Plan] = [
                (pid, self._find_clauses(site, pid), ())
                for pid in sorted(site.file.pids.intersection(pids))
            ]
            return [plan for plan in planned if plan[1]]
        first, second = (self._find_clauses(site, pid) for pid in _NEVER_PIDS)
        general = first if first == second else ()
        special: list[Plan] = [
            (pid, self._find_clauses(site, pid), ()) for pid in sorted(site.file.pids)
        ]
        special = [plan for plan in special if plan[1] != general]
        plans = [plan for plan in special if plan[1]]
        if general:
            plans.append((None, general, tuple(pid for pid, _, _ in special if pid is not None)))
        return plans

    def is_named_exactly(self, site: Site) -> bool:
        """Whether a description names the function of a site, and no other."""
        return any(
            not _GLOB.intersection(desc.function) and desc.function
            for _, desc in self._find_descriptions(site)
        )

    def has_return_probes(self) -> bool:
        return any(
            is_pid_provider(desc.provider) and _tracer.glob(desc.name, "return")
            for _, desc in self._descriptions
        )

    def count_probes(self, sites: Iterable[Site], pids: Collection[int]) -> dict[int, int]:
        """{id of a description: how many probes of processes it stands for}"""
        counts = dict.fromkeys((id(desc) for _, desc in self._descriptions), 0)
        for site in sites:
            matching = self._find_descriptions(site)
            if matching:
                for pid in site.file.pids.intersection(pids) if pids else _known_pids(site.file):
                    name = f"{site.note.provider}{pid}"
                    for _, desc in matching:
                        counts[id(desc)] += self._is_provider_match(desc.provider, name)
        return counts


def _known_pids(file: TracedFile) -> Collection[int | str]:
    """A file that is named and not mapped is one of a process to come."""
    return file.pids or (_NEVER_PIDS[:1] if file.is_requested else ())


def is_function_match(pattern: str, symbol: str, demangles: bool) -> bool:
    """Whether a description's function stands for one: by its symbol, or as it is written in C++ or Rust, with its parameters or without.
    demangles: functions are shown so, and patterns stand for what is shown."""
    if _tracer.glob(pattern, symbol):
        return True
    written = is_demangled_pattern(pattern) or demangles and not _GLOB.isdisjoint(pattern)
    if not written or not may_match(pattern, symbol):
        return False
    text = demangle(symbol)
    ways = text, strip_return_type(text)
    return any(
        _tracer.glob(pattern, way) or _tracer.glob(pattern, strip_parameters(way)) for way in ways
    )


def is_pid_provider(provider: str) -> bool:
    """Whether a pattern may stand for the pid provider of a process: pid1234, pid*, and as in dtrace p*d1234 and *1234."""
    return provider.startswith("pid") or (
        provider[-1:].isdigit() and _tracer.glob(provider.rstrip("0123456789"), "pid")
    )


def can_match_offset(name: str) -> bool:
    """Whether a pattern may stand for an offset in a function; these are hexadecimal numbers as printf("%x") writes them."""
    return not name or not _GLOB.isdisjoint(name) or _HEX.issuperset(name)


def _sort_unique(indexes: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(indexes)))
