"""Children and grandchildren by os.fork(), which gives no warning of threads."""

import os

from counting import step


def forked(depth):
    """How many steps a child and its children have made: its exit status."""
    pid = os.fork()
    if not pid:
        step()
        os._exit(1 + (forked(depth - 1) if depth else 0))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


steps = sum(forked(2) for _ in range(20))
step()
print("steps", steps + 1)
