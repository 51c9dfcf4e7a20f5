"""The words of the source: what docs/internals/glossary.md and CONTRIBUTING.md ask of names."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
GLOSSARY = (TOP / "docs" / "internals" / "glossary.md").read_text(encoding="utf-8")
PYTHON = [
    path
    for package in ("pyusdt", "pydtrace")
    for path in sorted((TOP / "src" / package).rglob("*.py"))
    if "scripts" not in path.parts
]
# They meant something to their authors only.
PRIVATE = frozenset(
    [
        "told",
        "tell",
        "tells",
        "said",
        "says",
        "meant",
        "whose",
        "whom",
        "beside",
        "believed",
        "patience",
        "aside",
        "hurry",
        "harmless",
        "deaf",
        "ours",
        "stranger",
        "strangers",
        "lack",
        "lacks",
    ]
)


def defined(kinds: tuple[type, ...]) -> list[tuple[str, str]]:
    """[(path, name)] of all that the sources define, but for Python's own names."""
    return [
        (str(path.relative_to(TOP)), node.name)
        for path in PYTHON
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, kinds) and not node.name.startswith("__")
    ]


def test_functions_say_verb_and_object():
    """One word cannot be found by a search.  The fixed verbs of interfaces (open, poll, close …) are counted, too."""
    names = [name for _, name in defined((ast.FunctionDef, ast.AsyncFunctionDef))]
    single = [name for name in names if "_" not in name.strip("_")]
    assert len(names) > 4000
    assert len(single) < 0.25 * len(names), Counter(single).most_common(40)


def test_no_private_words():
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    words = {(path, name) for path, name in defined(kinds) if PRIVATE & set(re.split("_+", name))}
    files = {path.name for path in PYTHON if PRIVATE & set(path.stem.split("_"))}
    assert not words | files


def test_a_file_name_is_used_once():
    """But for those that the glossary gives a reason for."""
    _, heading, reasons = GLOSSARY.partition("## File names that repeat")
    assert heading
    native = [TOP / "c", TOP / "src" / "pyusdt" / "_core_c", TOP / "erlang_nif" / "c_src"]
    files = [*PYTHON, *(path for folder in native for path in folder.rglob("*.c"))]
    counts = Counter(
        path.name for path in files if path.name != "__init__.py" and "generated" not in path.parts
    )
    twice = {name for name, number in counts.items() if number > 1}
    assert twice <= set(re.findall(r"`([\w.]+)`", reasons))


def test_types_are_checked_everywhere():
    """pyproject.toml names the one folder that mypy leaves out, as Python 2 reads it."""
    marked = [
        path
        for path in PYTHON
        if re.search(r"^# *mypy:", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert marked == []


def _python_comments(text: str) -> list[str]:
    """The comments and docstrings of a file."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = [token.string for token in tokens if token.type == tokenize.COMMENT]
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    return found + [doc for node in nodes if (doc := ast.get_docstring(node))]


def test_comments_are_in_plain_words():
    """`told` stood 615 times in the sources and said nothing. Messages are not looked at: users know them."""
    found = {
        str(path.relative_to(TOP)): words
        for path in PYTHON
        if (words := [each for each in _python_comments(path.read_text(encoding="utf-8")) if re.search(r"\btold\b", each)])
    }  # fmt: skip
    for folder, comment in (
        ("c", r"/\*.*?\*/"),
        ("src", r"/\*.*?\*/"),
        ("erlang_nif", r"%[^\n]*|/\*.*?\*/"),
    ):
        for path in (TOP / folder).rglob("*.[che]*"):
            if path.suffix in (".c", ".h", ".erl", ".hrl") and "_build" not in path.parts:
                text = path.read_text(encoding="utf-8", errors="replace")
                comments = re.findall(comment, text, re.DOTALL)
                if words := [each for each in comments if re.search(r"\btold\b", each)]:
                    found[str(path.relative_to(TOP))] = words
    assert found == {}
