"""The compiler's folders: who may import whom, and no file imports what imports it (of the whole: tests/unit/test_rooms.py)."""

import ast
from pathlib import Path

import pydtrace

SOURCES = Path(pydtrace.__file__).parent / "dlang"
GROUND = (
    "ast",
    "constants",
    "compile_errors",
    "float_nodes",
    "beginner_hints",
    "variable_table",
)  # files beside the folders that all of these know
ROOMS = [
    "code",
    "builtins",
    "types",
    "front",
    "pass_manager",
    "compile",
]  # each may import those before it


def imported(path):
    """The modules of dlang/ that a file imports, but for those that only a type checker sees."""
    package = path.relative_to(SOURCES).parts[:-1]
    pending, found = [ast.parse(path.read_bytes())], set()
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        absolute = (
            isinstance(node, ast.ImportFrom)
            and not node.level
            and f"{node.module}.".startswith("pydtrace.dlang.")
        )
        if absolute or (isinstance(node, ast.ImportFrom) and 0 < node.level <= len(package) + 1):
            base = (
                node.module.split(".")[2:]
                if absolute
                else [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
            )
            for name in node.names:
                whole = "/".join([*filter(None, base), name.name])
                found.add(
                    whole if (SOURCES / f"{whole}.py").exists() else "/".join(filter(None, base))
                )
        pending += ast.iter_child_nodes(node)
    return {name for name in found if (SOURCES / f"{name}.py").exists()}


ARROWS = {
    path.relative_to(SOURCES).with_suffix("").as_posix(): imported(path)
    for path in SOURCES.rglob("*.py")
}


def test_folders_import_those_below_them():
    assert ARROWS["compile"] and "code/layout" in ARROWS["code/codegen"]
    up = [(name, other) for name, others in ARROWS.items() for other in others
          if other.split("/")[0] in ROOMS and (name.split("/")[0] in GROUND or name.split("/")[0] in ROOMS
              and ROOMS.index(other.split("/")[0]) > ROOMS.index(name.split("/")[0]))]  # fmt: skip
    assert not up


def test_no_file_imports_what_imports_it():
    left = {name: set(others) for name, others in ARROWS.items()}
    while ground := {name for name, others in left.items() if not others & set(left)}:
        left = {name: others for name, others in left.items() if name not in ground}
    assert not left, "these are in circles, or import files that are"
