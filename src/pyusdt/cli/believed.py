"""Which files a command that runs unattended believes."""

from __future__ import annotations

import os
import stat


def is_ours(found: os.stat_result) -> bool:
    """Only root and the user of this command can have written it."""
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
