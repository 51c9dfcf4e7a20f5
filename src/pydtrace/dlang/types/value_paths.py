"""Paths to values of a Python program: `local.cart.items[0].price`, `global.NAME`, `retval`, `exception`.

- A path becomes an argument of the event, from arg6 on: the traced process follows it
  (src/pyusdt/_core_c/vm/fetch_program.h has the form of its bytes).
- repr(PATH) is a whole value as text, repr(local) all variables; print(PATH) prints it.
- The type comes from the use: a string beside a string or %s, a double beside a double or %f, else
  an integer. If a use does not tell (a key, an assignment), a cast must. A program with paths may
  have floating-point values without -x pyusdt.
- `local`, `global`, `retval` and `exception` are not reserved: a name of the program takes
  precedence.
- A path with the name of a secret is refused without `-x secrets`.
"""

from __future__ import annotations

import struct

from pydtrace.dlang import ast, constants
from pydtrace.dlang.code.argument_demand import walk_nodes
from pydtrace.dlang.compile_errors import refuse, refuse_unsupported
from pydtrace.program import d_types as t
from pydtrace.program.printf_format import FormatError, parse_format
from pydtrace.suggestions import closest_match

from .path_codes import (
    ATTRIBUTE,
    DOUBLE,
    FIRST_ARGUMENT,
    INDEX,
    INT,
    KEY,
    LENGTH,
    LOCALS,
    PRESENT,
    RATE,
    REPR,
    REPR_LEAST,
    REPR_WITH_SECRETS,
    ROOTS,
    STRING,
    TYPENAME,
    VERSION,
)
from .probe_arguments import make_raw_argument, make_string_argument
from .value_conditions import ALWAYS, EXACT, NUMBER, REAL, TEXT, PredicateReader, read_constant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeGuard

    from ..front.source_text import Location
    from .resolve import ProgramNames

_STEPS, _NAME = 8, 255  # PYUSDT_FETCH_STEPS, PYUSDT_FETCH_NAME
_FUNCTIONS = {"present": PRESENT, "typename": TYPENAME, "length": LENGTH, "repr": REPR}
_PROBES = ("function-entry", "function-return", "line", "exception-raise", "exception-handled")
_GIVEN_PROBES = {
    "retval": ("function-return",),
    "exception": ("exception-raise", "exception-handled", "function-return"),
}
_TEXT_MOST = 1023  # bytes of a string in an event
_GLOB_LETTERS, _SHOWN = set("*?[\\"), 3  # functions in a message
# what a use says of a type
_NUMBER, _TEXT, _REAL = NUMBER, TEXT, REAL
_RESULTS = {_NUMBER: INT, _TEXT: STRING, _REAL: DOUBLE}
_ARITHMETIC, _RELATIONS = frozenset("+-*/"), frozenset(["<", "<=", ">", ">=", "==", "!="])
_LOGICAL = frozenset(["&&", "||", "^^"])
_REAL_CONVERSIONS = frozenset("aAeEfFgG")
_TEXT_NAMES = frozenset(
    ["execname", "probeprov", "probemod", "probefunc", "probename", "cwd", "root", "execargs"]
)
_LISTED = """basename cleanpath dirname index json rindex strchr strjoin strlen strrchr strstr strtok
    substr tolower toupper strtoll copyinstr lltostr inet_ntoa stringof"""
_TEXT_FUNCTIONS = frozenset(_LISTED.split())
_TAKE_TEXT = _TEXT_FUNCTIONS - {"copyinstr", "lltostr", "inet_ntoa", "stringof"}
_TAKE_NUMBERS = frozenset(
    ["sum", "avg", "min", "max", "stddev", "quantize", "lquantize", "llquantize", "lltostr", "exit"]
)
_FORMATTERS = frozenset(["printf"])


def _is_secret(name: str) -> bool:
    from pydtrace.program.secret_names import is_on_list  # its re takes long to import

    return is_on_list(name)


def is_value_root(node: ast.Node) -> TypeGuard[ast.Ident]:
    """Whether a node is a name that begins a path to a value: local, global, retval, exception."""
    return type(node) is ast.Ident and node.name in ROOTS


