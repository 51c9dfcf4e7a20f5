# mypy: ignore-errors
"""What the kernel engine could trace: for pydtrace -l.

In: processes, or none for all; probe descriptions, or None.  Out: probes as (provider, module, function, name).
Always: functions (the pid provider) and the kernel's own probes only where a description names them.
"""

import os

from pydtrace import _tracer
from pydtrace.engine import EngineError
from pydtrace.engine.kernel.kernel_errors import unreachable
from pydtrace.program import program as p

from . import usdt_operands
from .finder import Finder, files_of, name_files
from .matcher import Matcher, names_function
from .system_probes import SystemSide


class Function(tuple):
    """A probe of a function, (provider, module, function, name).  modules: what else D may call its module, and this;
    types: as signatures() has them, None for a function's; stands(pattern): whether a description's function stands for its own."""

    modules, types, stands = (), None, None


def known(pids, descriptions=None, files=(), command=None, tell=lambda text: None, demangles=True):
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
        clause = p.Clause(0, descriptions, None)
        finder.add_functions(Matcher([clause], demangles).functions_of, pids)
        found = list(SystemSide(descriptions).probes)
    return found + [_probe(site, pid) for site in finder.sites for pid in _pids(site.file, pids)]


def signatures(description, pids, options, argv=()):
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


def _probe(site, pid):
    found = Function((f"{site.note.provider}{pid}", site.file.name, site.shown, site.note.name))
    found.modules = site.modules
    found.stands = lambda pattern: (
        pattern in ("", "*") or names_function(pattern, site.function, site.file.demangles)
    )
    if site.note.provider != "pid":
        found.types = tuple(("", type) for type in usdt_operands.types(site.note.arguments))
    return found


def _pids(file, pids):
    """Of a file that is named and that no process has mapped, the provider is told without a number."""
    found = file.pids.intersection(pids) if pids else file.pids
    return sorted(found) or ([""] if file.asked else [])
