"""The probes that the kernel engine can trace, for pydtrace -l.

- Functions (the provider pid) and the kernel's own probes are listed only if a description names
  them.
"""

from __future__ import annotations

import os

from pydtrace import _tracer
from pydtrace.engine import EngineError
from pydtrace.engine.kernel.kernel_errors import make_access_error
from pydtrace.program import program as p

from . import usdt_operands
from .finder import ProbeFinder, add_requested_files, requested_paths
from .matcher import Matcher, is_function_match
from .system_probes import SystemProbes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from pydtrace.process.command import Command

    from .finder import Site, TracedFile
    from .matcher import ProbeDesc


class SiteProbe(tuple[str, str, str, str]):
    """A probe of a function, (provider, module, function, name).  modules: what else D may call its module, and this;
    types: as find_signatures() has them, None for a function's; is_function_match(pattern): whether a description's function stands for its own."""

    modules: tuple[str, ...] = ()
    types: tuple[tuple[str, str], ...] | None = None
    is_function_match: Callable[[str], bool] | None = None


def list_probes(
    pids: Sequence[int],
    descriptions: Sequence[ProbeDesc] | None = None,
    files: Iterable[str] = (),
    command: Command | None = None,
    tell: Callable[[str], None] = lambda text: None,
    demangles: bool = True,
) -> list[tuple[str, str, str, str]]:
    """[(provider, module, function, name)]; files: of -x file; command: of -c, which has not started; tell, demangles: as Finder has them.  Raises EngineError where a process of `pids` or a file can
    not be looked at."""
    finder = ProbeFinder(tell, demangles)
    try:
        for pid in pids:
            finder.scan_process(pid)
        if command:
            finder.add_command(command.argv, command.pid)
    except OSError as error:
        raise make_access_error(error, pids) from None
    pids = pids or ((command.pid,) if command else ())
    if not pids:
        finder.scan_all(but=(os.getpid(),))
    add_requested_files(finder, files, pids)
    found = []
    if descriptions:
        clause = p.Clause(0, [*descriptions], None)
        finder.add_functions(Matcher([clause], demangles).make_function_filter, pids)
        found = list(SystemProbes(descriptions).probes)
    return found + [
        _make_probe(site, pid) for site in finder.sites for pid in _provider_pids(site.file, pids)
    ]


def find_signatures(
    description: ProbeDesc,
    pids: Sequence[int],
    options: Mapping[str, Any],
    argv: Sequence[str] = (),
) -> list[tuple[tuple[str, str], ...]]:
    """Of the USDT probes in files that a description stands for: tuples of (name "", type) of their arguments, as their notes say."""
    finder = ProbeFinder(lambda text: None)
    try:
        for pid in pids:
            finder.scan_process(pid)
        if argv:
            finder.add_command(argv, 0)
        elif not pids:
            finder.scan_all(but=(os.getpid(),))
        add_requested_files(finder, requested_paths(options, [description]), ())
    except (OSError, EngineError):
        return []  # whoever opens the engine says why
    stem = description.provider.rstrip("0123456789")
    sites = [
        site
        for site in finder.sites
        if _tracer.glob(stem, site.note.provider) and _tracer.glob(description.name, site.note.name)
    ]
    return list(
        dict.fromkeys(
            tuple(("", type) for type in usdt_operands.operand_types(site.note.arguments))
            for site in sites
        )
    )


def _make_probe(site: Site, pid: int | str) -> SiteProbe:
    found = SiteProbe(
        (f"{site.note.provider}{pid}", site.file.name, site.shown_function, site.note.name)
    )
    found.modules = site.module_names
    found.is_function_match = lambda pattern: (
        pattern in ("", "*") or is_function_match(pattern, site.function, site.file.demangles)
    )
    if site.note.provider != "pid":
        found.types = tuple(("", type) for type in usdt_operands.operand_types(site.note.arguments))
    return found


def _provider_pids(file: TracedFile, pids: Sequence[int]) -> list[int] | list[str]:
    """Of a file that is named and that no process has mapped, the provider is listed without a number."""
    found = file.pids.intersection(pids) if pids else file.pids
    return sorted(found) or ([""] if file.is_requested else [])
