"""What the kernel engine could trace: for pydtrace -l.

In: processes, or none for all; probe descriptions, or None.  Out: probes as (provider, module, function, name).
Always: functions (the pid provider) and the kernel's own probes only where a description names them.
"""

import os

from ...data import program as p
from .errors import unreachable
from .match import Matcher
from .probes import Finder, name_files
from .system import SystemSide


class Function(tuple):
    """A probe of a function, (provider, module, function, name).  modules: what else D may call its module, and this."""

    modules = ()


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
        finder.add_functions(Matcher([clause]).functions_of, pids)
        found = list(SystemSide(descriptions).probes)
    return found + [_probe(site, pid) for site in finder.sites for pid in _pids(site.file, pids)]


def _probe(site, pid):
    found = Function((f"{site.note.provider}{pid}", site.file.name, site.shown, site.note.name))
    found.modules = site.modules
    return found


def _pids(file, pids):
    """Of a file that is named and that no process has mapped, the provider is told without a number."""
    found = file.pids.intersection(pids) if pids else file.pids
    return sorted(found) or ([""] if file.asked else [])
