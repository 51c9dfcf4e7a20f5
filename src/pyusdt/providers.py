"""Providers of the application, at run time: `Provider("shop").probe("order-placed", int, str)`, or
a provider file in D.

USDT tracers see such a Probe in an object in the user's cache, the embedded engine sees it
directly.

- The same names and types give the same object in every process of the user. A probe is made
  once.
- The module is loaded when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from ._core import check_provider, define

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from typing_extensions import TypeVarTuple, Unpack

    from ._core import Probe

    A = TypeVar("A")
    B = TypeVar("B")
    C = TypeVar("C")
    D = TypeVar("D")
    E = TypeVar("E")
    F = TypeVar("F")
    G = TypeVar("G")
    H = TypeVar("H")
    J = TypeVar("J")
    K = TypeVar("K")
    L = TypeVar("L")
    M = TypeVar("M")
    Values = TypeVarTuple("Values")

__all__ = ["Provider", "get_include", "load"]

_UINT, _INT, _FLOAT, _STRING = (
    0x10,
    0x20,
    0x30,
    0x48,
)  # pyusdt.h: PYUSDT_UINT …, with the size in bytes

_TYPES = {
    "int8_t": _INT | 1, "int16_t": _INT | 2, "int32_t": _INT | 4, "int64_t": _INT | 8,
    "uint8_t": _UINT | 1, "uint16_t": _UINT | 2, "uint32_t": _UINT | 4, "uint64_t": _UINT | 8,
    "float": _FLOAT | 4, "double": _FLOAT | 8, "string": _STRING,
}  # fmt: skip
# The names that C has for them on the 64-bit systems that have probe sites.
_C_TYPES = {
    "char": "int8_t", "signed char": "int8_t", "short": "int16_t", "int": "int32_t", "long": "int64_t",
    "long long": "int64_t", "unsigned char": "uint8_t", "unsigned short": "uint16_t", "unsigned int": "uint32_t",
    "unsigned": "uint32_t", "unsigned long": "uint64_t", "unsigned long long": "uint64_t", "size_t": "uint64_t",
    "ssize_t": "int64_t", "intptr_t": "int64_t", "uintptr_t": "uint64_t", "pid_t": "int32_t", "uid_t": "uint32_t",
    "char *": "string",
}  # fmt: skip
_PYTHON_TYPES = {int: "int64_t", str: "string", bytes: "string", float: "double", bool: "uint8_t"}


def canonical_type_name(given: object) -> str:
    """The canonical name of an argument's type: a key of _TYPES.  TypeError for what is none."""
    if isinstance(given, str):
        name = " ".join(given.replace("*", " * ").split()).removeprefix("const ")
        name = _C_TYPES.get(name, name)
        if name in _TYPES:
            return name
    elif isinstance(given, type) and given in _PYTHON_TYPES:
        return _PYTHON_TYPES[given]
    raise TypeError(
        f"an argument's type is int, str, bytes, float, bool, or one of {', '.join(_TYPES)} as a str: "
        f"not {given!r}"
    )


def argument_type(hint: Any) -> object:
    """What an annotation stands for: Annotated[int, "uint16_t"] for what it is annotated with, str | None for str."""
    import types
    from typing import Union, get_args, get_origin

    if hasattr(hint, "__metadata__"):
        return hint.__metadata__[0]
    if get_origin(hint) not in (Union, types.UnionType):
        return hint
    others = [each for each in get_args(hint) if each is not type(None)]
    return argument_type(others[0]) if len(others) == 1 else hint


