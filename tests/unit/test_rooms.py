"""Who may import whom: arrows between folders go down only (docs/internals/DESIGN.md, the tree).

Every import counts, those inside functions and under TYPE_CHECKING, too.  A room that is not in its table fails, and so does a row
that says more than the sources need.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.own_processes

TOP = Path(__file__).resolve().parents[2]
SOURCES = TOP / "src"

# A room is a folder of src/pyusdt or src/pydtrace, or a module in them.  It may import itself and the rooms named here, which all
# are above it in the table.  pyusdt, which traced programs import, imports nothing of pydtrace; it hands names on by getattr().
PYTHON = {
    "pydtrace.__init__": (),
    "pydtrace._tracer": (),
    "pydtrace.bpf": (),
    "pydtrace.debug_log": (),
    "pydtrace.erlang_node": (),
    "pydtrace.installed_scripts": (),
    "pydtrace.options": (),
    "pydtrace.program": (),
    "pydtrace.suggestions": (),
    "pydtrace.terminal_colour": (),
    "pydtrace.unpatched_threads": (),
    "pydtrace.watch_script": (),
    "pyusdt._core": (),
    "pyusdt.dask": (),
    "pyusdt.framework_probes": (),
    "pyusdt.import_callbacks": (),
    "pyusdt.provider_file": ("pyusdt.providers",),
    "pyusdt.ray": (),
    "pydtrace.aggregation": ("pydtrace.program",),
    "pydtrace.process": ("pydtrace._tracer",),
    "pydtrace.untrusted": ("pydtrace.unpatched_threads",),
    "pyusdt._probe_wrap": ("pyusdt._core",),
    "pyusdt._tag_decorator": ("pyusdt._core",),
    "pyusdt._tag_propagation": ("pyusdt._core",),
    "pyusdt.providers": ("pyusdt._core", "pyusdt.provider_file"),
    "pyusdt.warn_without_raising": (),
    "pyusdt.vm": ("pyusdt._core", "pyusdt.import_callbacks", "pyusdt.warn_without_raising"),
    "pydtrace.dtrace_text": ("pydtrace.aggregation", "pydtrace.program", "pydtrace.untrusted"),
    "pydtrace.symbols": ("pydtrace.process", "pydtrace.program", "pydtrace.untrusted"),
    "pyusdt.__main__": ("pyusdt.vm",),
    "pyusdt.tags": ("pyusdt._core", "pyusdt._tag_decorator", "pyusdt._tag_propagation"),
    "pydtrace.results": (
        "pydtrace.aggregation",
        "pydtrace.dtrace_text",
        "pydtrace.program",
        "pydtrace.symbols",
        "pydtrace.untrusted",
    ),
    "pydtrace.unwind": (
        "pydtrace._tracer",
        "pydtrace.process",
        "pydtrace.program",
        "pydtrace.symbols",
        "pydtrace.untrusted",
    ),
    "pyusdt.instrument": (
        "pyusdt._core",
        "pyusdt._tag_decorator",
        "pyusdt.framework_probes",
        "pyusdt.import_callbacks",
        "pyusdt.providers",
    ),
    "pydtrace.dlang": (
        "pydtrace.aggregation",
        "pydtrace.bpf",
        "pydtrace.debug_log",
        "pydtrace.dtrace_text",
        "pydtrace.options",
        "pydtrace.program",
        "pydtrace.results",
        "pydtrace.suggestions",
        "pydtrace.untrusted",
        "pyusdt.framework_probes",
    ),
    "pydtrace.remote_python": (
        "pydtrace._tracer",
        "pydtrace.process",
        "pydtrace.program",
        "pydtrace.symbols",
        "pydtrace.untrusted",
        "pydtrace.unwind",
    ),
    "pydtrace.attach": (
        "pydtrace._tracer",
        "pydtrace.erlang_node",
        "pydtrace.process",
        "pydtrace.remote_python",
        "pydtrace.suggestions",
        "pydtrace.symbols",
        "pydtrace.untrusted",
    ),
    "pyusdt.__init__": (
        "pyusdt._core",
        "pyusdt.instrument",
        "pyusdt.vm",
        "pyusdt.warn_without_raising",
    ),
    "pydtrace.profile": (
        "pydtrace._tracer",
        "pydtrace.process",
        "pydtrace.remote_python",
        "pydtrace.untrusted",
        "pydtrace.unwind",
    ),
    "pydtrace.differences": ("pydtrace.profile", "pydtrace.untrusted"),
    "pydtrace.why": ("pydtrace.process", "pydtrace.profile", "pydtrace.untrusted"),
    "pydtrace.engine": (
        "pydtrace._tracer",
        "pydtrace.aggregation",
        "pydtrace.bpf",
        "pydtrace.erlang_node",
        "pydtrace.installed_scripts",
        "pydtrace.process",
        "pydtrace.profile",
        "pydtrace.program",
        "pydtrace.remote_python",
        "pydtrace.results",
        "pydtrace.suggestions",
        "pydtrace.symbols",
        "pydtrace.untrusted",
        "pydtrace.unwind",
        "pyusdt._core",
        "pyusdt.framework_probes",
        "pyusdt.vm",
    ),
    "pydtrace.hosts": (
        "pydtrace._tracer",
        "pydtrace.aggregation",
        "pydtrace.dtrace_text",
        "pydtrace.engine",
        "pydtrace.process",
        "pydtrace.program",
        "pydtrace.results",
        "pydtrace.symbols",
        "pydtrace.untrusted",
    ),
    "pydtrace.select_engine": (
        "pydtrace._tracer",
        "pydtrace.attach",
        "pydtrace.engine",
        "pydtrace.hosts",
        "pydtrace.program",
    ),
    "pydtrace.driver": (
        "pydtrace._tracer",
        "pydtrace.aggregation",
        "pydtrace.dlang",
        "pydtrace.dtrace_text",
        "pydtrace.engine",
        "pydtrace.options",
        "pydtrace.process",
        "pydtrace.profile",
        "pydtrace.program",
        "pydtrace.remote_python",
        "pydtrace.results",
        "pydtrace.select_engine",
        "pydtrace.symbols",
        "pydtrace.untrusted",
        "pydtrace.unwind",
    ),
    "pydtrace.sinks": (
        "pydtrace._tracer",
        "pydtrace.aggregation",
        "pydtrace.driver",
        "pydtrace.dtrace_text",
        "pydtrace.engine",
        "pydtrace.erlang_node",
        "pydtrace.hosts",
        "pydtrace.process",
        "pydtrace.profile",
        "pydtrace.program",
        "pydtrace.remote_python",
        "pydtrace.results",
        "pydtrace.untrusted",
    ),
    "pydtrace.cli.parsing": (
        "pydtrace.dlang",
        "pydtrace.driver",
        "pydtrace.options",
        "pydtrace.process",
        "pydtrace.sinks",
        "pydtrace.suggestions",
        "pydtrace.terminal_colour",
    ),
    "pydtrace.consumer": (
        "pydtrace._tracer",
        "pydtrace.dlang",
        "pydtrace.driver",
        "pydtrace.engine",
        "pydtrace.hosts",
        "pydtrace.options",
        "pydtrace.process",
        "pydtrace.program",
        "pydtrace.results",
        "pydtrace.sinks",
        "pydtrace.unpatched_threads",
        "pydtrace.untrusted",
        "pydtrace.watch_script",
        "pyusdt._core",
        "pyusdt.vm",
    ),
    "pydtrace.erltrace_port": (
        "pydtrace._tracer",
        "pydtrace.dlang",
        "pydtrace.driver",
        "pydtrace.engine",
        "pydtrace.erlang_node",
        "pydtrace.hosts",
        "pydtrace.options",
        "pydtrace.process",
        "pydtrace.program",
        "pydtrace.sinks",
        "pyusdt._core",
    ),
    "pydtrace.hosts.agent": (
        "pydtrace.cli.parsing",
        "pydtrace.dlang",
        "pydtrace.driver",
        "pydtrace.engine",
        "pydtrace.hosts",
        "pydtrace.options",
        "pydtrace.process",
        "pydtrace.program",
        "pydtrace.sinks",
        "pydtrace.untrusted",
    ),
    "pydtrace.ask": (
        "pydtrace.dlang",
        "pydtrace.installed_scripts",
        "pydtrace.options",
        "pydtrace.untrusted",
        "pydtrace.watch_script",
    ),
    "pydtrace.cli": (
        "pydtrace._tracer",
        "pydtrace.ask",
        "pydtrace.attach",
        "pydtrace.cli.parsing",
        "pydtrace.consumer",
        "pydtrace.debug_log",
        "pydtrace.differences",
        "pydtrace.dlang",
        "pydtrace.driver",
        "pydtrace.engine",
        "pydtrace.erltrace_port",
        "pydtrace.hosts",
        "pydtrace.hosts.agent",
        "pydtrace.installed_scripts",
        "pydtrace.options",
        "pydtrace.process",
        "pydtrace.profile",
        "pydtrace.program",
        "pydtrace.remote_python",
        "pydtrace.select_engine",
        "pydtrace.sinks",
        "pydtrace.suggestions",
        "pydtrace.symbols",
        "pydtrace.terminal_colour",
        "pydtrace.untrusted",
        "pydtrace.unwind",
        "pydtrace.watch_script",
        "pyusdt._core",
        "pyusdt.provider_file",
        "pyusdt.providers",
        "pyusdt.vm",
        "pydtrace.why",
    ),
}
FOLDERS_WITHIN = {
    "pydtrace.cli.parsing",
    "pydtrace.hosts.agent",
}  # rooms that lie in the folder of another one
ONE_ABOUT_PROBES = ("pyusdt.providers", "pyusdt.provider_file")  # two modules of one room

# Folders of C, by what stands before the first / of an #include: include/ and the files beside the includer are everybody's.
C = {
    "shared": (),
    "target": ("generated", "shared"),
    "bpf": ("generated", "shared"),
    "format": ("generated", "shared"),
    "pystack": (),
    "attach": ("pystack",),
    "events": ("generated", "shared"),
    "discovery": ("shared",),
    "session": ("discovery", "events", "generated", "shared"),
    "recording": ("events", "session", "shared"),
    "consumer": ("bpf", "events", "format", "generated", "recording", "session", "shared"),
    "kernel": ("generated", "shared"),
    "_core_c": ("shared", "pystack", "target"),
    "nif": ("shared", "target"),
}
C_FOLDERS = {"_core_c": SOURCES / "pyusdt" / "_core_c", "nif": TOP / "erlang_nif" / "c_src"}
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_DEFINED = re.compile(
    r"^(#ifndef PYUSDT_\w+_H|(?:struct|union|enum) pyusdt_\w+(?= \{))", re.MULTILINE
)


def imported(path: Path, of_types: bool = True) -> set[tuple[str, ...]]:
    """What a module imports of pyusdt and pydtrace: the parts of the name of a module, or of something in it.  of_types: imports
    under TYPE_CHECKING, too."""
    package = list(path.relative_to(SOURCES).parts[:-1])
    found = set()
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree if of_types else _Run().visit(tree)):
        if isinstance(node, ast.Import):
            modules = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base += node.module.split(".") if node.module else []
            modules = [[*base, alias.name] for alias in node.names]
        else:
            continue
        found |= {tuple(module) for module in modules if module[0] in ("pyusdt", "pydtrace")}
    return found


class _Run(ast.NodeTransformer):
    """What is run: all but what stands under TYPE_CHECKING."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return node.orelse
        return self.generic_visit(node)


