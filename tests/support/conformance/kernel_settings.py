"""Settings of the kernel that tests of the suite change, given back whatever happens to the tests or to their runner.

A test that is killed for taking too long can not undo what it did, and neither can a runner that is killed.  So another
process waits for the end of the runner: a pipe that only the runner holds, which the kernel closes with it.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

CHANGED = ("perf_event_max_stack", "core_pattern", "core_uses_pid")  # in FOLDER
FOLDER = "/proc/sys/kernel"
_KEEPER = """import sys, time
values = sys.argv[2:]
sys.stdin.read()
for name, value in zip(values[::2], values[1::2]):
    for _ in range(50):  # while a perf event is open, the kernel changes nothing
        try:
            with open(f"{sys.argv[1]}/{name}") as file:
                if file.read().rstrip("\\n") == value:
                    break
            with open(f"{sys.argv[1]}/{name}", "w") as file:
                file.write(value)
        except OSError:
            time.sleep(0.1)
"""


@contextlib.contextmanager
def kept(folder: str = FOLDER) -> Iterator[None]:
    values = []
    for name in CHANGED:
        with contextlib.suppress(OSError), open(f"{folder}/{name}") as file:
            values += [name, file.read().rstrip("\n")]
    keeper = subprocess.Popen(
        [sys.executable, "-c", _KEEPER, folder, *values],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield
    finally:
        assert keeper.stdin
        keeper.stdin.close()
        keeper.wait(timeout=20)
