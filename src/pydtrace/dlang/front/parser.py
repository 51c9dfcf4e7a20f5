# mypy: ignore-errors
"""The parser: tokens in, the tree of a whole program out (ast.Unit).

Hand-written, and the whole grammar of D: what is not supported is parsed too, so that
the later passes can refuse it at its place.  As in C, the grammar depends on which names
are types, so declarations are entered into `names` (resolve.Names) as they are parsed.
Always: a token is fetched only when the grammar needs to see it.  A node's loc.mark, the
line that dtrace's messages name, is how far the text has been read when the node is made.
"""

from pydtrace.dlang import ast, beginner_hints, constants
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.dlang.compiler_limits import MOST_TOKENS
from pydtrace.dlang.types import declarations
from pydtrace.program import d_types as t

from . import parse_types
from .lexer import AGG, CLAUSE, EOF, EXPR, FLOAT, IDENT, INT, PSPEC, SPACE, STRING, Lexer
from .probe_descriptions import by_number, describe
from .source_text import Location
from .syntax_errors import refuse_token

# Levels of expressions within expressions, so that no program can exhaust the stack.
MAX_DEPTH = 150
# Keys of an array, arguments of a call: what a key has room for; dtrace takes eight keys.
MAX_ELEMENTS = 1024

_precedence = {}
for _level, _ops in enumerate(
    ("||", "^^", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"), start=1
):
    for _op in _ops.split():
        _precedence[_op] = _level
_ASSIGNMENTS = frozenset(["=", "*=", "/=", "%=", "+=", "-=", "<<=", ">>=", "&=", "^=", "|="])
_UNARY = frozenset(["&", "*", "+", "-", "~", "!"])


class Parser:
    """macros, args, default_args: see Lexer; control: the pragmas.ControlLines;
    names: resolve.Names; probe_level: what a probe description's last part is, "name" but
    for dtrace's -P, -m and -f."""

    def __init__(
        self, source, names, control, macros=None, args=(), default_args=False, probe_level="name"
    ):
        self.source, self.names = source, names
        self.control, self.probe_level, self.budget = control, probe_level, names.budget
        self.lexer = Lexer(source, macros or {}, args, default_args, self._control)
        self.lexer.floats = lambda: "pyusdt" in names.options
        self.token = None  # the token that has been looked at and not taken
        self.last = self.before = None  # the one that was taken last, and the one before it
        self.parameters = ()  # of the inline or translator around the place
        self.depth = 0
        self.nesting = 0  # structs and unions around the place
        self.items = []

    # --- tokens and places ------------------------------------------------------

    def peek(self):
        """The kind of the next token."""
        token = self.token
        if token is None:
            token = self.token = self.lexer.next()
        return token.kind

    def here(self):
        """Where the next token begins."""
        self.peek()
        return self.token.start

    def take(self):
        """Take the next token."""
        token = self.token
        if token is None:
            token = self.lexer.next()
        self.token = None
        self.before, self.last, self.last_end = self.last, token, token.end
        self.budget.tokens += 1
        if self.budget.tokens > MOST_TOKENS:
            self.budget.refuse_token(self.at(token))
        return token

    def accept(self, kind):
        """Take the next token if it is of this kind."""
        if self.peek() == kind:
            return self.take()
        return None

    def expect(self, kind, hint=None):
        if self.peek() != kind:
            self.syntax_error(
                hint
                or f"expected {kind if kind.islower() or not kind.isalpha() else 'a name'} here"
            )
        return self.take()

    def loc(self, start, named=None):
        """A Location from `start` to the end of the last token taken.  named: the node of the name
        that dtrace turns into this one, and whose line it keeps."""
        return Location(
            self.source, start, self.last_end, self.lexer.pos if named is None else named.loc.mark
        )

    def at(self, token):
        return Location(self.source, token.start, token.end, self.lexer.pos)

    def error(self, tag, loc, message, hint=None):
        raise CompileError(tag, loc, message, hint)

    def syntax_error(self, hint=None):
        """Refuse the next token."""
        refuse_token(self, hint)

    def enter(self):
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.peek()
            message = f"more than {MAX_DEPTH} levels of nesting are not supported"
            self.error("D_UNSUPPORTED", self.at(self.token), message)

    def bound(self, elements):
        """Refuse a list that has too many elements, before the rest of it is read."""
        if len(elements) > MAX_ELEMENTS:
            self.peek()
            self.error(
                "D_UNSUPPORTED",
                self.at(self.token),
                f"more than {MAX_ELEMENTS} keys or arguments are not supported",
            )

    def _control(self, words, start, end):
        self.control(words, Location(self.source, start, end, start), self.items)

    # --- the program ------------------------------------------------------------

    def parse(self):
        """The whole program, an ast.Unit."""
        lexer, items = self.lexer, self.items
        self.last_end = 0
        while True:
            lexer.mode = CLAUSE
            kind = self.peek()
            if kind == EOF:
                break
            self.budget.place = self.at(self.token)
            if kind == PSPEC and self.type_begins(self.token):
                self.token.kind = IDENT
                kind = IDENT
            if kind in (PSPEC, INT):
                items.append(self.clause())
                continue
            if kind in ("{", "/", ","):
                self.syntax_error("a clause begins with its probe description")
            lexer.mode = EXPR
            if kind == "inline":
                items.append(parse_types.inline(self))
            elif kind == "translator":
                items.append(parse_types.translator(self))
            elif kind == "provider":
                items.append(parse_types.provider(self))
            else:
                items += parse_types.declaration(self)
        end = len(self.source.text)
        declared = (ast.Declaration, ast.TypeDeclaration, ast.Pragma)
        if all(item.__class__ in declared for item in items) and not self.control.may_be_empty:
            loc = Location(self.source, max(0, end - 1), end, end)
            self.error(
                "D_EMPTY",
                loc,
                "empty D program translation unit",
                "a program has at least one clause",
            )
        return ast.Unit(Location(self.source, 0, end, end), items)

    def type_begins(self, token):
        """True if a probe description token is rather the type of a declaration; the token
        and the lexer are then put behind the name, where it was read with a `*`."""
        word = token.value
        if any(c in ":-.?!`" for c in word) or word in ("BEGIN", "END", "ERROR"):
            return False
        star = word.find("*")
        name = word[:star] if star > 0 else word
        if not declarations.is_type(self.names, name):
            return False
        token.value, token.end = name, token.start + len(name)
        self.lexer.pos = token.end
        return True

    def clause(self):
        """probe descriptions, predicate, actions"""
        start = self.here()
        probes = [self.probe_description()]
        while self.peek() == ",":
            self.take()
            if self.peek() not in (PSPEC, INT):
                self.syntax_error("expected a probe description after the comma")
            probes.append(self.probe_description())
        specifiers = self.loc(start)
        self.lexer.mode = EXPR
        predicate, body = None, None
        if self.accept("/"):
            predicate = self.expression()
            self.expect("EPRED", "a predicate ends with / before the {")
            if self.peek() == EOF:
                self.syntax_error("expected { } after the predicate")
            if self.peek() != "{":
                message = "expected actions { } following probe description and predicate"
                self.error("D_SYNTAX", predicate.loc, message)
        elif self.peek() != "{" and self.source.name is not None:
            message = "expected predicate and/or actions following probe description"
            mark = probes[0].loc.mark
            self.error(
                "D_SYNTAX",
                Location(self.source, start, specifiers.end, mark),
                message,
                "add { } to trace it",
            )
        if self.accept("{"):
            body = self.statements() or None
            self.expect("}")
        return ast.Clause(self.loc(start), probes, predicate, body)

    def probe_description(self):
        token = self.take()
        loc = self.at(token)
        self.budget.take_description(loc)
        if token.kind == INT:
            return by_number(token.value[0], loc, self.names.probes, self.probe_level)
        return describe(token.value, loc, self.lexer, self.probe_level)

    def statements(self):
        found = []
        while True:
            kind = self.peek()
            if kind == ";":
                self.take()
            elif kind == "}":
                return found
            else:
                found.append(self.statement())
                if self.peek() not in (";", "}"):
                    self.syntax_error("expected ; after the statement")

    def statement(self):
        start = self.here()
        expr = self.expression()
        self.peek()
        return ast.ExprStmt(self.loc(start), expr)

    # --- expressions --------------------------------------------------------------

    def expression(self):
        """Comma expressions."""
        start = self.here()
        expr = self.assignment()
        if self.peek() != ",":
            return expr
        parts = [expr]
        while self.accept(","):
            parts.append(self.assignment())
            self.peek()
        return ast.Comma(self.loc(start), parts)

    def assignment(self):
        self.enter()
        start = self.here()
        expr, assignable = self.conditional()
        op = self.peek()
        if op in _ASSIGNMENTS:
            if not assignable:
                self.syntax_error("the left side of an assignment is a variable; == compares")
            self.take()
            value = self.assignment()
            self.peek()
            loc = self.loc(start)
            constants.check_division(loc, op, self.folded(value))
            expr = ast.Assign(loc, op, expr, value)
        self.depth -= 1
        return expr

    def conditional(self):
        """(node, True if it may stand on the left of an assignment)"""
        start = self.here()
        cond, assignable = self.binary(1)
        if self.peek() != "?":
            return cond, assignable
        self.enter()
        self.take()
        then = self.expression()
        self.expect(":")
        self.peek()
        otherwise, _ = self.conditional()
        self.depth -= 1
        self.peek()
        # as in dtrace, the branch that is not taken where the condition is constant, an inline one too, is of any type
        return constants.ternary(self.loc(start), self.folded(cond), then, otherwise), False

    def binary(self, level):
        """Operators of at least `level`, by precedence climbing."""
        start = self.here()
        left, assignable = self.cast()
        links = 0
        while True:
            op = self.peek()
            found = _precedence.get(op, 0)
            if found < level:
                self.depth -= links
                return left, assignable
            self.enter()
            links += 1
            self.take()
            right, _ = self.binary(found + 1)
            self.peek()
            left = constants.binary(self.loc(start), op, self.folded(left), self.folded(right))
            assignable = False

    def folded(self, node):
        """An operand: its value where it is the name of a constant, an inline one or an enumerator."""
        return declarations.constant(self.names, node) if type(node) is ast.Ident else node

    def cast(self):
        """(node, False) for a cast, else a unary expression and True."""
        if self.peek() != "(":
            return self.unary(), True
        start = self.here()
        self.take()
        if not parse_types.starts_type(self):
            return self.unary(self.parenthesized(start)), True
        to = parse_types.type_name(self)
        self.expect(")")
        self.enter()
        operand, _ = self.cast()
        operand = self.folded(operand)
        self.depth -= 1
        self.peek()
        loc = self.loc(start)
        target = declarations.resolve_type(self.names, to)
        if type(operand) is ast.IntLit and target.is_integer:
            return constants.cast(loc, operand, target), False
        return ast.Cast(loc, operand, target), False

    def parenthesized(self, start):
        """The rest of `( expression )`, the parenthesis taken already."""
        self.enter()
        expr = self.expression()
        self.expect(")")
        self.depth -= 1
        return expr

    def unary(self, primary=None):
        if primary is not None:
            return self.postfix(primary)
        op = self.peek()
        start = self.here()
        if op in _UNARY:
            self.enter()
            self.take()
            operand, _ = self.cast()
            self.depth -= 1
            self.peek()
            return constants.unary(self.loc(start), op, self.folded(operand))
        if op in ("++", "--"):
            operand = self.after_prefix()
            return ast.IncDec(self.loc(start), op, operand, True)
        if op == "sizeof":
            return self.sizeof(start)
        if op == "stringof":
            operand = self.after_prefix()
            return ast.Stringof(self.loc(start), operand)
        return self.postfix(self.primary())

    def after_prefix(self):
        """The unary expression after ++, -- or stringof."""
        self.enter()
        self.take()
        self.peek()
        operand = self.unary()
        self.depth -= 1
        self.peek()
        return operand

    def sizeof(self, start):
        self.take()
        if self.peek() == "(":
            open_at = self.here()
            self.take()
            if parse_types.starts_type(self):
                name = parse_types.type_name(self)
                self.expect(")")
                loc = self.loc(start)
                size = declarations.sizeof(loc, declarations.resolve_type(self.names, name))
                return constants.literal(loc, size, t.SIZE_T)
            operand = self.unary(self.parenthesized(open_at))
        else:
            self.enter()
            operand = self.unary()
            self.depth -= 1
        self.peek()
        loc = self.loc(start)
        if type(operand) is ast.StrLit:
            return constants.literal(loc, len(operand.value) + 1, t.SIZE_T)
        return ast.Sizeof(loc, operand)

    def primary(self):
        kind = self.peek()
        token = self.token
        if kind == IDENT:
            if self.assigned(token):
                self.names.mention(token.value)
            elif declarations.is_type(self.names, token.value):
                self.syntax_error(f"{token.value} is a type")
            self.take()
            return ast.Ident(self.at(token), token.value)
        if kind == INT:
            self.take()
            return constants.integer(self.at(token), token.value)
        if kind == FLOAT:
            self.take()
            return ast.FloatLit(self.at(token), token.value)
        if kind == STRING:
            self.take()
            return ast.StrLit(self.at(token), token.value.split(b"\0", 1)[0])
        if kind == AGG:
            self.take()
            return ast.AggRef(self.at(token), token.value, [])
        if kind in ("self", "this"):
            self.take()
            return ast.Ident(self.at(token), kind)
        if kind == "(":
            self.take()
            return self.parenthesized(token.start)
        if kind == "offsetof":
            return self.offsetof()
        if kind == "xlate":
            return self.xlate()
        if kind in ("if", "else", "for", "while", "do", "switch", "goto"):
            self.syntax_error(beginner_hints.statement(kind) or "use a predicate or ?:")
        return self.syntax_error()

    def assigned(self, token, comma=True):
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

    def postfix(self, expr):
        start = expr.loc.start
        links = 0
        while True:
            kind = self.peek()
            if kind == "[":
                self.take()
                keys = self.arguments("]")
                expr = self.index(self.loc(start, expr), expr, keys)
            elif kind == "(":
                self.take()
                args = self.arguments(")") if self.peek() != ")" else []
                self.take()
                self.names.need_function(self.loc(start), expr)
                expr = ast.Call(self.loc(start, expr), expr, None, args)
            elif kind in (".", "->"):
                self.take()
                self.lexer.after_member = True
                if self.peek() != IDENT:
                    self.syntax_error("expected a member's name")
                name = parse_types.name_alone(self)
                expr = self.member(self.loc(start), kind, expr, name)
            elif kind in ("++", "--"):
                self.take()
                expr = ast.IncDec(self.loc(start), kind, expr, False)
            else:
                self.depth -= links
                return expr
            self.enter()
            links += 1

    def arguments(self, close):
        """Assignment expressions, separated by commas, before `close`, which is taken if it is ]."""
        found = [self.assignment()]
        while self.accept(","):
            found.append(self.assignment())
            self.bound(found)
        if self.peek() != close:
            self.syntax_error(f"expected , or {close} here")
        if close == "]":
            self.take()
        return found

    @staticmethod
    def index(loc, expr, keys):
        if type(expr) is ast.AggRef and not expr.keys:
            return ast.AggRef(loc, expr.symbol, keys)
        return ast.Index(loc, expr, keys)

    @staticmethod
    def member(loc, op, base, name):
        if op == "->" and type(base) is ast.Ident and base.name in ("self", "this"):
            return ast.ScopedName(loc, base.name, name)
        return ast.Select(loc, op, base, name)

    def offsetof(self):
        start = self.take().start
        self.expect("(")
        name = parse_types.type_name(self)
        self.expect(",")
        self.lexer.after_member = True
        member = self.expect(IDENT)
        self.expect(")")
        return declarations.offsetof(
            self.names, self.loc(start), declarations.resolve_type(self.names, name), member.value
        )

    def xlate(self):
        start = self.take().start
        self.expect("<")
        name = parse_types.type_name(self)
        self.expect(">")
        self.expect("(")
        operand = self.expression()
        self.expect(")")
        self.peek()
        return ast.Xlate(self.loc(start), declarations.resolve_type(self.names, name), operand)