def room_of(parts: tuple[str, ...]) -> str:
    """The room of a module, or of something in it."""
    within = ".".join(parts[:3])
    return (
        within
        if within in FOLDERS_WITHIN
        else ".".join(parts[:2])
        if len(parts) > 1
        else f"{parts[0]}.__init__"
    )


def imports(path: Path) -> set[str]:
    """The rooms that a module imports anything of."""
    handed_on = (
        module_of(path)[0] == "pyusdt"
    )  # their types may be named: nothing is imported for that
    return {room_of(parts) for parts in imported(path, of_types=not handed_on)}


def sources() -> list[Path]:
    return sorted(
        path
        for package in ("pyusdt", "pydtrace")
        for path in (SOURCES / package).rglob("*.py")
        if "scripts" not in path.parts
    )


def python_arrows() -> dict[tuple[str, str], set[str]]:
    """{(room, room it imports): the modules that do}"""
    arrows: dict[tuple[str, str], set[str]] = {}
    for path in sources():
        room = room_of(module_of(path))
        for other in imports(path) - {room}:
            arrows.setdefault((room, other), set()).add(path.relative_to(SOURCES).as_posix())
    return arrows


def c_arrows() -> dict[tuple[str, str], set[str]]:
    """The same of C."""
    arrows: dict[tuple[str, str], set[str]] = {}
    for room in C:
        for path in sorted(C_FOLDERS.get(room, TOP / "c" / room).rglob("*.[ch]")):
            for name in _INCLUDE.findall(path.read_text(encoding="utf-8")):
                other, slash, _ = name.partition("/")
                if slash and other not in ("..", room):
                    arrows.setdefault((room, other), set()).add(path.name)
    return arrows