class Path:
    """A path as the source has it: root: a key of ROOTS; steps: [(operation, name or number)]."""

    __slots__ = ("loc", "name", "root", "steps")

    def __init__(
        self, loc: Location, root: str, name: str, steps: list[tuple[int, str | int]]
    ) -> None:
        self.loc, self.root, self.name, self.steps = loc, root, name, steps

    def __str__(self) -> str:
        shown = self.root + (f".{self.name}" if self.name else "")
        for operation, operand in self.steps:
            if operation == ATTRIBUTE:
                shown += f".{operand}"
            else:
                shown += f'["{operand}"]' if isinstance(operand, str) else f"[{operand}]"
        return shown

    @property
    def names(self) -> list[str]:
        return [self.name, *(each for _, each in self.steps if isinstance(each, str))]

    @property
    def is_all(self) -> bool:
        """Whether it is all variables."""
        return self.root == "local" and not self.name

    def encode(self, result: int, most: int = _TEXT_MOST) -> bytes:
        """The program that the traced process runs; most: bytes of a text."""
        names, rows = b"", b""
        places = []
        for text in [
            self.name,
            *(str(each) if op in (ATTRIBUTE, KEY) else "" for op, each in self.steps),
        ]:
            data = text.encode()
            places.append((len(names), len(data)))
            names += data
        for (operation, operand), place in zip(self.steps, places[1:], strict=True):
            number = operand if isinstance(operand, int) else 0
            rows += struct.pack("=B3xHHq", operation, *place, number)
        root = LOCALS if self.is_all else ROOTS[self.root]
        size = 16 + len(rows) + len(names)
        head = struct.pack(
            "=IBBBBHHI", size, VERSION, root, len(self.steps), result, *places[0], most
        )
        return head + rows + names


def encode_rate(size: int) -> bytes:
    """How many bytes of values a second the traced process may send: one more path of a session."""
    return struct.pack("=IBBBBHHI", 16, VERSION, RATE, 0, 0, 0, 0, min(size, (1 << 32) - 1))


def note_variables(names: ProgramNames, unit: ast.Unit) -> None:
    """Notes which of these names the program's clauses use for variables of their own, which assignments make, and whether they use
    other ones."""
    for item in unit.items:
        for node in walk_nodes(item) if type(item) is ast.Clause else ():
            if type(node) is ast.Ident and node.name in ROOTS:
                names.may_read_values = True
            target = node.target if isinstance(node, ast.Assign) else None
            target = node.operand if isinstance(node, ast.IncDec) else target
            if type(target) is ast.Index:
                target = target.base
            if type(target) is ast.Ident and target.name in ROOTS:
                names.own_roots.add(target.name)


def rewrite_clause(names: ProgramNames, clause: ast.Clause) -> None:
    """Replaces the paths of a clause by arguments, before it is typed."""
    writer = _PathWriter(names, clause.probes)
    strsize = int(names.options.get("strsize", 256))
    names.term_conditions.add(clause.probes, clause.predicate, strsize)
    alternatives = ALWAYS
    if clause.predicate is not None:
        reader = PredicateReader(writer.find_subject, clause.probes, strsize)
        alternatives = reader.read(clause.predicate)
        clause.predicate = writer.rewrite(clause.predicate, _REAL)
    names.conditions.add(clause.probes, alternatives)
    for statement in clause.body or []:
        assert isinstance(statement, ast.ExprStmt)
        statement.expr = writer.rewrite(statement.expr, None)


def _use_of_type(type: t.Type | None) -> str | None:
    """What a value of a type is for a path."""
    if type is None:
        return None
    if type.is_string:
        return _TEXT
    return _REAL if t.is_real(type) else _NUMBER if type.is_integer else None


