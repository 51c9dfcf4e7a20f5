"""Demangles C++ and Rust symbols, in bounded time. Any other symbol stays as it is."""

from __future__ import annotations

import re
from functools import lru_cache

_KEPT = 1 << 14  # texts
_MADE = ("_Z", "_R")
_WORD = re.compile(r"[A-Za-z_]\w*")
_ABBREVIATED = frozenset(
    (
        "std",
        "allocator",
        "basic_string",
        "string",
        "istream",
        "ostream",
        "iostream",
        "char",
        "bool",
        "short",
        "int",
        "long",
        "unsigned",
        "signed",
        "float",
        "double",
        "void",
        "wchar_t",
        "const",
        "volatile",
        "operator",
        "new",
        "delete",
        "anonymous",
        "namespace",
        "lambda",
        "auto",
        "true",
        "false",
        "decltype",
        "clone",
        "as",
        "dyn",
        "mut",
        "fn",
        "u8",
        "i8",
        "u16",
        "i16",
        "u32",
        "i32",
        "u64",
        "i64",
        "u128",
        "i128",
        "usize",
        "isize",
        "str",
        "f32",
        "f64",
        "closure",
        "vtable",
        "for",
        "thunk",
        "to",
        "virtual",
        "non",
        "guard",
        "variable",
        "typeinfo",
        "name",
        "char8_t",
        "char16_t",
        "char32_t",
        "restrict",
    )
)


@lru_cache(_KEPT)
def demangle(symbol: str) -> str:
    if not symbol.startswith(_MADE):
        return symbol
    from .demangle_cxx import demangle_cxx  # a thousand lines that few scripts need
    from .demangle_rust import demangle_rust

    return demangle_rust(symbol) or demangle_cxx(symbol) or symbol


@lru_cache(_KEPT)
def strip_parameters(text: str) -> str:
    """`shop::Basket::add` of `shop::Basket::add(int) const`."""
    end = text.rfind(")")
    depth = 0
    for at in range(end, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return text[:at] if at > 0 else text
    return text


@lru_cache(_KEPT)
def strip_return_type(text: str) -> str:
    """`shop::price<long>(long)` of `int shop::price<long>(long)`: instances of templates tell what they return."""
    begin = depth = 0
    for at, letter in enumerate(text):
        if letter == " " and depth == 0 and not text.endswith("operator", 0, at):
            begin = at + 1
        elif (
            letter == "("
            and depth == 0
            and not text.endswith("operator", 0, at)
            and not text.startswith("(anonymous", at)
        ):
            break
        elif letter in "<({":
            depth += not text.endswith("operator", 0, at)
        elif letter in ">)}" and depth:
            depth -= 1
    return text[begin:]


def is_demangled_pattern(pattern: str) -> bool:
    """Whether a pattern may be of such a text, and of no symbol."""
    return any(letter in pattern for letter in ":(<~& ")


@lru_cache(256)
def _literal_words(pattern: str) -> tuple[str, ...]:
    return tuple(
        word
        for word in _WORD.findall(re.sub(r"\[[^\]]*\]", " ", pattern))
        if word not in _ABBREVIATED
    )


def may_match(pattern: str, symbol: str) -> bool:
    """Whether the text of a symbol may match a pattern: without making the text, which takes long."""
    return symbol.startswith(_MADE) and all(word in symbol for word in _literal_words(pattern))