def compared(table: dict[str, tuple[str, ...]], arrows: dict[tuple[str, str], set[str]]) -> None:
    """Fails where the arrows are not those of the table."""
    allowed = {(room, other) for room, others in table.items() for other in others}
    wrong = {
        f"{where} ({room}) may not import {other}"
        for (room, other), places in arrows.items()
        if (room, other) not in allowed
        for where in places
    }
    assert not wrong, "\n".join(sorted(wrong))
    idle = allowed - set(arrows)
    assert not idle, f"the table allows what nothing needs: {idle}"


def test_the_rooms_of_python():
    rooms = {room_of(module_of(path)) for path in sources()}
    assert rooms - set(PYTHON) == set(), "a room that the table does not know"
    compared(PYTHON, python_arrows())


def test_the_arrows_of_python_go_down():
    order = list(PYTHON)
    up = {
        (room, other)
        for room, others in PYTHON.items()
        for other in others
        if order.index(other) > order.index(room)
    }
    assert up <= {ONE_ABOUT_PROBES, ONE_ABOUT_PROBES[::-1]}


def module_of(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(SOURCES).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def in_circles(arrows: dict[tuple[str, ...], set[tuple[str, ...]]]) -> list[str]:
    """The modules that need, by way of others, themselves."""

    def needed(module: tuple[str, ...]) -> set[tuple[str, ...]]:
        found: set[tuple[str, ...]] = set()
        left = [module]
        while left:
            new = arrows.get(left.pop(), set()) - found
            found |= new
            left += new
        return found

    return sorted(".".join(module) for module in arrows if module in needed(module))


def test_no_circle_within_a_room():
    """Imports inside functions count, since such a one hides a circle; those under TYPE_CHECKING do not, since nothing runs them."""
    modules = {module_of(path): path for path in sources()}
    arrows = {
        module: {name if name in modules else name[:-1] for name in imported(path, of_types=False)}
        - {module}
        for module, path in modules.items()
    }
    rooms = {
        module: {other for other in others & modules.keys() if room_of(other) == room_of(module)}
        for module, others in arrows.items()
    }
    assert ("pydtrace", "process", "identity") in rooms[("pydtrace", "process", "command")]
    assert in_circles(rooms) == []


def test_a_circle_is_seen():
    assert in_circles({("a",): {("b",)}, ("b",): {("c",)}, ("c",): {("b",)}}) == ["b", "c"]


def test_the_rooms_of_c():
    rooms = {
        path.name for path in (TOP / "c").iterdir() if path.is_dir() and any(path.glob("*.[ch]"))
    }
    assert rooms - set(C) <= {"generated"}, "a folder that the table does not know"
    compared(C, c_arrows())


def test_the_arrows_of_c_go_down():
    """A folder of c/ includes nothing of one that, by way of others, includes something of it."""
    assert in_circles({(room,): {(other,) for other in others} for room, others in C.items()}) == []


def test_no_circle_in_c():
    """A module is a header with its source, on whatever system: its includes do not lead back to it."""
    arrows: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    paths = sorted(path for path in (TOP / "c").rglob("*.[ch]") if "generated" not in path.parts)
    for path in paths:
        module = c_module(path)
        for name in _INCLUDE.findall(path.read_text(encoding="utf-8")):
            if (TOP / "c" / name).exists():
                arrows.setdefault(module, set()).add(c_module(TOP / "c" / name))
        arrows.setdefault(module, set()).discard(module)
    assert ("session", "session_dir") in arrows["session", "session"]
    assert in_circles(arrows) == []


def c_module(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(TOP / "c").with_suffix("").parts
    return *parts[:-1], re.sub(r"_(linux|portable|freebsd|macos|others)$", "", parts[-1])


def test_a_name_of_c_has_one_meaning():
    """A struct, union or enum of ours, and the guard of a header, are each in one file."""
    places: dict[str, set[str]] = {}
    folders = [TOP / "include", *(C_FOLDERS.get(room, TOP / "c" / room) for room in C)]
    for path in sorted(each for folder in folders for each in folder.rglob("*.[ch]")):
        for name in _DEFINED.findall(path.read_text(encoding="utf-8")):
            places.setdefault(name, set()).add(str(path.relative_to(TOP)))
    assert {"struct pyusdt_event", "#ifndef PYUSDT_LAYOUT_H"} <= set(places)
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert not twice, twice


def test_lazy_imports_are_seen(tmp_path):
    """Of a function, under TYPE_CHECKING, and `from .. import module`."""
    assert {"pydtrace._tracer", "pydtrace.untrusted", "pydtrace.driver"} <= imports(
        SOURCES / "pydtrace" / "sinks" / "dtrace_text_sink.py"
    )
    assert "pydtrace.debug_log" in imports(SOURCES / "pydtrace" / "cli" / "pydtrace" / "main.py")


def test_what_prints_needs_no_typing():
    """It would be a part of the time until pydtrace prints its first line: modules on that way say `TYPE_CHECKING = False`."""
    code = (
        "import sys; before = set(sys.modules); import pydtrace.cli.pydtrace.main, pydtrace.driver.driver, pydtrace.sinks.dtrace_text_sink;"
        " print(*sorted(({'typing', 'pydtrace.results.records', 'subprocess', 'json'} & set(sys.modules)) - before))"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
        ).stdout
        == "\n"
    )
