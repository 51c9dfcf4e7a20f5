"""The request that the coordinator sends to each host: hosts, the way to them, script, options.

- Only the options in FORWARDED leave the coordinator.
- A bad list of hosts, or a --via without {host}, raises BadHostList.
"""

from __future__ import annotations

import shlex

from . import hostlist, placement
from .connection import HostConnection, ProcessConnection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from pydtrace.program.program import Program

VIA = "ssh -T {host}"
_COMMAND = ("pydtrace", "--serve")
# What decides how a script is compiled, or how a host traces; the rest is for who shows it.
FORWARDED = (
    "aggsize",
    "bufsize",
    "dynvarsize",
    "specsize",
    "strsize",
    "valuerate",
    "secrets",
    "nspec",
    "stackframes",
    "ustackframes",
    "jstackframes",
    "maxframes",
    "printsize",
    "pyusdt",
    "engine",
    "orderlag",
    "workers",
    "profilewall",
    "children",
    "pychildren",
    "argref",
    "defaultargs",
    "encoding",
    "knodefs",
    "unodefs",
    "nolibs",
    "empty",
    "destructive",
    "nop5",
    "attach",
    "cpu",
    "version",
    "scratchsize",
    "jstackstrsize",
    "hostmode",
)
LOCAL_OPTIONS = (
    "replay",
    "record",
    "keep",
    "wait",
    "cpp",
    "cppargs",
    "libdir",
    "file",
)  # options: the files are not on the hosts
_MAX_LEVELS = 3  # of relays
_SHORT_INTERVAL, _LONG_INTERVAL = (
    0.2,
    1.0,
)  # s of an epoch, where records wait for each other, and where they do not


class Request:
    """names: of those that there is a line to; via: the words that start something on one, {host} in them; script: what each is sent;
    behind: {name of a relay: the hosts behind it, or again such a dict}; forward: of who relays for another coordinator, the function that
    takes records (relay_engine.py)."""

    forward: Callable[[bytes, int, int], None] | None = None

    def __init__(
        self,
        names: Sequence[str],
        via: Sequence[str],
        script: Mapping[str, Any],
        relayed_hosts: Mapping[str, Any] | None = None,
    ) -> None:
        self.names, self.via, self.script, self.relayed_hosts = (
            names,
            via,
            script,
            relayed_hosts or {},
        )

    def connect(self, name: str) -> HostConnection:
        """A new line to one.  OSError."""
        return ProcessConnection([word.replace("{host}", name) for word in self.via])

    def new_names(self) -> list[str]:
        """Names that were not there before: hosts that join."""
        return []

    def script_for(self, name: str, patience: int, retry: int) -> dict[str, Any]:
        """A relay is less patient than who waits for it.  Both in ns."""
        found = {**self.script, "host": name}
        if name in self.relayed_hosts:
            found.update(
                hosts=self.relayed_hosts[name], via=[*self.via], wait=2 * patience // 3, retry=retry
            )
        return found

    def __repr__(self) -> str:
        through = (
            f" through {len(self.relayed_hosts)} relay{'s' * (len(self.relayed_hosts) != 1)}"
            if self.relayed_hosts
            else ""
        )
        return f"{len(list_leaves(self.relayed_hosts)) or len(self.names)} hosts{through}"


def build_version() -> str:
    """Which build of pyusdt it is, since both sides compile the script."""
    from pydtrace._tracer import BUILD

    return str(BUILD)


def list_leaves(tree: Any) -> list[str]:
    """The hosts of {relay: the hosts behind it, or again such a dict}, or of a list of them."""
    return (
        [name for each in tree.values() for name in list_leaves(each)]
        if isinstance(tree, dict)
        else tree
    )


