"""What the real dtrace prints for a script of the formatter's cases."""

import os
import re
import subprocess

from tests.support.paths import ORACLE


def mask_cpu(text):
    return re.sub(rb"(?m)^ +\d+( +1 +:BEGIN )", rb"  0\1", text)


def ask_oracle(path, options):
    """Standard output of the real dtrace for a script."""
    done = subprocess.run([ORACLE, "dtrace", *options, "-s", path], capture_output=True, timeout=120, check=False,
                          env={**os.environ, "TZ": "UTC"})  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{path}: {done.stderr.decode()}")
    return mask_cpu(done.stdout)
