"""Load the provider `python` into this process, for start/sitecustomize.py and for `pyusdt attach`.

A line on the standard error says why that is not possible.

- Nothing is raised. The file is run by its path, without pyusdt, by any Python: Python 2 can read
  it, too.
"""

import os
import sys


def is_of_environment(spec):
    """Not what lies in the current folder and is found only because `python -c` searches there: anybody may have put it there."""
    if spec is None or not spec.origin or not spec.submodule_search_locations:
        return False
    place = os.path.dirname(os.path.dirname(os.path.abspath(spec.origin)))
    return place in sys.path or place not in [os.path.abspath(each) for each in sys.path]


def has_mark(spec):
    """Whether this package pyusdt is of pydtrace, without running any of it: another project has the
    name, too. The extension of ours has the mark, and its __init__.py imports that."""
    folder = (spec.submodule_search_locations or [""])[0]
    try:
        extensions = [each for each in os.listdir(folder) if each[:6] == "_core."]
        found = []
        for name in ["__init__.py"] + extensions:
            with open(os.path.join(folder, name), "rb") as file:
                found.append(file.read())
    except OSError:
        return False
    marked = [each for each in found[1:] if b"the pyusdt of the distribution pydtrace" in each]
    return bool(marked) and b"MARK," in found[0]


def load_pyusdt():
    """The pyusdt of this environment; where it has none, the one that this file is part of. ImportError
    where the environment has another project's pyusdt: the program may import it."""
    from importlib import util

    if "pyusdt" in sys.modules:
        return
    spec = util.find_spec("pyusdt")
    if is_of_environment(spec):
        if has_mark(spec):
            return
        raise ImportError("its package pyusdt (%s) is another project's" % spec.origin)  # noqa: UP031
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    spec = util.spec_from_file_location(
        "pyusdt", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    sys.modules["pyusdt"] = util.module_from_spec(spec)
    try:
        spec.loader.exec_module(sys.modules["pyusdt"])
    except BaseException:
        del sys.modules["pyusdt"]
        raise


def report_failure(what):
    sys.stderr.write(
        "pyusdt: %s cannot be loaded into this process (%s, Python %d.%d): %s\n"  # noqa: UP031
        % (what, sys.executable, sys.version_info[0], sys.version_info[1], sys.exc_info()[1])
    )


def load_provider(audit, asked="", folder=""):
    """asked: the value of PYUSDT_VM_INTO, where the provider is to go on into what this program starts."""
    try:
        load_pyusdt()
        from pyusdt import vm

        vm.enable(audit=audit)
        if asked and hasattr(vm, "follow"):  # the environment's own pyusdt may be an older one
            vm.follow(asked, folder)
    except Exception:  # noqa: BLE001 - the program runs, whatever is wrong with us
        report_failure("the provider python")


def load_hooks():
    """For `pyusdt run`: pyusdt itself reads PYUSDT_INSTRUMENT."""
    try:
        load_pyusdt()
        __import__("pyusdt")
    except Exception:  # noqa: BLE001 - the program runs, whatever is wrong with us
        report_failure("probes")
