"""Packages that some tests read our files with, beside .venv: so that no other test meets them.

Input: a file of requirements.
Output: a folder for PYTHONPATH.

- Made once for each content of that file; several test processes wait for the one that makes it.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys


def folder_of(requirements: str, depends: bool = False) -> str:
    """Where these packages are; depends: with what they depend on."""
    with open(requirements, "rb") as file:
        number = hashlib.sha256(file.read()).hexdigest()[:12]
    name = os.path.basename(requirements).removesuffix(".txt").replace("_", "-")
    folder = os.path.join(sys.prefix, name, number)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(folder + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(folder):
            made = folder + ".new"
            shutil.rmtree(made, ignore_errors=True)
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    *["--no-deps"] * (not depends),
                    "--only-binary",
                    ":all:",
                    "--target",
                    made,
                    "-r",
                    requirements,
                ],
                check=True,
                timeout=300,
            )
            os.rename(made, folder)
    return folder
