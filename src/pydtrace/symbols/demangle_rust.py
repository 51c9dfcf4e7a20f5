"""Demangles Rust's names: the legacy form (_ZN…17h…E) and v0 (RFC 2603), without the hash.

A symbol is untrusted: at most LONGEST characters are made, however often a name refers to its own
parts, and parts nest at most _DEEP deep. A symbol that is not understood gives None.
"""

from __future__ import annotations

import re

LONGEST, _NAME = 8192, 4096
_DEEP = 96
_LEGACY = re.compile(r"_ZN(.*)17h([0-9a-f]{16})E(?:\.llvm\.[0-9A-F]+)?\Z", re.DOTALL)
_ESCAPES = {"SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ","}
_ESCAPE = re.compile(r"\$(SP|BP|RF|LT|GT|LP|RP|C|u[0-9a-f]{1,6})\$|\.\.|\.")
_BASIC = {
    "a": "i8",
    "b": "bool",
    "c": "char",
    "d": "f64",
    "e": "str",
    "f": "f32",
    "h": "u8",
    "i": "isize",
    "j": "usize",
    "l": "i32",
    "m": "u32",
    "n": "i128",
    "o": "u128",
    "s": "i16",
    "t": "u16",
    "u": "()",
    "v": "...",
    "x": "i64",
    "y": "u64",
    "z": "!",
    "p": "_",
}
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class _Wrong(Exception):
    """It is no such name, or not understood."""


def demangle_rust(name: str) -> str | None:
    if len(name) > _NAME:
        return None
    if name.startswith("_R") and name[2:3].isupper():
        return _v0(name)
    match = _LEGACY.match(name)
    if match is None or len(set(match[2])) < 5:  # no hash
        return None
    try:
        return _legacy(match[1])
    except (_Wrong, ValueError):
        return None


def _legacy(text: str) -> str:
    parts, at = [], 0
    while at < len(text):
        end = at
        while text[end : end + 1].isdigit():
            end += 1
        size = int(text[at:end])
        part = text[end : end + size]
        if not size or len(part) < size:
            raise _Wrong
        parts.append(
            _ESCAPE.sub(_escaped, part.removeprefix("_") if part.startswith("_$") else part)
        )
        at = end + size
    return "::".join(parts)


def _escaped(match: re.Match[str]) -> str:
    word = match[1]
    if word is None:
        return "::" if match[0] == ".." else "."
    return _ESCAPES.get(word) or chr(int(word[1:], 16))


def _v0(name: str) -> str | None:
    body = name[2:].partition(".")[0]
    try:
        parser = _V0(body)
        text = parser.path(True)
        return text if len(text) <= LONGEST else None
    except (_Wrong, IndexError, ValueError, RecursionError):
        return None


class _V0:
    def __init__(self, text: str) -> None:
        self._text, self._at, self._deep, self._made, self._lifetimes = text, 0, 0, 0, 0

    def _next(self) -> str:
        self._at += 1
        return self._text[self._at - 1]

    def _take(self, letter: str) -> bool:
        if self._text[self._at : self._at + 1] == letter:
            self._at += 1
            return True
        return False

    def _number(self) -> int:
        """In base 62: nothing is 0."""
        if self._take("_"):
            return 0
        value = 0
        while not self._take("_"):
            value = value * 62 + _DIGITS.index(self._next())
        return value + 1

    def _optional(self, letter: str) -> int:
        return self._number() + 1 if self._take(letter) else 0

    def _enter(self) -> None:
        self._deep += 1
        if self._deep > _DEEP:
            raise _Wrong

    def _bounded(self, text: str) -> str:
        self._made += len(text)
        if self._made > 8 * LONGEST:
            raise _Wrong
        return text

    def _referred(self, what: str) -> str:
        """What stands earlier in the name, once more."""
        start = self._at - 1
        place = self._number()
        if place >= start:
            raise _Wrong
        kept, self._at = self._at, place
        text = (
            self.path(False)
            if what == "path"
            else self.type()
            if what == "type"
            else self._constant()
        )
        self._at = kept
        return self._bounded(text)

    # --- paths -----------------------------------------------------------------------------------

    def path(self, is_value: bool) -> str:
        """is_value: arguments follow `::`."""
        self._enter()
        text = self._bounded(self._path(is_value))
        self._deep -= 1
        return text

    def _path(self, is_value: bool) -> str:
        tag = self._next()
        if tag == "C":
            self._optional("s")
            return self._identifier()
        if tag == "N":
            space = self._next()
            outer = self.path(is_value)
            number, name = self._optional("s"), self._identifier()
            if space.isupper():
                word = {"C": "closure", "S": "shim"}.get(space, space)
                return f"{outer}::{{{word}{':' + name if name else ''}#{number}}}"
            return f"{outer}::{name}" if name else outer
        if tag in "MXY":
            if tag != "Y":
                self._optional("s")
                self.path(False)
            of = self.type()
            return f"<{of}>" if tag == "M" else f"<{of} as {self.path(False)}>"
        if tag == "I":
            outer = self.path(is_value)
            return f"{outer}{'::' if is_value else ''}<{self._list(self._argument)}>"
        if tag == "B":
            return self._referred("path")
        raise _Wrong

    def _list(self, read: object, end: str = "E") -> str:
        found = []
        while not self._take(end):
            found.append(read())  # type: ignore[operator]
        return ", ".join(found)

    def _argument(self) -> str:
        if self._take("L"):
            return self._lifetime()
        if self._take("K"):
            return self._constant()
        return self.type()

    def _lifetime(self) -> str:
        number = self._number()
        if not number:
            return "'_"
        depth = self._lifetimes - number
        return f"'{chr(97 + depth)}" if 0 <= depth < 26 else f"'_{depth}"

    def _identifier(self) -> str:
        is_unicode = self._take("u")
        start = self._at
        while self._text[self._at : self._at + 1].isdigit():
            self._at += 1
        digits = self._text[start : self._at]
        if digits.startswith("0") and len(digits) > 1:
            self._at, digits = start + 1, "0"
        size = int(digits)
        self._take("_")
        text = self._text[self._at : self._at + size]
        if len(text) < size:
            raise _Wrong
        self._at += size
        if not is_unicode:
            return text
        head, dash, tail = text.rpartition("_")
        return (f"{head}-{tail}" if dash else tail).encode().decode("punycode")

    # --- types ---------------------------------------------------------------------------------------

    def type(self) -> str:
        self._enter()
        text = self._bounded(self._type())
        self._deep -= 1
        return text

    def _type(self) -> str:
        tag = self._next()
        if tag in _BASIC:
            return _BASIC[tag]
        if tag in "RQ":
            lifetime = self._lifetime() if self._take("L") else ""
            space = f"{lifetime} " if lifetime and lifetime != "'_" else ""
            return f"&{space}{'mut ' if tag == 'Q' else ''}{self.type()}"
        if tag in "PO":
            return f"*{'const' if tag == 'P' else 'mut'} {self.type()}"
        if tag == "A":
            return f"[{self.type()}; {self._constant()}]"
        if tag == "S":
            return f"[{self.type()}]"
        if tag == "T":
            inner = []
            while not self._take("E"):
                inner.append(self.type())
            return f"({inner[0]},)" if len(inner) == 1 else f"({', '.join(inner)})"
        if tag == "F":
            return self._function()
        if tag == "D":
            return self._dynamic()
        if tag == "B":
            return self._referred("type")
        self._at -= 1
        return self.path(False)

    def _binder(self) -> tuple[str, int]:
        count = self._optional("G")
        if count > 32:
            raise _Wrong
        self._lifetimes += count
        names = [f"'{chr(97 + self._lifetimes - count + each)}" for each in range(count)]
        return f"for<{', '.join(names)}> " if count else "", count

    def _function(self) -> str:
        text, count = self._binder()
        text += "unsafe " * self._take("U")
        if self._take("K"):
            text += (
                'extern "C" '
                if self._take("C")
                else f'extern "{self._identifier().replace("_", "-")}" '
            )
        text += f"fn({self._list(self.type)})"
        returned = "" if self._take("u") else f" -> {self.type()}"
        self._lifetimes -= count
        return text + returned

    def _dynamic(self) -> str:
        text, count = self._binder()
        bounds = []
        while not self._take("E"):
            bound, opened = self._open(), ""
            while self._take("p"):
                opened += f"{', ' if opened else ''}{self._identifier()} = {self.type()}"
            if opened:
                bound = f"{bound[:-1]}, {opened}>" if bound.endswith(">") else f"{bound}<{opened}>"
            bounds.append(bound)
        self._lifetimes -= count
        lifetime = ""
        if self._take("L"):
            word = self._lifetime()
            lifetime = f" + {word}" if word != "'_" else ""
        return f"dyn {text}{' + '.join(bounds)}{lifetime}"

    def _open(self) -> str:
        return self.path(False)

    def _constant(self) -> str:
        self._enter()
        tag = self._next()
        if tag == "B":
            text = self._referred("constant")
        elif tag == "p":
            text = "_"
        else:
            negative = self._take("n")
            end = self._text.index("_", self._at)
            digits, self._at = self._text[self._at : end], end + 1
            value = int(digits or "0", 16)
            if tag == "b":
                text = "true" if value else "false"
            elif tag == "c":
                text = repr(chr(value)) if value < 0x110000 else "?"
            elif tag in "aslxnihtmyoj":
                text = ("-" if negative else "") + str(value)
            else:
                raise _Wrong
        self._deep -= 1
        return text
