"""Who may import whom: arrows between folders go down only (docs/DESIGN.md, the tree).

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
SOURCES = TOP / "src" / "pyusdt"

# A room is a folder of src/pyusdt, or a module beside them; it may import itself and the rooms named here, which all stand
# higher up in the table.
PYTHON = {
    "_core": (),  # the extensions: their C has a table of its own below
    "_tracer": (),
    "debug": (),
    "options": (),
    "data": (),
    "bpf": (),
    "dlang": ("bpf", "data", "debug", "options"),
    "vm": ("_core", "_tracer", "data"),
    "engine": ("_core", "_tracer", "bpf", "data", "vm"),
    "stacks": ("_tracer", "data", "engine"),
    "tracing": ("_tracer", "data", "dlang", "engine", "options", "stacks"),
    "report": ("_tracer", "data", "engine", "tracing"),
    "api": ("_core", "_tracer", "data", "dlang", "engine", "options", "report", "tracing"),
    "_cluster": ("api", "data", "engine"),
    "dask": ("_cluster", "api"),
    "ray": ("_cluster", "api"),
    "erlang": ("_core", "_tracer", "data", "dlang", "engine", "options", "report", "tracing"),
    "_spread": ("_core",),
    "_wrap": ("_core",),
    "_tagged": ("_core",),
    "tags": ("_core", "_spread", "_tagged"),
    "provider_file": ("providers",),
    "providers": ("_core", "provider_file"),
    "instrument": ("_core", "data", "providers", "tags"),
    "__init__": ("_core", "api", "data", "instrument", "providers", "tags", "vm"),
    "__main__": ("vm",),
    "cli": ("_core", "_tracer", "data", "debug", "dlang", "engine", "erlang", "options", "provider_file", "providers", "report",
            "stacks", "tracing", "vm"),
}
ONE_ABOUT_PROBES = ("providers", "provider_file")  # two modules of one room

# Folders of C, by what stands before the first / of an #include: include/ and the files beside the includer are everybody's.
C = {
    "shared": (),
    "target": ("generated", "shared"),
    "bpf": ("generated", "shared"),
    "format": ("generated", "shared"),
    "stacks": (),
    "tracer": ("bpf", "format", "generated", "shared"),
    "native": ("shared", "stacks", "target"),
    "nif": ("shared", "target"),
}
C_FOLDERS = {"native": SOURCES / "native", "nif": TOP / "erlang_nif" / "c_src"}
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_DEFINED = re.compile(r"^(#ifndef PYUSDT_\w+_H|(?:struct|union|enum) pyusdt_\w+(?= \{))", re.MULTILINE)


def imported(path: Path, of_types: bool = True) -> set[tuple[str, ...]]:
    """What a module imports of ours, as the parts of a name behind pyusdt: of a module, or of something in it.  of_types: what
    stands under TYPE_CHECKING, too."""
    package = ["pyusdt", *path.relative_to(SOURCES).parts[:-1]]
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
        found |= {tuple(module[1:]) for module in modules if module[0] == "pyusdt"}
    return found


class _Run(ast.NodeTransformer):
    """What is run: all but what stands under TYPE_CHECKING."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return node.orelse
        return self.generic_visit(node)


def imports(path: Path) -> set[str]:
    """The rooms that a module imports anything of."""
    return {parts[0] if parts else "__init__" for parts in imported(path)}


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCES).parts
    return parts[0] if len(parts) > 1 else path.stem


def python_arrows() -> dict[tuple[str, str], set[str]]:
    """{(room, room it imports): the modules that do}"""
    arrows: dict[tuple[str, str], set[str]] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        for other in imports(path) - {room_of(path)}:
            arrows.setdefault((room_of(path), other), set()).add(path.relative_to(SOURCES).as_posix())
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
    wrong = {f"{where} ({room}) may not import {other}" for (room, other), places in arrows.items()
             if (room, other) not in allowed for where in places}
    assert not wrong, "\n".join(sorted(wrong))
    idle = allowed - set(arrows)
    assert not idle, f"the table allows what nothing needs: {idle}"


def test_the_rooms_of_python():
    rooms = {room_of(path) for path in SOURCES.rglob("*.py")}
    assert rooms - set(PYTHON) == set(), "a room that the table does not know"
    compared(PYTHON, python_arrows())


def test_the_arrows_of_python_go_down():
    order = list(PYTHON)
    up = {(room, other) for room, others in PYTHON.items() for other in others if order.index(other) > order.index(room)}
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
    modules = {module_of(path): path for path in SOURCES.rglob("*.py")}
    arrows = {module: {name if name in modules else name[:-1] for name in imported(path, of_types=False)} - {module}
              for module, path in modules.items()}
    rooms = {module: {other for other in others & modules.keys() if room_of(modules[other]) == room_of(modules[module])}
             for module, others in arrows.items()}
    assert ("engine", "identity") in rooms[("engine",)]
    assert in_circles(rooms) == []


def test_a_circle_is_seen():
    assert in_circles({("a",): {("b",)}, ("b",): {("c",)}, ("c",): {("b",)}}) == ["b", "c"]


def test_the_rooms_of_c():
    rooms = {path.name for path in (TOP / "c").iterdir() if path.is_dir() and any(path.glob("*.[ch]"))}
    assert rooms - set(C) <= {"generated"}, "a folder that the table does not know"
    compared(C, c_arrows())


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
    path = SOURCES / "data" / "values.py"
    assert imports(path) == {"data"}
    assert {"_tracer", "data", "tracing"} <= imports(SOURCES / "report" / "text.py")
    assert "debug" in imports(SOURCES / "cli" / "pydtrace.py")


def test_what_prints_needs_no_typing():
    """It would be a part of the time until pydtrace prints its first line: modules on that way say `TYPE_CHECKING = False`."""
    code = ("import sys; before = set(sys.modules); import pyusdt.cli.pydtrace, pyusdt.tracing.driver, pyusdt.report.text;"
            " print(*sorted(({'typing', 'pyusdt.data.records', 'subprocess', 'json'} & set(sys.modules)) - before))")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout == "\n"
