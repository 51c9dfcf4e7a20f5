"""Provider files: declarations of probes in D, as dtrace -h takes them; and their Python stubs.

A file has one `provider NAME { probe NAME(TYPE NAME, …); … };`. A stub gives pyusdt.load() of the
file a type.

- An error is a ValueError with the file's name and the line.
- Comments and lines that begin with # are skipped. Names and types are checked where the probes
  are made.
"""

from __future__ import annotations

import os
import re
from keyword import iskeyword
from typing import TYPE_CHECKING

from .providers import attribute_name, canonical_type_name

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = re.compile(
    r"(?P<blank>\s+|//[^\n]*|/\*.*?\*/|(?m:^\s*\#[^\n]*$))|(?P<word>[A-Za-z_][\w-]*)|(?P<sign>.)",
    re.DOTALL,
)


class Argument:
    """type: the canonical name; name: as declared, or ""."""

    __slots__ = ("name", "type")

    def __init__(self, type: str, name: str) -> None:
        self.type, self.name = type, name


class DeclaredProbe:
    """One probe of a file."""

    __slots__ = ("arguments", "name")

    def __init__(self, name: str, arguments: list[Argument]) -> None:
        self.name, self.arguments = name, arguments


class _Parser:
    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.words = self._split_words()
        self.at = 0
        self.attributes: set[str] = set()  # of the probes so far

    def _split_words(self) -> list[tuple[str, int]]:
        """[(word or sign, place)], ended by ("", length)."""
        found, at = [], 0
        while at < len(self.text):
            match = _WORDS.match(self.text, at)
            assert match is not None  # a sign is anything
            if match.lastgroup != "blank":
                found.append((match[0], at))
            at = match.end()
        return [*found, ("", at)]

    def make_error(self, message: str) -> ValueError:
        line = self.text.count("\n", 0, self.words[self.at][1]) + 1
        return ValueError(f"{self.path}:{line}: {message}")

    def next_word(self, *wanted: str) -> str:
        """The next word; one of `wanted` if any are given."""
        word = self.words[self.at][0]
        if (
            not word
            or (wanted and word not in wanted)
            or (not wanted and not (word[0].isalpha() or word[0] == "_"))
        ):
            expected = " or ".join(map(repr, wanted)) or "a name"
            raise self.make_error(f"expected {expected}, not {word or 'the end of the file'!r}")
        self.at += 1
        return word

    def parse_provider(self) -> tuple[str, list[DeclaredProbe]]:
        self.next_word("provider")
        name, probes = self.next_word(), []
        self.next_word("{")
        while self.next_word("probe", "}") == "probe":
            probes.append(self.parse_probe())
        self.next_word(";")
        if self.words[self.at][0]:
            raise self.make_error("more than one provider in the file")
        return name, probes

    def parse_probe(self) -> DeclaredProbe:
        name, arguments = self.parse_probe_name(), []
        self.next_word("(")
        if self.words[self.at][0] != ")":
            arguments = list(self.parse_arguments())
        self.next_word(")")
        self.next_word(";")
        return DeclaredProbe(name, arguments)

    def parse_probe_name(self) -> str:
        """D's name of the probe, no attribute of whose name is there yet."""
        start, name = self.at, self.next_word().replace("__", "-")
        attribute = attribute_name(name)
        if attribute in self.attributes:
            self.at = start
            raise self.make_error(f"a second probe that Python calls {attribute}")
        self.attributes.add(attribute)
        return name

    def parse_arguments(self) -> Iterator[Argument]:
        while True:
            start, words = self.at, []
            while self.words[self.at][0] not in (",", ")", ""):
                words.append(self.words[self.at][0])
                self.at += 1
            if words != ["void"]:
                yield self.parse_argument(words, start)
            if self.words[self.at][0] != ",":
                return
            self.at += 1

    def parse_argument(self, words: list[str], start: int) -> Argument:
        """The last word is the argument's name, unless all of them are needed for a type."""
        for type_words, name in ((words, ""), (words[:-1], words[-1] if words else "")):
            try:
                return Argument(canonical_type_name(" ".join(type_words)), name)
            except TypeError:
                continue
        self.at = start
        raise self.make_error(
            f"not a type that a probe's argument can have: {' '.join(words) or 'nothing'}"
        )


def read_provider_file(path: str | os.PathLike[str]) -> tuple[str, list[DeclaredProbe]]:
    """The provider's name and its probes, in the file's order."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    reader = _Parser(os.fspath(path), text)
    name, probes = reader.parse_provider()
    if not probes:
        raise ValueError(f"{os.fspath(path)}: provider {name} has no probes")
    return name, probes


# ---- stubs ----

_PROPERTIES = (
    ("name", "str"),
    ("provider", "str"),
    ("path", "str | None"),
    ("max_arguments", "int"),
)  # of a Probe
_PYTHON_TYPES = {"string": "str | Buffer | None", "float": "float | None", "double": "float | None"}


def _format_parameters(probe: DeclaredProbe) -> str:
    """Positional, so that a name which is taken, or Python's own, may be changed."""
    names, parts = {"self"}, []
    for i, argument in enumerate(probe.arguments):
        name = argument.name or f"arg{i}"
        while iskeyword(name) or name in names:
            name += "_"
        names.add(name)
        parts.append(f"{name}: {_PYTHON_TYPES.get(argument.type, 'int | None')} = ...")
    return ", ".join(["self", *parts, "/"])


def make_stub(path: str | os.PathLike[str]) -> str:
    """The text of a .pyi whose class, named after the provider, is the type of pyusdt.load(path)."""
    name, probes = read_provider_file(path)
    title = "".join(part.capitalize() for part in name.split("_"))
    heading = f"Made by `pyusdt stub` from {os.path.basename(path)}: the type of what pyusdt.load() makes of it."
    lines = [
        f'"""{heading}"""',
        "",
        "from collections.abc import Callable",
        "from typing import Any, Protocol, TypeVar",
        "",
        "from pyusdt.providers import Provider",
        "from typing_extensions import Buffer",
        "",
        '_Function = TypeVar("_Function", bound=Callable[..., Any])',
        "",
    ]
    for probe in probes:
        lines += [
            f"class _{attribute_name(probe.name)}(Protocol):",
            f"    def __call__({_format_parameters(probe)}) -> bool: ...",
            "    def __bool__(self) -> bool: ...",
            "    def lazy(self, function: Callable[[], Any], /) -> bool: ...",
            "    def wrap(self, function: _Function, /) -> _Function: ...",
            *(f"    @property\n    def {name}(self) -> {type}: ..." for name, type in _PROPERTIES),
            "",
        ]
    lines.append(f"class {title}(Provider):")
    lines += [
        f"    {attribute_name(probe.name)}: _{attribute_name(probe.name)}" for probe in probes
    ]
    return "\n".join([*lines, ""])
