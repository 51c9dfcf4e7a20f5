"""What the tests of probes in frameworks share: scripts, and programs whose hooks fail."""

from __future__ import annotations

import os
import sys

from tests.support import harness

PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")
HTTP = """
http*:::request-start { @started = count(); }
http*:::request-done /arg3 > 0/ { @[copyinstr(arg4), copyinstr(arg0), arg1] = count(); @bytes = sum(arg2); }
END { printa("started %@d\\n", @started); printa("bytes %@d\\n", @bytes); printa("%s [%s] %d %@d\\n", @); }
"""
CLIENTS = """client*:::request-start { @started[copyinstr(arg1)] = count(); }
client*:::request-done /arg2 > 0/ { @[copyinstr(arg0), arg1, copyinstr(arg3), copyinstr(arg4)] = count(); }
END { printa("start %s %@d\\n", @started); printa("%s %d %s [%s] %@d\\n", @); }"""
FAULTS = """
import runpy, sys
from pyusdt import instrument
from pyusdt.instrument import probes as names


class Hostile(Exception):
    def __str__(self):
        raise RuntimeError


class Failing:
    def __call__(self, *arguments):
        raise Hostile


names.provider_probes = lambda provider: (Failing(),) * len(names.FRAMEWORK_PROBES[provider])
instrument.enable()
try:
    runpy.run_path(sys.argv[1], run_name="__main__")
finally:
    sys.stderr.write("trouble: " + instrument.trouble())
"""


def fails_and_goes_on(name: str, *arguments: object) -> None:
    """A program whose hooks all raise does not notice."""
    code = FAULTS.replace("sys.argv[1]", repr(os.path.join(harness.PROGRAMS, name)))
    code = code.replace(
        "import runpy, sys", f"import runpy, sys; sys.argv = {['program', *map(str, arguments)]}"
    )
    run = harness.run(
        [sys.executable, "-c", code],
        timeout=120,
        env={**os.environ, "PYTHONPATH": harness.PROGRAMS},
    )
    assert run.status == 0 and "last with Hostile" in run.stderr.partition("trouble: ")[2], run
