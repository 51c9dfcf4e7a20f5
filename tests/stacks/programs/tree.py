"""Has a child that is no Python, a child that is one, and a grandchild; says their ids.  All end with standard input."""

import os
import subprocess
import sys


def job():
    sys.stdin.read()


other = subprocess.Popen(["cat"])
reading, writing = os.pipe()
if (middle := os.fork()) == 0:
    if os.fork() == 0:
        os.write(writing, b"%d\n" % os.getpid())
    job()
    os._exit(0)
leaf = int(os.read(reading, 20))
print(other.pid, middle, leaf, flush=True)
job()