class Provider:
    """A provider with the application's own probes.

    name: a letter or underscore, then letters, digits and underscores; at most 40 characters; no digit at the end, since D appends
    the process id. Raises ValueError for any other name.
    """

    def __init__(self, name: str) -> None:
        check_provider(name)
        self.name = name
        self.reason = ""  # why tracers other than the embedded engine do not see its probes, or ""
        self._probes: dict[str, Probe] = {}

    def __repr__(self) -> str:
        return f"<pyusdt.Provider {self.name}: {', '.join(self._probes) or 'no probes'}>"

    @property
    def probes(self) -> dict[str, Probe]:
        """The probes made so far: {name: Probe}."""
        return dict(self._probes)

    @overload
    def probe(self, name: str, /) -> Probe[()]: ...
    @overload
    def probe(self, name: str, a: type[A], /) -> Probe[A | None]: ...
    @overload
    def probe(self, name: str, a: type[A], b: type[B], /) -> Probe[A | None, B | None]: ...
    @overload
    def probe(
        self, name: str, a: type[A], b: type[B], c: type[C], /
    ) -> Probe[A | None, B | None, C | None]: ...
    @overload
    def probe(
        self, name: str, a: type[A], b: type[B], c: type[C], d: type[D], /
    ) -> Probe[A | None, B | None, C | None, D | None]: ...
    @overload
    def probe(
        self, name: str, a: type[A], b: type[B], c: type[C], d: type[D], e: type[E], /
    ) -> Probe[A | None, B | None, C | None, D | None, E | None]: ...
    @overload
    def probe(
        self, name: str, a: type[A], b: type[B], c: type[C], d: type[D], e: type[E], f: type[F], /
    ) -> Probe[A | None, B | None, C | None, D | None, E | None, F | None]: ...
    @overload
    def probe(
        self,
        name: str,
        a: type[A],
        b: type[B],
        c: type[C],
        d: type[D],
        e: type[E],
        f: type[F],
        g: type[G],
        /,
    ) -> Probe[A | None, B | None, C | None, D | None, E | None, F | None, G | None]: ...
    @overload
    def probe(
        self,
        name: str,
        a: type[A],
        b: type[B],
        c: type[C],
        d: type[D],
        e: type[E],
        f: type[F],
        g: type[G],
        h: type[H],
        /,
    ) -> Probe[A | None, B | None, C | None, D | None, E | None, F | None, G | None, H | None]: ...
    @overload
    def probe(
        self,
        name: str,
        a: type[A],
        b: type[B],
        c: type[C],
        d: type[D],
        e: type[E],
        f: type[F],
        g: type[G],
        h: type[H],
        j: type[J],
        /,
    ) -> Probe[
        A | None, B | None, C | None, D | None, E | None, F | None, G | None, H | None, J | None
    ]: ...
    @overload
    def probe(
        self,
        name: str,
        a: type[A],
        b: type[B],
        c: type[C],
        d: type[D],
        e: type[E],
        f: type[F],
        g: type[G],
        h: type[H],
        j: type[J],
        k: type[K],
        /,
    ) -> Probe[
        A | None,
        B | None,
        C | None,
        D | None,
        E | None,
        F | None,
        G | None,
        H | None,
        J | None,
        K | None,
    ]: ...
    @overload
    def probe(
        self,
        name: str,
        a: type[A],
        b: type[B],
        c: type[C],
        d: type[D],
        e: type[E],
        f: type[F],
        g: type[G],
        h: type[H],
        j: type[J],
        k: type[K],
        l: type[L],
        /,
    ) -> Probe[
        A | None,
        B | None,
        C | None,
        D | None,
        E | None,
        F | None,
        G | None,
        H | None,
        J | None,
        K | None,
        L | None,
    ]: ...
    @overload
    def probe(
        self,
        name: str,
        a: type[A],
        b: type[B],
        c: type[C],
        d: type[D],
        e: type[E],
        f: type[F],
        g: type[G],
        h: type[H],
        j: type[J],
        k: type[K],
        l: type[L],
        m: type[M],
        /,
    ) -> Probe[
        A | None,
        B | None,
        C | None,
        D | None,
        E | None,
        F | None,
        G | None,
        H | None,
        J | None,
        K | None,
        L | None,
        M | None,
    ]: ...
    @overload
    def probe(self, name: str, /, *types: type[Any] | str, **named: type[Any] | str) -> Probe: ...
    def probe(self, name: str, /, *types: Any, **named: Any) -> Probe[Unpack[tuple[Any, ...]]]:
        """Return the probe with that name and these argument types; make it if it does not exist.

        - name: as D writes it ("order-placed") or as its note does ("order__placed").
        - types: at most twelve. int has 64 bits and a sign; str and bytes are strings; float has the bits of a double. Others are bool
          and the names of C types: "int32_t", "uint8_t", "float", "char *" …
        - named: further arguments, whose names D knows: with route=str D has arg.route.
        - A call with values fires the probe. Integers are taken modulo 2**bits, strings as by p(). None and missing values are absent:
          0 or NULL. Anything but a number is NaN for a float.

        Raises ValueError if a probe of that name has other types or argument names, or if a name is invalid.
        """
        return self._define_probes([(name, [*((None, type) for type in types), *named.items()])])[0]

    def declare(self, function: Callable[[Unpack[Values]], object], /) -> Probe[Unpack[Values]]:
        """Return the probe that a function describes; for use as a decorator. The function is never called.

            @shop.declare
            def order_placed(id: int, item: str | None, left: Annotated[int, "uint16_t"]) -> None: ...

        The probe has the function's name with `-` for `_`, and its parameters' names and annotated types. Raises TypeError for a
        parameter without a usable type, and for *args, ** and keyword-only parameters.
        """
        from inspect import Parameter, signature
        from typing import get_type_hints

        types = get_type_hints(function, include_extras=True)
        parameters = signature(function).parameters
        for each in parameters.values():
            if each.kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
                raise TypeError(
                    f"{function.__name__}: the parameter {each} is not given by its position, as a probe's arguments are"
                )
        missing = [name for name in parameters if name not in types]
        if missing:
            raise TypeError(
                f"{function.__name__}: the parameter {missing[0]} needs a type: {missing[0]}: int"
            )
        name = function.__name__.replace("__", "-").replace("_", "-")
        return self._define_probes(
            [(name, [(each, argument_type(types[each])) for each in parameters])]
        )[0]

    def _define_probes(
        self, wanted: Iterable[tuple[str, Iterable[tuple[str | None, Any]]]]
    ) -> list[Probe]:
        rows = []
        for name, arguments in wanted:
            called = list(arguments)
            types = bytes(_TYPES[canonical_type_name(type)] for _, type in called)
            rows.append((name.replace("__", "-"), types, tuple(name for name, _ in called)))
        names = [row[0] for row in rows]
        if len(set(names)) < len(names):
            raise ValueError(f"provider {self.name}: two probes of one name")
        probes, _path, self.reason = define(self.name, rows)
        self._probes.update(zip(names, probes, strict=True))
        return probes