def _check_tree(tree: Any, levels: int) -> Any:
    """Such a tree, untrusted; BadHostList."""
    if tree and isinstance(tree, list):
        return [hostlist.check_host_name(name) for name in tree]
    if tree and isinstance(tree, dict) and levels:
        return {
            hostlist.check_host_name(name): _check_tree(below, levels - 1)
            for name, below in tree.items()
        }
    raise hostlist.BadHostList("no hosts, or too many levels of relays")


def _make_tree(tiers: Sequence[list[str]], names: list[str]) -> Any:
    """Each relay has its share of the hosts, and of the relays of the next tiers."""
    tiers = [tier for tier in tiers if tier]
    if not tiers:
        return names
    first = tiers[0][: len(names)]
    n = len(first)
    return {
        name: _make_tree([tier[i::n] for tier in tiers[1:]], names[i::n])
        for i, name in enumerate(first)
    }


def relay_request(asked: Mapping[str, Any], forward: Callable[[bytes, int, int], None]) -> Request:
    """Of what script_for() gave, perhaps untrusted, what the relay asks its own hosts.  BadHostList, KeyError, TypeError."""
    behind, via = _check_tree(asked["hosts"], _MAX_LEVELS), [*map(str, asked["via"])]
    if len(list_leaves(behind)) > hostlist.MAX_HOSTS or not via:
        raise hostlist.BadHostList("too many hosts, or no way to them")
    script = {
        key: asked[key]
        for key in (
            "schema",
            "release",
            "interval",
            "operands",
            "pids",
            "command",
            "width",
            "options",
            "requests",
        )
    }
    found = Request([*behind], via, script, behind if isinstance(behind, dict) else None)
    found.forward = forward
    return found


def name_width(hosts: str) -> int:
    """BadHostList."""
    return max(map(len, hostlist.parse_hosts(hosts)))


def parse_via(via: str | None) -> list[str]:
    """The words of --via; BadHostList."""
    try:
        words = shlex.split(via or VIA)
    except ValueError as error:
        raise hostlist.BadHostList(f"--via: {error}") from None
    if not any("{host}" in word for word in words):
        raise hostlist.BadHostList(
            "--via needs {host} where the name of a host is to stand: --via 'ssh -T {host}'"
        )
    return words if any(word.startswith("--serve") for word in words) else [*words, *_COMMAND]


def make_request(
    hosts: str,
    via: str | None,
    program: Program,
    options: Mapping[str, Any],
    texts: Iterable[dict[str, Any]],
    operands: Sequence[str],
    pids: Sequence[int],
    command: str | None,
    relay: str | None = None,
    width: int = 0,
) -> Request:
    """texts: [{"text": D, "level": of its probe descriptions}]; relay: a list as hosts, or several, with spaces between them: those that
    are reached from here, those that these reach …; width: of names, where others may join.  BadHostList."""
    sends = options.get("hostmode") == "central"
    if sends and (relay is not None or options.get("engine", "embedded") != "embedded"):
        raise hostlist.BadHostList(
            "-x hostmode=central needs -x engine=embedded, and does not work with --relay"
        )
    records = sends or any(
        clause.record_size and placement.HOSTS in placement.clause_placement(clause.probes)
        for clause in program.clauses
    )
    script = {
        "schema": 2,
        "release": build_version(),
        "interval": _SHORT_INTERVAL if records else _LONG_INTERVAL,
        "operands": [*operands],
        "pids": [*pids],
        "command": command,
        "width": width or name_width(hosts),
        "options": {name: options[name] for name in FORWARDED if name in options},
        "requests": [*texts],
    }
    names, words = hostlist.parse_hosts(hosts), parse_via(via)
    if relay is None:
        return Request(names, words, script)
    tiers = [hostlist.parse_hosts(tier) for tier in relay.split() or [""]]
    if len(tiers) > _MAX_LEVELS:
        raise hostlist.BadHostList(f"at most {_MAX_LEVELS} lists of relays, one behind the other")
    behind = _make_tree(tiers, names)
    return Request([*behind], words, script, behind)
