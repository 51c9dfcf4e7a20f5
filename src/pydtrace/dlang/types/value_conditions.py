"""Which events of a script's predicates the traced process itself can decide: `local.total > 100 && present(retval)`.

Input: the predicates of all clauses, before their paths become arguments.
Output: the bytes that follow the paths of the session (src/pyusdt/_core_c/vm/value_conditions.h has their form).

- A condition is a comparison of a path, of arg.line or of arg3 with a constant.  A predicate becomes alternatives of such
  conditions; what cannot be decided there counts as true.
- An event is written if an alternative of a clause holds, or if a clause of its probe has no condition.
  The predicate is evaluated once more, so it can only be too many events.
"""

from __future__ import annotations

import struct

from pydtrace.dlang import ast, constants

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydtrace.program import d_types as t

PROBES = ("function-entry", "function-return", "line", "exception-raise", "exception-handled")
_ROWS, _TEXT, _BYTES = 16, 64, 508  # PYUSDT_CONDITIONS, PYUSDT_CONDITION_TEXT, pyusdt_path
_VERSION, _ROOT, _ARGUMENT = 1, 4, 0x80
_OPERATIONS = {"==": 1, "!=": 2, "<": 3, "<=": 4, ">": 5, ">=": 6}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_LINE_ARGUMENT, _HOW_ARGUMENT = "arg2", "arg3"  # of python's probes
_LINE, _HOW = 2, 3  # arguments

# what a value is compared as
NUMBER, TEXT, REAL = "number", "text", "real"
_KIND_NUMBERS = {NUMBER: 0, TEXT: 1, REAL: 2}  # enum pyusdt_condition_kind

EXACT = 1 << 53  # a double has all smaller integers

Constant = int | bytes | float


class Condition:
    """subject: the bytes of a path, or the number of an argument; text: for the user."""

    __slots__ = ("constant", "operation", "subject", "text")

    def __init__(self, subject: bytes | int, operation: str, constant: Constant, text: str) -> None:
        self.subject, self.operation, self.constant, self.text = subject, operation, constant, text


Alternatives = list[list[Condition]]
ALWAYS: Alternatives = [[]]


class PredicateReader:
    """find_path: (subject, its text, its kind) of an expression that is a path, beside a value of a kind; or None."""

    def __init__(
        self,
        find_path: Callable[[ast.Expr, str], tuple[bytes, str, str] | None],
        probes: Sequence[ast.ProbeDesc],
        strsize: int,
    ) -> None:
        self._find_path = find_path
        self._longest = min(_TEXT, strsize - 2)  # a longer string might be compared truncated
        self._has_how = all(each.name in PROBES[:2] for each in probes)

    def read(self, node: ast.Expr) -> Alternatives:
        if type(node) is ast.Binary and node.op == "&&":
            left, right = self.read(node.left), self.read(node.right)
            both = [one + other for one in left for other in right]
            return both if sum(map(len, both)) <= _ROWS else left
        if type(node) is ast.Binary and node.op == "||":
            return self.read(node.left) + self.read(node.right)
        found = self._read_condition(node)
        return [[found]] if found is not None else ALWAYS

    def _read_condition(self, node: ast.Expr) -> Condition | None:
        if type(node) is ast.Binary and node.op in _OPERATIONS:
            return self._compare(node.left, node.op, node.right) or self._compare(
                node.right, _MIRRORED.get(node.op, node.op), node.left
            )
        negated = type(node) is ast.Unary and node.op == "!"
        found = self._find_subject(node.operand if negated else node, REAL)  # type: ignore[attr-defined]
        if found is None or found[2] == TEXT:
            return None
        zero = 0.0 if found[2] == REAL else 0
        return Condition(
            found[0], "==" if negated else "!=", zero, ("!" if negated else "") + found[1]
        )

    def _compare(self, node: ast.Expr, operation: str, other: ast.Expr) -> Condition | None:
        constant = read_constant(other)
        if constant is None:
            return None
        kind = _kind_of(constant)
        if isinstance(constant, int) and abs(constant) < EXACT:
            kind = REAL
        found = self._find_subject(node, kind)
        if found is None or (found[2] != kind and isinstance(constant, (bytes, float))):
            return None
        if isinstance(constant, bytes) and (
            operation not in ("==", "!=") or len(constant) > self._longest
        ):
            return None
        shown = (
            f'"{constant.decode("utf-8", "replace")}"'
            if isinstance(constant, bytes)
            else str(constant)
        )
        if found[2] == REAL:
            constant = float(constant)
        return Condition(found[0], operation, constant, f"{found[1]} {operation} {shown}")

    def _find_subject(self, node: ast.Expr, kind: str) -> tuple[bytes | int, str, str] | None:
        if _is_line(node):
            return _LINE, "arg.line", NUMBER
        if type(node) is ast.Ident and node.name == _LINE_ARGUMENT:
            return _LINE, "arg2", NUMBER
        if type(node) is ast.Ident and node.name == _HOW_ARGUMENT and self._has_how:
            return _HOW, "arg3", NUMBER
        return self._find_path(node, kind)


