"""Empty folders in the place of /tmp and /dev/shm, for tests in a mount namespace of their own.

Input: folders.
Output: shell commands.

- This checkout stays where it is, though it may lie below one of them.
"""

from __future__ import annotations

import shlex

from tests.support.paths import ROOT

_ASIDE = "/mnt"


def empty(*folders: str, root: str = ROOT) -> str:
    """Commands that mount a tmpfs over each folder, joined by &&; root: what stays."""
    commands = []
    for folder in folders:
        inside = root.startswith(f"{folder}/")
        place = shlex.quote(root)
        commands += [f"mount --bind {place} {_ASIDE}"] * inside
        commands.append(f"mount -t tmpfs tmpfs {folder} && chmod 1777 {folder}")
        commands += [f"mkdir -p {place} && mount --move {_ASIDE} {place}"] * inside
    return " && ".join(commands)
