"""Whether a path from an untrusted process can be read in time: its file system may not answer.

- Where only file systems are mounted that need nobody to answer, nothing is asked. Elsewhere root
  asks a process, which is left alone if it does not answer: a look that hangs cannot be ended,
  and would keep root's tracer from ending.
- Other users do not ask: they read their own files.
- A file server that answers this process and then not the tracer is not met.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess

LOOK_TIMEOUT = 2.0  # seconds that a look may take
_MAX_HUNG = 8  # helpers that may hang; after that no path is looked at where a look could hang
_MOUNTS_INTERVAL = 1.0  # seconds until mounts are read again
_MAX_VIEWS = 1000  # that are remembered
_LOCAL_FILE_SYSTEMS = frozenset(
    (  # file systems of this machine alone
        "bcachefs",
        "binfmt_misc",
        "bpf",
        "btrfs",
        "cgroup",
        "cgroup2",
        "configfs",
        "cramfs",
        "debugfs",
        "devpts",
        "devtmpfs",
        "efivarfs",
        "erofs",
        "exfat",
        "ext2",
        "ext3",
        "ext4",
        "f2fs",
        "hugetlbfs",
        "iso9660",
        "jfs",
        "mqueue",
        "ntfs3",
        "nsfs",
        "overlay",
        "proc",
        "pstore",
        "ramfs",
        "reiserfs",
        "romfs",
        "rootfs",
        "securityfs",
        "selinuxfs",
        "squashfs",
        "sysfs",
        "tmpfs",
        "tracefs",
        "ubifs",
        "udf",
        "vfat",
        "xfs",
        "zfs",
    )
)
_PROGRAM = """
import os, stat
def look(path):
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)  # as untrusted/safe_open.py: what is opened is what was looked at, whatever has its name then
    try:
        found = os.fstat(place)
        if stat.S_ISREG(found.st_mode) and found.st_mode & stat.S_IROTH:  # root opens only files that every user can read
            fd = os.open("/proc/self/fd/%d" % place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
            os.pread(fd, 4096, 0)
            os.close(fd)
    finally:
        os.close(place)
data = b""
while part := os.read(0, 65536):
    data += part
    while b"\\0" in data:
        path, data = data.split(b"\\0", 1)
        try:
            look(path)
        except OSError:
            pass
        os.write(1, b".")
"""


class ResponsiveFs:
    """Called with a path and a process id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._helper: subprocess.Popen[bytes] | None = None
        self._hung: list[str] = []  # paths
        self._reported = 0
        self._mounts: dict[
            tuple[str, str], tuple[float, bool]
        ] = {}  # by view: when they were read, whether all answer

    def __call__(self, path: str, pid: int) -> bool:
        if os.geteuid() != 0 or (self._all_responsive("self") and self._all_responsive(str(pid))):
            return True
        if _mount_view("self") == _mount_view(str(pid)):
            path = path.removeprefix(f"/proc/{pid}/root")
        with self._lock:
            return (
                len(self._hung) < _MAX_HUNG
                and not self._is_below_hung(path)
                and self._ask_helper(path)
            )

    def drain_messages(self) -> list[str]:
        """The messages since the last call."""
        found = self._hung[self._reported :]
        self._reported += len(found)
        said = [
            f"{path}: its file system does not answer: nothing is looked up there" for path in found
        ]
        return (
            [*said, f"{_MAX_HUNG} file systems did not answer: no other is asked"]
            if found and len(self._hung) == _MAX_HUNG
            else said
        )

    def _all_responsive(self, pid: str) -> bool:
        view = _mount_view(pid)
        if view is None:
            return pid != "self"  # it has ended: nothing leads through it
        when, found = self._mounts.get(view, (0.0, False))
        if time.monotonic() - when > _MOUNTS_INTERVAL:
            found = all(each in _LOCAL_FILE_SYSTEMS for each in _mounted_types(pid))
            self._mounts = {
                **(self._mounts if len(self._mounts) < _MAX_VIEWS else {}),
                view: (time.monotonic(), found),
            }
        return found

    def _is_below_hung(self, path: str) -> bool:
        """In a folder in which a look has hung."""
        return any(path.startswith(os.path.dirname(each) + "/") for each in self._hung)

    def _ask_helper(self, path: str) -> bool:
        """Where there can be no helper the tracer looks itself, as it does where all answer."""
        try:
            helper = self._helper = self._helper or _start_helper()
            assert helper.stdin and helper.stdout
            helper.stdin.write(os.fsencode(path) + b"\0")
            if not select.select([helper.stdout], [], [], LOOK_TIMEOUT)[0]:
                self._abandon_helper(helper)
                self._hung.append(path)
                return False
            if helper.stdout.read(1):
                return True
        except OSError:
            pass
        if self._helper:  # it has ended
            self._abandon_helper(self._helper)
        return True

    def _abandon_helper(self, helper: subprocess.Popen[bytes]) -> None:
        """It may never end."""
        self._helper = None
        with contextlib.suppress(OSError):
            helper.kill()
        for file in (helper.stdin, helper.stdout):
            if file:
                file.close()
        helper.returncode = helper.poll() or -9  # nobody waits for it


def _start_helper() -> subprocess.Popen[bytes]:
    import subprocess

    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    )


def _mount_view(pid: str) -> tuple[str, str] | None:
    """A process's mount namespace and its root in it: by what it sees files."""
    try:
        return os.readlink(f"/proc/{pid}/ns/mnt"), os.readlink(f"/proc/{pid}/root")
    except OSError:
        return None


def _mounted_types(pid: str) -> list[str]:
    """The kinds of the file systems that a process sees; "" for one that it does not: that of a root that is no mount (chroot), or all."""
    try:
        with open(f"/proc/{pid}/mountinfo", "rb") as file:
            lines = [line.split(b" ") for line in file]
    except OSError:
        return [""]
    kinds = [line[line.index(b"-") + 1].decode("ascii", "replace") for line in lines]
    return kinds if any(line[4] == b"/" for line in lines) else [*kinds, ""]


RESPONSIVE_FS = ResponsiveFs()
