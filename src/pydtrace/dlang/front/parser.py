"""The parser: tokens -> the tree of a whole program (ast.Unit).

- It has the whole grammar of D, supported or not, so that later passes can refuse a part at its
  place.
- As in C, the grammar depends on which names are types, so declarations are entered into `names`
  (resolve.ProgramNames) while they are parsed.
- It fetches a token only when the grammar needs it. A node's loc.mark, the line that dtrace's
  messages name, is how far the text has been read when the node is made.
"""

from __future__ import annotations

from pydtrace.dlang import ast, beginner_hints, constants
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.dlang.compiler_limits import TOKENS_MAX
from pydtrace.dlang.types import declarations
from pydtrace.program import d_types as t

from . import parse_types, procname_clauses
from .lexer import AGG, CLAUSE, EOF, EXPR, FLOAT, IDENT, INT, PSPEC, SPACE, STRING, Lexer
from .probe_descriptions import find_by_id, parse_description
from .source_text import Location
from .syntax_errors import refuse_token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

    from ..types.resolve import ProgramNames
    from .lexer import MacroVariable, MissingMacro, Token
    from .pragmas import ControlLines
    from .source_text import Source

# Levels of expressions within expressions, so that no program can exhaust the stack.
NESTING_MAX = 150
# Keys of an array, arguments of a call: what a key has room for; dtrace takes eight keys.
ELEMENTS_MAX = 1024

