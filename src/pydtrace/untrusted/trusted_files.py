"""Which files and folders a command that runs unattended believes."""

from __future__ import annotations

import os
import stat

_MOST_LINKS = 40


def is_owned_by_root_or_me(found: os.stat_result) -> bool:
    """Only root and the user of this command can have written it."""
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def changeable_by_others(path: str) -> str | None:
    """The first folder or link on the way to a path through which others than root and this user could lead it elsewhere; None: there
    is none.  In a sticky folder (/tmp) others can change nothing that is not theirs.  Raises OSError."""
    names, at = (
        [name for name in os.path.join(os.getcwd(), path).split("/") if name not in ("", ".")],
        "/",
    )
    links = 0
    while True:
        found = os.lstat(at)
        is_link = stat.S_ISLNK(found.st_mode)
        if not (
            is_owned_by_root_or_me(found)
            or (
                found.st_uid in (0, os.geteuid())
                and (is_link or (names and found.st_mode & stat.S_ISVTX))
            )
        ):
            return at
        if is_link:
            links += 1
            if links > _MOST_LINKS:
                return at
            target = os.readlink(at)
            names = [name for name in target.split("/") if name not in ("", ".")] + names
            at = "/" if target.startswith("/") else os.path.dirname(at)
        elif not names:
            return None
        else:
            name = names.pop(0)
            at = os.path.dirname(at) if name == ".." else os.path.join(at, name)