def _kind_of(constant: Constant) -> str:
    return TEXT if isinstance(constant, bytes) else REAL if isinstance(constant, float) else NUMBER


def _is_line(node: ast.Expr) -> bool:
    return (
        type(node) is ast.Select
        and type(node.base) is ast.Ident
        and (node.base.name, node.op, node.name) == ("arg", ".", "line")
    )


def read_constant(node: ast.Expr) -> Constant | None:
    """A constant that D compares as signed, a double, or a string."""
    if type(node) is ast.StrLit:
        return None if b"\0" in node.value else node.value
    if type(node) is ast.FloatLit:
        [real] = struct.unpack("=d", struct.pack("=Q", node.bits))
        return float(real)
    if type(node) is ast.Unary and node.op == "-":
        inner = read_constant(node.operand)
        return -inner if isinstance(inner, (int, float)) and inner != -(1 << 63) else None
    if type(node) is not ast.IntLit or not _compares_as_signed(node.type):
        return None
    return constants.to_signed(node.value)


def _compares_as_signed(type: t.Type | None) -> bool:
    return type is not None and type.is_integer and (type.signed or type.size < 8)


class SessionConditions:
    """Of all clauses of a program."""

    def __init__(self) -> None:
        self._clauses: list[tuple[list[ast.ProbeDesc], Alternatives]] = []

    def add(self, probes: list[ast.ProbeDesc], alternatives: Alternatives) -> None:
        self._clauses.append((probes, alternatives))

    def encode(self, paths: list[bytes]) -> tuple[bytes, list[str]]:
        """(the bytes, or none if the process decides nothing; what it decides, for the user)."""
        free = {name for probes, each in self._clauses if not all(each) for name in _names(probes)}
        rows, texts, shown = b"", b"", []
        covered = clause = 0
        for probes, alternatives in self._clauses:
            decided = _names(probes) - free
            if (
                not paths
            ):  # without values only lines are decided, which are switched off at their place
                decided &= {"line"}
            bits = sum(1 << PROBES.index(name) for name in decided)
            if not bits:
                continue
            covered |= bits
            for conditions in alternatives:
                shown.append(" && ".join(each.text for each in conditions))
                for each in conditions:
                    row, text = _encode_row(each, clause, bits, paths, len(texts))
                    rows, texts = rows + row, texts + text
                clause += 1
        size = 16 + len(rows) + len(texts)
        count = len(rows) // 24
        if not count or count > _ROWS or size > _BYTES:
            return b"", []
        head = struct.pack("=IBBBBHHI", size, _VERSION, _ROOT, count, 0, 0, 0, covered)
        return head + rows + texts, shown


def _encode_row(
    condition: Condition, clause: int, bits: int, paths: list[bytes], at: int
) -> tuple[bytes, bytes]:
    subject, constant = condition.subject, condition.constant
    number = _ARGUMENT | subject if isinstance(subject, int) else paths.index(subject)
    text = constant if isinstance(constant, bytes) else b""
    value = constant if isinstance(constant, int) else 0
    if isinstance(constant, float):
        [value] = struct.unpack("=q", struct.pack("=d", constant))
    kind = _KIND_NUMBERS[_kind_of(constant)]
    operation = _OPERATIONS[condition.operation]
    row = struct.pack("=BBBBBxHH6xq", clause, bits, number, operation, kind, at, len(text), value)
    return row, text


def _names(probes: list[ast.ProbeDesc]) -> set[str]:
    """The probes with values that descriptions may match."""
    return {
        name
        for probe in probes
        for name in PROBES
        if (not probe.name or matches_pattern(name, probe.name)) and _may_be_python(probe.provider)
    }


def _may_be_python(provider: str) -> bool:
    return not provider or any(each in provider for each in "*?[$") or provider.startswith("python")


def matches_pattern(name: str, pattern: str) -> bool:
    if not any(each in pattern for each in "*?["):
        return name == pattern
    from fnmatch import fnmatchcase  # its re takes long to import

    return fnmatchcase(name, pattern)