_precedence = {}
for _level, _ops in enumerate(
    ("||", "^^", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"), start=1
):
    for _op in _ops.split():
        _precedence[_op] = _level
_ASSIGNMENTS = frozenset(["=", "*=", "/=", "%=", "+=", "-=", "<<=", ">>=", "&=", "^=", "|="])
_UNARY = frozenset(["&", "*", "+", "-", "~", "!"])


def _mentions_values(text: str) -> bool:
    """Whether a program may read values of Python, which makes floats part of its language: types/value_paths.py decides."""
    import re  # takes long to import

    return bool(re.search(r"\b(?:(?:local|global)\s*\.|retval\b|exception\b)", text))


class Parser:
    """macros, args, default_args: see Lexer; control: the pragmas.ControlLines;
    names: resolve.ProgramNames; probe_level: what a probe description's last part is, "name" but
    for dtrace's -P, -m and -f."""

    def __init__(
        self,
        source: Source,
        names: ProgramNames,
        control: ControlLines,
        macros: Mapping[str, int | MacroVariable | MissingMacro] | None = None,
        args: Sequence[str] = (),
        default_args: bool = False,
        probe_level: str = "name",
    ) -> None:
        self.source, self.names = source, names
        self.control, self.probe_level, self.limits = control, probe_level, names.limits
        self.lexer = Lexer(source, macros or {}, args, default_args, self._read_control_line)
        self.lexer.allows_floats = lambda: (
            "pyusdt" in names.options or _mentions_values(self.lexer.text)
        )
        self.token: Token | None = None  # the token that has been looked at and not taken
        # the one that was taken last, and the one before it
        self.last_token: Token | None = None
        self.token_before_last: Token | None = None
        self.parameters: set[str | None] = set()  # of the inline or translator around the place
        self.depth = 0
        self.record_depth = 0  # structs and unions around the place
        self.items: list[ast.Node] = []
        self.names_processes = False  # procname() is called

    # --- tokens and places ------------------------------------------------------

    def peek(self) -> str:
        """The kind of the next token."""
        token = self.token
        if token is None:
            token = self.token = self.lexer.next_token()
        return token.kind

    def peek_token(self) -> Token:
        """The next token, which stays the next one."""
        if self.token is None:
            self.token = self.lexer.next_token()
        return self.token

    def next_start(self) -> int:
        """Where the next token begins."""
        return self.peek_token().start

    def next_token(self) -> Token:
        """Take the next token."""
        token = self.token
        if token is None:
            token = self.lexer.next_token()
        self.token = None
        self.token_before_last, self.last_token, self.last_end = self.last_token, token, token.end
        self.limits.tokens += 1
        if self.limits.tokens > TOKENS_MAX:
            self.limits.refuse_token(self.token_location(token))
        return token

    def accept(self, kind: str) -> Token | None:
        """Take the next token if it is of this kind."""
        if self.peek() == kind:
            return self.next_token()
        return None

    def expect(self, kind: str, hint: str | None = None) -> Token:
        if self.peek() != kind:
            self.raise_syntax_error(
                hint
                or f"expected {kind if kind.islower() or not kind.isalpha() else 'a name'} here"
            )
        return self.next_token()

    def location_from(self, start: int, named: ast.Expr | None = None) -> Location:
        """A Location from `start` to the end of the last token taken.  named: the node of the name
        that dtrace turns into this one, and whose line it keeps."""
        return Location(
            self.source, start, self.last_end, self.lexer.pos if named is None else named.loc.mark
        )

    def token_location(self, token: Token) -> Location:
        return Location(self.source, token.start, token.end, self.lexer.pos)

    def raise_error(
        self, tag: str, loc: Location, message: str, hint: str | None = None
    ) -> NoReturn:
        raise CompileError(tag, loc, message, hint)

    def raise_syntax_error(self, hint: str | None = None) -> NoReturn:
        """Refuse the next token."""
        refuse_token(self, hint)

    def enter_level(self) -> None:
        self.depth += 1
        if self.depth > NESTING_MAX:
            message = f"more than {NESTING_MAX} levels of nesting are not supported"
            self.raise_error("D_UNSUPPORTED", self.token_location(self.peek_token()), message)

    def check_count(self, elements: Sequence[ast.Node]) -> None:
        """Refuse a list that has too many elements, before the rest of it is read."""
        if len(elements) > ELEMENTS_MAX:
            self.raise_error(
                "D_UNSUPPORTED",
                self.token_location(self.peek_token()),
                f"more than {ELEMENTS_MAX} keys or arguments are not supported",
            )

    def _read_control_line(
        self, words: list[tuple[str, bytes | str, int, int]], start: int, end: int
    ) -> None:
        self.control(words, Location(self.source, start, end, start), self.items)

    # --- the program ------------------------------------------------------------

    def parse(self) -> ast.Unit:
        """The whole program, an ast.Unit."""
        lexer, items = self.lexer, self.items
        self.last_end = 0
        while True:
            lexer.mode = CLAUSE
            kind = self.peek()
            if kind == EOF:
                break
            token = self.peek_token()
            self.limits.location = self.token_location(token)
            if kind == PSPEC and self.starts_declaration(token):
                token.kind = IDENT
                kind = IDENT
            if kind in (PSPEC, INT):
                items.append(self.parse_clause())
                continue
            if kind in ("{", "/", ","):
                self.raise_syntax_error("a clause begins with its probe description")
            lexer.mode = EXPR
            if kind == "inline":
                items.append(parse_types.parse_inline(self))
            elif kind == "translator":
                items.append(parse_types.parse_translator(self))
            elif kind == "provider":
                items.append(parse_types.parse_provider(self))
            else:
                items += parse_types.parse_declaration(self)
        end = len(self.source.text)
        declared = (ast.Declaration, ast.TypeDeclaration, ast.Pragma)
        if all(item.__class__ in declared for item in items) and not self.control.may_be_empty:
            loc = Location(self.source, max(0, end - 1), end, end)
            self.raise_error(
                "D_EMPTY",
                loc,
                "empty D program translation unit",
                "a program has at least one clause",
            )
        return ast.Unit(Location(self.source, 0, end, end), items)

    def starts_declaration(self, token: Token) -> bool:
        """True if a probe description token is rather the type of a declaration; the token
        and the lexer are then put behind the name, where it was read with a `*`."""
        word = token.value
        if any(c in ":-.?!`" for c in word) or word in ("BEGIN", "END", "ERROR"):
            return False
        star = word.find("*")
        name = word[:star] if star > 0 else word
        if not declarations.is_type_name(self.names, name):
            return False
        token.value, token.end = name, token.start + len(name)
        self.lexer.pos = token.end
        return True

    def parse_clause(self) -> ast.Clause:
        """probe descriptions, predicate, actions"""
        start = self.next_start()
        probes = [self.parse_description()]
        while self.peek() == ",":
            self.next_token()
            if self.peek() not in (PSPEC, INT):
                self.raise_syntax_error("expected a probe description after the comma")
            probes.append(self.parse_description())
        specifiers = self.location_from(start)
        self.lexer.mode = EXPR
        predicate, body = None, None
        if self.accept("/"):
            predicate = self.parse_expression()
            self.expect("EPRED", "a predicate ends with / before the {")
            if self.peek() == EOF:
                self.raise_syntax_error("expected { } after the predicate")
            if self.peek() != "{":
                message = "expected actions { } following probe description and predicate"
                self.raise_error("D_SYNTAX", predicate.loc, message)
        elif self.peek() != "{" and self.source.name is not None:
            message = "expected predicate and/or actions following probe description"
            mark = probes[0].loc.mark
            self.raise_error(
                "D_SYNTAX",
                Location(self.source, start, specifiers.end, mark),
                message,
                "add { } to trace it",
            )
        if self.accept("{"):
            body = self.parse_statements() or None
            self.expect("}")
        return ast.Clause(self.location_from(start), probes, predicate, body)

    def parse_description(self) -> ast.ProbeDesc:
        token = self.next_token()
        loc = self.token_location(token)
        self.limits.count_description(loc)
        if token.kind == INT:
            return find_by_id(token.value[0], loc, self.names.list_probes, self.probe_level)
        return parse_description(token.value, loc, self.lexer, self.probe_level)

    def parse_statements(self) -> list[ast.ExprStmt]:
        found: list[ast.ExprStmt] = []
        while True:
            kind = self.peek()
            if kind == ";":
                self.next_token()
            elif kind == "}":
                return found
            else:
                found.append(self.parse_statement())
                if self.peek() not in (";", "}"):
                    self.raise_syntax_error("expected ; after the statement")

    def parse_statement(self) -> ast.ExprStmt:
        start = self.next_start()
        expr = self.parse_expression()
        self.peek()
        return ast.ExprStmt(self.location_from(start), expr)

    # --- expressions --------------------------------------------------------------

    def parse_expression(self) -> ast.Expr:
        """Comma expressions."""
        start = self.next_start()
        expr = self.parse_assignment()
        if self.peek() != ",":
            return expr
        parts = [expr]
        while self.accept(","):
            parts.append(self.parse_assignment())
            self.peek()
        return ast.Comma(self.location_from(start), parts)

    def parse_assignment(self) -> ast.Expr:
        self.enter_level()
        start = self.next_start()
        expr, assignable = self.parse_conditional()
        op = self.peek()
        if op in _ASSIGNMENTS:
            if not assignable:
                self.raise_syntax_error("the left side of an assignment is a variable; == compares")
            self.next_token()
            value = self.parse_assignment()
            self.peek()
            loc = self.location_from(start)
            constants.check_division(loc, op, self.fold_name(value))
            expr = ast.Assign(loc, op, expr, value)
        self.depth -= 1
        return expr

    def parse_conditional(self) -> tuple[ast.Expr, bool]:
        """(node, True if it may stand on the left of an assignment)"""
        start = self.next_start()
        cond, assignable = self.parse_binary(1)
        if self.peek() != "?":
            return cond, assignable
        self.enter_level()
        self.next_token()
        then = self.parse_expression()
        self.expect(":")
        self.peek()
        otherwise, _ = self.parse_conditional()
        self.depth -= 1
        self.peek()
        # as in dtrace, the branch that is not taken where the condition is constant, an inline one too, is of any type
        return constants.fold_ternary(
            self.location_from(start), self.fold_name(cond), then, otherwise
        ), False

    def parse_binary(self, level: int) -> tuple[ast.Expr, bool]:
        """Operators of at least `level`, by precedence climbing."""
        start = self.next_start()
        left, assignable = self.parse_cast()
        links = 0
        while True:
            op = self.peek()
            found = _precedence.get(op, 0)
            if found < level:
                self.depth -= links
                return left, assignable
            self.enter_level()
            links += 1
            self.next_token()
            right, _ = self.parse_binary(found + 1)
            self.peek()
            left = constants.fold_binary(
                self.location_from(start), op, self.fold_name(left), self.fold_name(right)
            )
            assignable = False

    def fold_name(self, node: ast.Expr) -> ast.Expr:
        """An operand: its value where it is the name of a constant, an inline one or an enumerator."""
        return declarations.fold_constant(self.names, node) if type(node) is ast.Ident else node

    def parse_cast(self) -> tuple[ast.Expr, bool]:
        """(node, False) for a cast, else a unary expression and True."""
        if self.peek() != "(":
            return self.parse_unary(), True
        start = self.next_start()
        self.next_token()
        if not parse_types.starts_type(self):
            return self.parse_unary(self.parse_parenthesized(start)), True
        to = parse_types.parse_type_name(self)
        self.expect(")")
        self.enter_level()
        operand, _ = self.parse_cast()
        operand = self.fold_name(operand)
        self.depth -= 1
        self.peek()
        loc = self.location_from(start)
        target = declarations.resolve_type(self.names, to)
        if type(operand) is ast.IntLit and target.is_integer:
            return constants.fold_cast(loc, operand, target), False
        return ast.Cast(loc, operand, target), False

    def parse_parenthesized(self, start: int) -> ast.Expr:
        """The rest of `( expression )`, the parenthesis taken already."""
        self.enter_level()
        expr = self.parse_expression()
        self.expect(")")
        self.depth -= 1
        return expr

    def parse_unary(self, primary: ast.Expr | None = None) -> ast.Expr:
        if primary is not None:
            return self.parse_postfix(primary)
        op = self.peek()
        start = self.next_start()
        if op in _UNARY:
            self.enter_level()
            self.next_token()
            operand, _ = self.parse_cast()
            self.depth -= 1
            self.peek()
            return constants.fold_unary(self.location_from(start), op, self.fold_name(operand))
        if op in ("++", "--"):
            operand = self.parse_prefixed()
            return ast.IncDec(self.location_from(start), op, operand, True)
        if op == "sizeof":
            return self.parse_sizeof(start)
        if op == "stringof":
            operand = self.parse_prefixed()
            return ast.Stringof(self.location_from(start), operand)
        return self.parse_postfix(self.parse_primary())

    def parse_prefixed(self) -> ast.Expr:
        """The unary expression after ++, -- or stringof."""
        self.enter_level()
        self.next_token()
        self.peek()
        operand = self.parse_unary()
        self.depth -= 1
        self.peek()
        return operand

    def parse_sizeof(self, start: int) -> ast.Expr:
        self.next_token()
        if self.peek() == "(":
            open_at = self.next_start()
            self.next_token()
            if parse_types.starts_type(self):
                name = parse_types.parse_type_name(self)
                self.expect(")")
                loc = self.location_from(start)
                size = declarations.type_size(loc, declarations.resolve_type(self.names, name))
                return constants.make_literal(loc, size, t.SIZE_T)
            operand = self.parse_unary(self.parse_parenthesized(open_at))
        else:
            self.enter_level()
            operand = self.parse_unary()
            self.depth -= 1
        self.peek()
        loc = self.location_from(start)
        if type(operand) is ast.StrLit:
            return constants.make_literal(loc, len(operand.value) + 1, t.SIZE_T)
        return ast.Sizeof(loc, operand)

    def parse_primary(self) -> ast.Expr:
        token = self.peek_token()
        kind = token.kind
        if kind == IDENT:
            if self.is_used_as_variable(token):
                self.names.note_mention(token.value)
            elif declarations.is_type_name(self.names, token.value):
                self.raise_syntax_error(f"{token.value} is a type")
            self.next_token()
            return ast.Ident(self.token_location(token), token.value)
        if kind == INT:
            self.next_token()
            return constants.make_integer(self.token_location(token), token.value)
        if kind == FLOAT:
            self.next_token()
            return ast.FloatLit(self.token_location(token), token.value)
        if kind == STRING:
            self.next_token()
            return ast.StrLit(self.token_location(token), token.value.split(b"\0", 1)[0])
        if kind == AGG:
            self.next_token()
            return ast.AggRef(self.token_location(token), token.value, [])
        if kind in ("self", "this"):
            self.next_token()
            return ast.Ident(self.token_location(token), kind)
        if kind == "(":
            self.next_token()
            return self.parse_parenthesized(token.start)
        if kind == "offsetof":
            return self.parse_offsetof()
        if kind == "xlate":
            return self.parse_xlate()
        if kind in ("if", "else", "for", "while", "do", "switch", "goto"):
            self.raise_syntax_error(
                beginner_hints.hint_for_statement(kind) or "use a predicate or ?:"
            )
        self.raise_syntax_error()

    def is_used_as_variable(self, token: Token, comma: bool = True) -> bool:
        """Whether what follows a name can only follow a variable's: = ++ -- [ ; or (comma) a comma
        outside parentheses."""
        text, pos = self.source.text, token.end
        while text[pos : pos + 1] in SPACE and pos < len(text):
            pos += 1
        c, two = text[pos : pos + 1], text[pos : pos + 2]
        if c == "=":
            return two != "=="
        return (
            c in ("[", ";")
            or two in ("++", "--")
            or comma
            and c == ","
            and self.lexer.opened["("] == 0
        )

    def parse_postfix(self, expr: ast.Expr) -> ast.Expr:
        start = expr.loc.start
        links = 0
        while True:
            kind = self.peek()
            if kind == "[":
                self.next_token()
                keys = self.parse_arguments("]")
                expr = self.make_index(self.location_from(start, expr), expr, keys)
            elif kind == "(":
                self.next_token()
                args = self.parse_arguments(")") if self.peek() != ")" else []
                self.next_token()
                expr = self.make_call(start, expr, args)
            elif kind in (".", "->"):
                self.next_token()
                self.lexer.after_member = True
                if self.peek() != IDENT:
                    self.raise_syntax_error("expected a member's name")
                name = parse_types.parse_plain_name(self)
                expr = self.make_member(self.location_from(start), kind, expr, name)
            elif kind in ("++", "--"):
                self.next_token()
                expr = ast.IncDec(self.location_from(start), kind, expr, False)
            else:
                self.depth -= links
                return expr
            self.enter_level()
            links += 1

    def parse_arguments(self, close: str) -> list[ast.Expr]:
        """Assignment expressions, separated by commas, before `close`, which is taken if it is ]."""
        found = [self.parse_assignment()]
        while self.accept(","):
            found.append(self.parse_assignment())
            self.check_count(found)
        if self.peek() != close:
            self.raise_syntax_error(f"expected , or {close} here")
        if close == "]":
            self.next_token()
        return found

    def make_call(self, start: int, callee: ast.Expr, args: list[ast.Expr]) -> ast.Expr:
        loc = self.location_from(start, callee)
        if type(callee) is ast.Ident and callee.name == procname_clauses.FUNCTION:
            self.names_processes = True
            return procname_clauses.make_lookup(loc, args)
        self.names.require_function(self.location_from(start), callee)
        return ast.Call(loc, callee, None, args)

    @staticmethod
    def make_index(loc: Location, expr: ast.Expr, keys: list[ast.Expr]) -> ast.Expr:
        if type(expr) is ast.AggRef and not expr.keys:
            return ast.AggRef(loc, expr.symbol, keys)
        return ast.Index(loc, expr, keys)

    @staticmethod
    def make_member(loc: Location, op: str, base: ast.Expr, name: str) -> ast.Expr:
        if op == "->" and type(base) is ast.Ident and base.name in ("self", "this"):
            return ast.ScopedName(loc, base.name, name)
        return ast.Select(loc, op, base, name)

    def parse_offsetof(self) -> ast.Expr:
        start = self.next_token().start
        self.expect("(")
        name = parse_types.parse_type_name(self)
        self.expect(",")
        self.lexer.after_member = True
        member = self.expect(IDENT)
        self.expect(")")
        return declarations.fold_offsetof(
            self.names,
            self.location_from(start),
            declarations.resolve_type(self.names, name),
            member.value,
        )

    def parse_xlate(self) -> ast.Xlate:
        start = self.next_token().start
        self.expect("<")
        name = parse_types.parse_type_name(self)
        self.expect(">")
        self.expect("(")
        operand = self.parse_expression()
        self.expect(")")
        self.peek()
        return ast.Xlate(
            self.location_from(start), declarations.resolve_type(self.names, name), operand
        )
