"""Processes of a control group, by its path, its last name (a systemd unit), or a container's id.

- Only /proc is read: /proc/self/mountinfo names the hierarchy of a folder below /sys/fs/cgroup, /proc/PID/cgroup the groups of a process.
- The names of control groups are untrusted: a user who owns one may name those below it.
"""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_UNIFIED = ""  # the controllers of cgroups' second version
_UNIFIED_MOUNTS = (
    "/sys/fs/cgroup",
    "/sys/fs/cgroup/unified",
)  # the second one beside the first version
_IS_ID = re.compile("[0-9a-f]{12,64}")
_IDS = re.compile(r"(?:^|[-:])([0-9a-f]{64})(?:\.scope)?$")  # in a group's name: docker-ID.scope


class CgroupNotFound(Exception):
    """No process is in such a group, or the name means several; the message is not escaped.  hint: what to do."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def list_cgroup_pids(name: str) -> list[int]:
    """The processes in a group and in those below it, but this one.  Raises CgroupNotFound."""
    if name.startswith("/"):
        controllers, path = _find_hierarchy(os.path.normpath(f"/{name.strip('/')}"))
        if path == "/":
            raise CgroupNotFound(f"{name} holds every process", "name a group below it")
        found = [
            pid
            for pid, groups in _list_processes()
            if any(
                controllers in (None, each) and f"{group}/".startswith(f"{path}/")
                for each, group in groups
            )
        ]
    elif _IS_ID.fullmatch(name):
        found = _list_container_pids(name)
    else:
        found = [
            pid
            for pid, groups in _list_processes()
            if any(name in group.split("/") for _, group in groups)
        ]
    if not found:
        raise CgroupNotFound(
            f"no process that this user can see is in a control group {name}",
            "/proc/PID/cgroup has the groups of a process; a container's id: docker inspect -f '{{.Id}}' NAME",
        )
    return found


def has_frozen_cgroup(pid: int) -> bool:
    """Whether a group of a process is frozen, in either version of cgroups; False if that may not be known."""
    try:
        groups = _read_groups(str(pid))
    except OSError:
        return False
    for controllers, path in groups:
        if controllers == _UNIFIED:
            events = (_read_lines(f"{mount}{path}/cgroup.events") for mount in _UNIFIED_MOUNTS)
            if any("frozen 1" in each for each in events):
                return True
        elif "freezer" in controllers.split(","):
            state = _read_lines(f"/sys/fs/cgroup/freezer{path}/freezer.state")
            if state in (["FROZEN"], ["FREEZING"]):
                return True
    return False


def list_cpu_statistics(pid: int) -> list[str]:
    """The files that say how long a process's group, and those above it, had to wait as their quota was used up."""
    try:
        groups = _read_groups(str(pid))
    except OSError:
        return []
    found = []
    for controllers, path in groups:
        if controllers == _UNIFIED or "cpu" in controllers.split(","):
            top = "/sys/fs/cgroup" if controllers == _UNIFIED else "/sys/fs/cgroup/cpu"
            while path.strip("/"):
                found.append(f"{top}{path}/cpu.stat")
                path = os.path.dirname(path)
    return [path for path in found if os.path.exists(path)]


def read_throttled_time(path: str) -> int:
    """ns, of one of these files."""
    for line in _read_lines(path):
        name, _, value = line.partition(" ")
        if name in ("throttled_time", "throttled_usec") and value.isdecimal():
            return int(value) * (1 if name == "throttled_time" else 1000)
    return 0


def _read_lines(path: str) -> list[str]:
    try:
        with open(path, errors="surrogateescape", newline="\n") as file:
            return _split_lines(file.read())
    except OSError:
        return []


def _split_lines(text: str) -> list[str]:
    """By the only end of a line that the kernel allows in no name: str.splitlines() knows others, by which the name of a group could
    claim to be another one's."""
    return text.removesuffix("\n").split("\n") if text else []


def _read_groups(process: str) -> list[tuple[str, str]]:
    """[(controllers, path)] of a process.  Raises OSError."""
    with open(f"/proc/{process}/cgroup", errors="surrogateescape", newline="\n") as file:
        lines = _split_lines(file.read())
    return [(each[1], each[2]) for line in lines if len(each := line.split(":", 2)) == 3]


def _list_container_pids(start: str) -> list[int]:
    """start: the first digits of its id, as `docker ps` shows them."""
    found, ids = [], set()
    for pid, groups in _list_processes():
        parts = {part for _, group in groups for part in group.split("/")}
        matching = {
            match[1]
            for part in parts
            if (match := _IDS.search(part)) and match[1].startswith(start)
        }
        if matching:
            ids |= matching
            found.append(pid)
    if len(ids) > 1:
        raise CgroupNotFound(f"{start} begins the ids of {len(ids)} containers", "give more of it")
    return found


def _list_processes() -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """(id, [(controllers, path)]) of each process but this one."""
    for entry in os.listdir("/proc"):
        if not (entry.isascii() and entry.isdecimal()) or int(entry) == os.getpid():
            continue
        try:
            groups = _read_groups(entry)
        except OSError:
            continue
        yield int(entry), groups


def _find_hierarchy(name: str) -> tuple[str | None, str]:
    """(controllers, None: any; path in the hierarchy) of a folder below a mount of cgroups; else of a path as /proc/PID/cgroup has it."""
    above = [each for each in _read_mounts() if f"{name}/".startswith(f"{each[0]}/")]
    if not above:
        return None, name
    point, root, controllers = max(above, key=lambda each: len(each[0]))
    return controllers, os.path.normpath(
        f"/{root.strip('/')}/{name[len(point) :].strip('/')}"
    ).replace("//", "/")


def _read_mounts() -> list[tuple[str, str, str]]:
    """(mount point, group at it, controllers) of each hierarchy."""
    lines = _read_lines("/proc/self/mountinfo")
    found = []
    for line in lines:
        fields, _, more = line.partition(" - ")
        root, point = fields.split()[3:5]
        kind, _, options = more.split(None, 2)
        if kind in ("cgroup", "cgroup2"):
            found.append((point, root, _UNIFIED if kind == "cgroup2" else _controllers(options)))
    return found


def _controllers(options: str) -> str:
    """As /proc/PID/cgroup writes them: those of the mount's options that name some."""
    with open("/proc/self/cgroup") as file:
        known = [line.split(":")[1] for line in file]
    given = set(options.split(","))
    return next((each for each in known if each and set(each.split(",")) <= given), "?")