class _PathWriter:
    def __init__(self, names: ProgramNames, probes: Sequence[ast.ProbeDesc]) -> None:
        self._names, self._probes = names, probes

    def rewrite(self, node: ast.Expr, use: str | None) -> ast.Expr:
        """The node, or what stands for it; use: what its place says of its type."""
        path = self._find_path(node)
        if path is not None:
            return self._make_value(path, use)
        if type(node) is ast.Call:
            return self._rewrite_call(node)
        self._check_place(node)
        uses = self._uses_of_children(node, use)
        for field in node.fields:
            value = getattr(node, field)
            if isinstance(value, ast.Expr):
                setattr(node, field, self.rewrite(value, uses.get(field)))
            elif value.__class__ is list:
                value[:] = [
                    self.rewrite(each, uses.get(field)) if isinstance(each, ast.Expr) else each
                    for each in value
                ]
        return node

    def _check_place(self, node: ast.Expr) -> None:
        """Refuses a path that is to be written, or whose address is to be taken."""
        written = None
        if type(node) is ast.Assign:
            written = node.target
        elif type(node) is ast.IncDec or type(node) is ast.Unary and node.op == "&":
            written = node.operand
        path = self._find_path(written) if written is not None else None
        if path is not None:
            what = "has no address" if type(node) is ast.Unary else "cannot be written"
            refuse("D_PATH_WRITE", path.loc, f"{path} {what}: it is a value of the program")

    # --- what a use says --------------------------------------------------------------

    def _uses_of_children(self, node: ast.Expr, use: str | None) -> dict[str, str | None]:
        if type(node) is ast.Binary:
            which = self._use_of_operands(node, use)
            return {"left": which, "right": which}
        if type(node) is ast.Unary:
            keeps = node.op == "!" or use == _REAL and node.op in _ARITHMETIC
            return {"operand": _REAL if keeps else _NUMBER}
        if type(node) is ast.Ternary:
            if self._is_real(node.then) or self._is_real(node.otherwise):
                use = _REAL
            return {"cond": _REAL, "then": use, "otherwise": use}
        if type(node) is ast.Cast:
            return {"operand": _use_of_type(node.to) or _NUMBER}
        if type(node) is ast.Stringof:
            return {"operand": _TEXT}
        if type(node) is ast.Assign:
            known = _use_of_type(self._find_variable_type(node.target))
            return {"value": known or (None if node.op == "=" else _NUMBER)}
        return {}

    def _use_of_operands(self, node: ast.Binary, use: str | None) -> str:
        if node.op in _RELATIONS and (self._is_text(node.left) or self._is_text(node.right)):
            return _TEXT
        has_real = self._is_real(node.left) or self._is_real(node.right)
        if node.op in _LOGICAL or node.op in _RELATIONS | _ARITHMETIC and has_real:
            return _REAL
        if node.op in _RELATIONS and self._is_compared_exactly(node):
            return _REAL
        return _REAL if use == _REAL and node.op in _ARITHMETIC else _NUMBER

    def _is_compared_exactly(self, node: ast.Binary) -> bool:
        """Whether it compares a path with an integer constant that a double has exactly: then 100.5 > 100, and every int is right, too."""
        for side, other in ((node.left, node.right), (node.right, node.left)):
            constant = read_constant(other)
            if isinstance(constant, int) and abs(constant) < EXACT:
                return self._find_path(side) is not None
        return False

    def _is_real(self, node: ast.Expr) -> bool:
        """Whether an expression is a double as it is written."""
        if type(node) is ast.FloatLit:
            return True
        if type(node) is ast.Unary:
            return node.op in _ARITHMETIC and self._is_real(node.operand)
        if type(node) is ast.Binary:
            return node.op in _ARITHMETIC and (
                self._is_real(node.left) or self._is_real(node.right)
            )
        if type(node) is ast.Cast:
            return _use_of_type(node.to) == _REAL
        return _use_of_type(self._find_variable_type(node)) == _REAL

    def _find_variable_type(self, node: ast.Expr) -> t.Type | None:
        """That of a variable of the script, as far as it is known."""
        if type(node) is ast.Index:
            node = node.base
        if not isinstance(node, (ast.Ident, ast.ScopedName)):
            return None
        scope = node.scope if isinstance(node, ast.ScopedName) else "global"
        found = self._names.scopes.get(scope, {}).get(node.name)
        return found.type if found is not None else None

    def _is_text(self, node: ast.Expr) -> bool:
        """Whether an expression is a string as it is written."""
        if type(node) in (ast.StrLit, ast.Stringof):
            return True
        if type(node) is ast.Ident:
            return node.name in _TEXT_NAMES
        if type(node) is ast.Cast:
            return node.to is not None and node.to.is_string
        return (
            type(node) is ast.Call
            and type(node.name) is ast.Ident
            and node.name.name in _TEXT_FUNCTIONS | {"typename", "repr"}
        )

    def _rewrite_call(self, node: ast.Call) -> ast.Expr:
        name = node.name.name if type(node.name) is ast.Ident else ""
        if name == "repr" and len(node.args) == 1 and self._is_all_variables(node.args[0]):
            return self._make_result(Path(node.loc, "local", "", []), REPR)
        if name == "print" and len(node.args) == 1:
            self._print_value(node)
        if name in _FUNCTIONS and len(node.args) == 1:
            path = self._find_path(node.args[0])
            if path is not None:
                return self._make_result(path, _FUNCTIONS[name])
        uses: list[str | None] = [None] * len(node.args)
        if name in _TAKE_TEXT:
            other = _TEXT if name in ("strjoin", "strstr", "strtok", "json") else _NUMBER
            uses = [_TEXT, *[other for _ in uses]]
        elif name in _TAKE_NUMBERS:
            uses = [_NUMBER for _ in uses]
        elif name in _FORMATTERS and node.args and type(node.args[0]) is ast.StrLit:
            uses = self._uses_of_format(node.args[0], len(uses))
        node.args = [self.rewrite(each, use) for each, use in zip(node.args, uses)]
        return node

    def _is_all_variables(self, node: ast.Expr) -> bool:
        return type(node) is ast.Ident and node.name == "local" and self._is_root("local")

    def _print_value(self, node: ast.Call) -> None:
        """print(PATH) becomes printf("%s\\n", repr(PATH))."""
        assert type(node.name) is ast.Ident
        argument = node.args[0]
        if not self._is_all_variables(argument) and self._find_path(argument) is None:
            return
        node.name.name = "printf"
        called = ast.Call(node.loc, ast.Ident(node.loc, "repr"), None, [argument])
        node.args = [ast.StrLit(node.loc, b"%s\n"), called]

    def _uses_of_format(self, literal: ast.StrLit, count: int) -> list[str | None]:
        found: list[str | None] = [None]
        try:
            conversions = parse_format(literal.value).conversions
        except FormatError:
            return [None] * count  # printf() itself is about to report it
        for each in conversions:
            found += [_NUMBER] * (each.star_width + each.star_precision)
            if each.argument_count > each.star_width + each.star_precision:
                name = each.row.name
                is_text, is_real = name in ("s", "S"), name[-1:] in _REAL_CONVERSIONS
                found.append(_TEXT if is_text else _REAL if is_real else _NUMBER)
        return found + [None] * max(count - len(found), 0)

    def find_subject(self, node: ast.Expr, use: str) -> tuple[bytes, str, str] | None:
        """What a PredicateReader asks for."""
        path, result = self._find_path(node), _RESULTS[use]
        shown = str(path)
        if type(node) is ast.Call and type(node.name) is ast.Ident and len(node.args) == 1:
            path, result = self._find_path(node.args[0]), _FUNCTIONS.get(node.name.name, 0)
            shown = f"{node.name.name}({path})"
        if path is None or not result or result == REPR:
            return None
        kind = _TEXT if result in (STRING, TYPENAME) else _REAL if result == DOUBLE else _NUMBER
        return path.encode(result), shown, kind

    # --- paths ------------------------------------------------------------------------

    def _find_path(self, node: ast.Expr) -> Path | None:
        """The path that a node is, or None."""
        steps: list[tuple[int, str | int]] = []
        at, loc = node, node.loc
        while True:
            if type(at) is ast.Select and at.op == ".":
                steps.append((ATTRIBUTE, at.name))
                at = at.base
            elif type(at) is ast.Index and len(at.keys) == 1:
                if not self._begins_path(at.base):
                    return None
                steps.append(self._make_index(at.keys[0]))
                at = at.base
            else:
                break
        if type(at) is not ast.Ident or not self._is_root(at.name):
            return None
        steps.reverse()
        name = ""
        if at.name in ("local", "global"):
            if not steps or steps[0][0] != ATTRIBUTE:
                refuse("D_SYNTAX", loc, f"{at.name} is followed by a name: {at.name}.NAME")
            name = str(steps.pop(0)[1])
        return Path(loc, at.name, name, steps)

    def _begins_path(self, node: ast.Expr) -> bool:
        while type(node) in (ast.Select, ast.Index):
            assert isinstance(node, (ast.Select, ast.Index))
            node = node.base
        return type(node) is ast.Ident and self._is_root(node.name)

    def _is_root(self, name: str) -> bool:
        return (
            name in ROOTS
            and name not in self._names.own_roots
            and name not in self._names.scopes["global"]
            and self._names.find_inline(name) is None
        )

    def _make_index(self, key: ast.Expr) -> tuple[int, str | int]:
        found = self._fold(key)
        if type(found) is ast.IntLit:
            return INDEX, constants.to_signed(found.value)
        if type(found) is ast.StrLit:
            return KEY, found.value.decode("utf-8", "surrogateescape")
        refuse_unsupported(
            key.loc,
            "only constants are indexes of a path: other expressions are",
            "the process reads the value before the clause runs, and only the clause knows the index; repr() shows the items",
        )
        raise AssertionError

    def _fold(self, node: ast.Expr) -> ast.Expr | None:
        """The constant that an index is, or None."""
        if type(node) in (ast.IntLit, ast.StrLit):
            return node
        if type(node) is ast.Ident:
            inline = self._names.find_inline(node.name)
            has_value = inline is not None and inline.value is not None and not inline.keys
            return self._fold(inline.value) if has_value else None  # type: ignore[union-attr, arg-type]
        parts = [
            self._fold(getattr(node, name))
            for name in ("operand", "left", "right")
            if name in node.fields
        ]
        literals = [each for each in parts if type(each) is ast.IntLit]
        if not parts or len(literals) != len(parts):
            return None
        if type(node) is ast.Unary:
            return constants.fold_unary(node.loc, node.op, literals[0])
        return (
            constants.fold_binary(node.loc, node.op, *literals)
            if type(node) is ast.Binary
            else None
        )

    def _make_value(self, path: Path, use: str | None) -> ast.Expr:
        if use is None:
            refuse(
                "D_PATH_TYPE",
                path.loc,
                f"the type of {path} is not known from its use",
                f"write (string){path}, (int64_t){path} or (double){path}",
            )
        return self._make_result(path, _RESULTS[use])

    def _make_result(self, path: Path, result: int) -> ast.Expr:
        self._check(path)
        most = _TEXT_MOST
        if result == REPR:  # one that strsize truncated would not be marked
            most = max(min(most, int(self._names.options.get("strsize", 256)) - 1), REPR_LEAST)
            result = REPR_WITH_SECRETS if self._names.options.get("secrets") else REPR
        if self._names.recorded_paths is None:
            number = self._names.add_path(path.loc, path.encode(result, most), str(path))
        else:
            from .recorded_paths import find_recorded_path

            number = find_recorded_path(
                self._names.recorded_paths, path.encode(result, most), str(path), path.loc
            )
        number += FIRST_ARGUMENT
        if result in (STRING, TYPENAME, REPR, REPR_WITH_SECRETS):
            return make_string_argument(path.loc, number)
        is_real = result == DOUBLE
        return make_raw_argument(path.loc, number, t.FLOATS["double"] if is_real else t.INT64)

    def _check(self, path: Path) -> None:
        for probe in self._probes:
            provider = probe.provider.rstrip("0123456789*")
            if provider != "python" or probe.name not in _PROBES:
                refuse(
                    "D_PATH_PROBE",
                    path.loc,
                    f"{probe} has no values: {path} is of functions, lines and exceptions of the provider python",
                    "python$target:MODULE:FUNCTION:function-entry, for example",
                )
            wanted = _GIVEN_PROBES.get(path.root)
            if wanted and probe.name not in wanted:
                message = f"{probe} has no {path.root}"
                refuse("D_PATH_PROBE", path.loc, message, f"it is at {' and '.join(wanted)}")
        if path.root == "local" and path.name:
            self._check_variable(path)
        if len(path.steps) > _STEPS:
            refuse_unsupported(path.loc, f"paths of more than {_STEPS} steps are")
        for name in path.names:
            if len(name.encode("utf-8", "surrogateescape")) > _NAME:
                refuse_unsupported(path.loc, f"names of more than {_NAME} bytes in a path are")
            if not self._names.options.get("secrets") and _is_secret(name):
                hint = "-x secrets reads it all the same"
                refuse("D_PATH_SECRET", path.loc, f"{path} has the name of a secret", hint)

    def _check_variable(self, path: Path) -> None:
        """Refuses a variable that no function of these running programs has, if each probe names one function."""
        found: dict[str, list[str]] = {}  # function: its variables
        for probe in self._probes:
            if self._names.find_functions is None or _GLOB_LETTERS & set(probe.function or "*"):
                return
            functions = [each for _, each in self._names.find_functions(probe)]
            if not functions or any(path.name in each.names for each in functions):
                return
            found |= {f"{each.module}:{each.name}": each.names for each in functions}
        names = list(dict.fromkeys(name for each in found.values() for name in each))
        which = ", ".join(list(found)[:_SHOWN]) + (" …" if len(found) > _SHOWN else "")
        hint = f"there are {', '.join(names)}" if names else "there are none"
        near = closest_match(path.name, names)
        refuse(
            "D_PATH_NAME",
            path.loc,
            f"no variable {path.name} in {which}",
            f"did you mean {near}? {hint}" if near else hint,
        )
