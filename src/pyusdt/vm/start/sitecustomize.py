"""Bring the provider `python` into an unprepared program; vm/inject_env.py puts this folder first in
PYTHONPATH.

PYUSDT_VM_INTO is written by vm/inject_env.py; PYUSDT_VM_PYTHONPATH is the old PYTHONPATH, if
there was one.

- Before any code of the program runs, the environment and sys.path are as they would be without
  this, so its children know nothing of it, and its own sitecustomize is imported. Only where the
  children are wanted, too, the environment stays as vm/inject_env.py made it.
- Any Python can read this file, Python 2, too.
"""

import os
import sys


def _restore_environment():
    os.environ.pop("PYUSDT_VM_INTO", None)
    path = os.environ.pop("PYUSDT_VM_PYTHONPATH", None)
    if path is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = path


def _restore(folder):
    """The environment and sys.path; what was asked for."""
    asked = os.environ.get("PYUSDT_VM_INTO", "")
    if not asked.startswith("children"):
        _restore_environment()
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path_importer_cache.pop(folder, None)
    return asked


def _bring(folder, asked):
    """In a namespace of its own: load_provider.py is no module that the program could find."""
    who, _, options = asked.partition(" ")
    if who not in ("0", "children", str(os.getpid())):  # 0: whatever process comes first
        return
    path = os.path.join(folder, "load_provider.py")
    names = {"__name__": "pyusdt.vm.start.load_provider", "__file__": path}
    with open(path) as file:
        exec(compile(file.read(), path, "exec"), names)  # noqa: S102 - it is ours
    if options == "hooks":
        names["load_hooks"]()
    else:
        names["load_provider"](options == "audit", asked, folder)


_folder = os.path.dirname(os.path.abspath(__file__))
_asked = _restore(_folder)
if _asked:
    _bring(_folder, _asked)
_us = sys.modules.pop("sitecustomize")  # held, or Python 2 would take this module apart
import sitecustomize  # noqa: F401 - the program's own; where it has none, an ImportError that site.py expects
