"""Open files that an untrusted user may have put where they are, or may change while they are read.

The result is a descriptor of a regular file, for read(). Never map it: truncating a mapped file
kills the reader.

- What is no regular file is not opened, since opening a device or a pipe can have an effect.
- Nothing is waited for (the other end of a pipe, the holder of a lease), and no terminal becomes
  the controlling one.
"""

from __future__ import annotations

import errno
import os
import stat

_SAFE_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def open_regular(path: str, flags: int = 0, mode: int = 0) -> int:
    """OSError where it can not be opened, or is no regular file.  flags: os.O_NOFOLLOW: nor a symbolic link; mode: bits of its mode
    that it must have."""
    if not hasattr(os, "O_PATH") or not os.path.isdir("/proc/self/fd"):
        return _check_regular(os.open(path, _SAFE_FLAGS | flags), path, mode)
    place = _check_regular(os.open(path, os.O_PATH | os.O_CLOEXEC | flags), path, mode)
    try:
        return os.open(f"/proc/self/fd/{place}", _SAFE_FLAGS)
    finally:
        os.close(place)


def _check_regular(fd: int, path: str, mode: int) -> int:
    found = os.fstat(fd).st_mode
    if stat.S_ISREG(found) and found & mode == mode:
        return fd
    os.close(fd)
    if stat.S_ISREG(found):
        raise OSError(errno.EACCES, "not readable by everyone", path)
    raise OSError(errno.EINVAL, "not a regular file", path)
