"""The probes that the kernel engine can trace, for pydtrace -l.

- Functions (the provider pid) and the kernel's own probes are listed only if a description names
  them.
"""

from __future__ import annotations

import os

from pydtrace import _tracer
from pydtrace.engine import EngineError
from pydtrace.engine.kernel.kernel_errors import unreachable
from pydtrace.program import program as p

from . import usdt_operands
from .finder import Finder, files_of, name_files
from .matcher import Matcher, names_function
from .system_probes import SystemSide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from pydtrace.process.command import Command

    from .finder import Site, TracedFile
    from .matcher import ProbeDesc


class Function(tuple[str, str, str, str]):
    """A probe of a function, (provider, module, function, name).  modules: what else D may call its module, and this;
    types: as signatures() has them, None for a function's; stands(pattern): whether a description's function stands for its own."""

    modules: tuple[str, ...] = ()
    types: tuple[tuple[str, str], ...] | None = None
    stands: Callable[[str], bool] | None = None


def known(
    pids: Sequence[int],
    descriptions: Sequence[ProbeDesc] | None = None,
    files: Iterable[str] = (),
    command: Command | None = None,
    tell: Callable[[str], None] = lambda text: None,
    demangles: bool = True,
) -> list[tuple[str, str, str, str]]:
    """[(provider, module, function, name)]; files: of -x file; command: of -c, which has not started; tell, demangles: as Finder has them.  Raises EngineError where a process of `pids` or a file can
    not be looked at."""
    finder = Finder(tell, demangles)
    try:
        for pid in pids:
            finder.process(pid)
        if command:
            finder.command(command.argv, command.pid)
    except OSError as error:
        raise unreachable(error, pids) from None
    pids = pids or ((command.pid,) if command else ())
    if not pids:
        finder.everything(but=(os.getpid(),))
    name_files(finder, files, pids)
    found = []
    if descriptions:
        clause = p.Clause(0, [*descriptions], None)
        finder.add_functions(Matcher([clause], demangles).functions_of, pids)
        found = list(SystemSide(descriptions).probes)
    return found + [_probe(site, pid) for site in finder.sites for pid in _pids(site.file, pids)]


def signatures(
    description: ProbeDesc,
    pids: Sequence[int],
    options: Mapping[str, Any],
    argv: Sequence[str] = (),
) -> list[tuple[tuple[str, str], ...]]:
    """Of the USDT probes in files that a description stands for: tuples of (name "", type) of their arguments, as their notes say."""
    finder = Finder(lambda text: None)
    try:
        for pid in pids:
            finder.process(pid)
        if argv:
            finder.command(argv, 0)
        elif not pids:
            finder.everything(but=(os.getpid(),))
        name_files(finder, files_of(options, [description]), ())
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
            tuple(("", type) for type in usdt_operands.types(site.note.arguments)) for site in sites
        )
    )


def _probe(site: Site, pid: int | str) -> Function:
    found = Function((f"{site.note.provider}{pid}", site.file.name, site.shown, site.note.name))
    found.modules = site.modules
    found.stands = lambda pattern: (
        pattern in ("", "*") or names_function(pattern, site.function, site.file.demangles)
    )
    if site.note.provider != "pid":
        found.types = tuple(("", type) for type in usdt_operands.types(site.note.arguments))
    return found


def _pids(file: TracedFile, pids: Sequence[int]) -> list[int] | list[str]:
    """Of a file that is named and that no process has mapped, the provider is told without a number."""
    found = file.pids.intersection(pids) if pids else file.pids
    return sorted(found) or ([""] if file.asked else [])
