"""Lists of hosts: web[1-3,7],db[01-10] -> web1, web2, web3, web7, db01 …

- Each name comes once, in the order of the text.
- If ClusterShell is installed, its NodeSet reads the text, so that groups (@web) work.
- A name has only characters that names of hosts, containers and pods have: a template may pass it
  to a shell.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_HOSTS = 10_000
MAX_NAME = 254  # characters of a name
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@/-]{0,253}\Z")
_FOLDED = re.compile(r"([^\[\],]*)\[([^\[\]]*)\](.*)\Z")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?\Z")
_NUMBERED = re.compile(r"(.*?)(\d{0,9})(\D*)\Z", re.ASCII)
_COMMA = re.compile(r",(?![^\[]*\])")  # that is not within brackets


class BadHostList(ValueError):
    """The message is one line for the user."""


def parse_hosts(text: str) -> list[str]:
    """The names; BadHostList."""
    found = dict.fromkeys(_read_names(text))
    if not found:
        raise BadHostList("no host is named")
    return list(map(check_host_name, found))


def fold_names(names: Iterable[str]) -> str:
    """The other way round, for people: web1, web2, web3, db -> web[1-3],db."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in names:
        before, number, rest = _NUMBERED.match(name).groups()  # type: ignore[union-attr]  # it matches all
        found.setdefault((before, rest), []).append(number)
    return ",".join(
        f"{before}[{_fold_numbers(numbers)}]{rest}"
        if len(numbers) > 1
        else f"{before}{numbers[0]}{rest}"
        for (before, rest), numbers in found.items()
    )


def _fold_numbers(numbers: list[str]) -> str:
    runs: list[list[str]] = []
    for number in sorted(numbers, key=lambda text: (len(text), text)):
        if runs and number == f"{int(runs[-1][-1]) + 1:0{len(runs[-1][-1])}}":
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def is_host_name(name: str) -> bool:
    return bool(_NAME.match(name))


def check_host_name(name: str) -> str:
    """A name; BadHostList."""
    if not is_host_name(name):
        raise BadHostList(f"{name!r} is not a host name")
    return name


def _read_names(text: str) -> list[str]:
    found: list[str] = []
    for name in _expand_by_clustershell(text) or (
        each for part in _COMMA.split(text) if part for each in _expand_part(part)
    ):
        found.append(name)
        if len(found) > MAX_HOSTS:
            raise BadHostList(f"more than {MAX_HOSTS} hosts")
    return found


def _expand_by_clustershell(text: str) -> list[str] | None:
    """What ClusterShell reads; None where it is not installed."""
    try:
        from ClusterShell.NodeSet import NodeSet
    except ImportError:
        if "@" in text.partition("[")[0][:1]:
            raise BadHostList(
                f"{text}: groups need ClusterShell (pip install ClusterShell)"
            ) from None
        return None
    try:
        return list(NodeSet(text))
    except Exception as error:  # noqa: BLE001  (its exceptions have no class in common: of lists, of groups, of their files)
        raise BadHostList(
            f"{text}: ClusterShell cannot read it: {str(error) or type(error).__name__}"
        ) from None


def _expand_part(part: str) -> Iterator[str]:
    """The names of one part without commas between names."""
    match = _FOLDED.match(part)
    if not match:
        yield part
        return
    before, ranges, rest = match.groups()
    for each in ranges.split(","):
        for number in _expand_range(each, part):
            for end in _expand_part(rest):
                yield before + number + end


def _expand_range(text: str, part: str) -> Iterator[str]:
    """A number, or those of a range, as wide as its first one is written."""
    match = _RANGE.match(text)
    first, last = (match[1], match[2] or match[1]) if match else ("", "")
    if not match or int(last) < int(first):
        raise BadHostList(f"{part}: {text!r} is no range of numbers: 1-40, or 01-40")
    for number in range(int(first), int(last) + 1):
        yield f"{number:0{len(first) if first[0] == '0' else 0}}"