def probe_again(provider: str, name: str, types: bytes, names: tuple[str | None, ...]) -> Probe:
    """What was pickled."""
    return define(provider, [(name, types, names)])[0][0]


def user_trace_again(name: str) -> Probe:
    """Likewise, of pyusdt's own."""
    from ._core import probe

    return probe(name)


class _LoadedProvider(Provider):
    """A provider from a file: each probe is an attribute too, `-` as `_`."""


def load(path: str | os.PathLike[str]) -> Any:
    """Read a provider file in D and return the provider. Each probe is an attribute: `order__placed` becomes `order_placed`.

        provider shop {
            probe order__placed(int64_t id, char *item, double price);
        };

    `pyusdt stub shop.d` prints a type for the returned object, for type checkers. Raises OSError if the file cannot be read, and
    ValueError if it does not declare exactly one provider or declares an invalid probe.
    """
    from .provider_file import read_provider_file

    name, declared = read_provider_file(path)
    provider = _LoadedProvider(name)
    for probe in provider._define_probes(
        (each.name, [(argument.name or None, argument.type) for argument in each.arguments])
        for each in declared
    ):
        setattr(provider, attribute_name(probe.name), probe)
    return provider


def attribute_name(probe: str) -> str:
    """What Python calls a probe of a loaded provider; one that is taken (probe, name, import) gets a `_`."""
    from keyword import iskeyword

    name = probe.replace("-", "_")
    return (
        f"{name}_"
        if iskeyword(name) or hasattr(Provider, name) or name in ("name", "reason")
        else name
    )


def get_include() -> str:
    """Return the folder of pyusdt_probe.h, for C and Cython modules that test inline whether a probe is traced."""
    import os

    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
