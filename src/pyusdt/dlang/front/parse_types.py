"""The parser's part for types and declarations: a base class of parser.Parser.

In: tokens.  Out: TypeName nodes, and the items that are not clauses.
"""

from .. import ast
from ..types import declarations, definitions
from .lexer import EOF, IDENT

CLASSES = frozenset(["auto", "register", "static", "extern", "typedef", "self", "this"])
QUALIFIERS = frozenset(["const", "restrict", "volatile"])
TYPE_WORDS = frozenset(["void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "string"])
_ATTRIBUTES = frozenset(["short", "long", "signed", "unsigned"])
_SPECIFIERS = TYPE_WORDS | QUALIFIERS | {"struct", "union", "enum"}


class TypeParser:
    __slots__ = ()

    def starts_type(self):
        """True if the next token begins a type."""
        kind = self.peek()
        if kind != IDENT:
            return kind in _SPECIFIERS
        return declarations.is_type(self.names, self.token.value) and not self.assigned(self.token, comma=False)

    # --- specifiers ---------------------------------------------------------------

    def specifiers(self, classes=()):
        """(storage class or None, words) of a declaration; at least one is there."""
        storage, words, named = None, [], False
        while True:
            kind = self.peek()
            token = self.token
            if kind in classes:
                if storage is not None:
                    message = "only one storage class allowed in a declaration"
                    self.error("D_DECL_CLASS", self.at(token), message)
                storage = kind
                self.take()
            elif kind in ("struct", "union", "enum"):
                words.append(self.enum_spec(words) if kind == "enum" else self.struct_spec(words))
            elif kind in TYPE_WORDS or kind in QUALIFIERS:
                declarations.check_specifier(self.at(token), words, kind)
                words.append(kind)
                self.take()
            elif (kind == IDENT and not named and not self._has_type(words) and declarations.is_type(self.names, token.value)
                  and not (any(word in _ATTRIBUTES for word in words) and self.ends_declarator(token))):
                words.append(token.value)
                named = True
                self.take()
            else:
                break
        if storage is None and not words:
            self.syntax_error()
        return storage, words

    def ends_declarator(self, token):
        """Whether what follows a name tells that it is the one declared, as in `typedef unsigned long size_t;`."""
        return self.source.text[token.end :].lstrip()[:1] in (";", ",", "[", "=")

    @staticmethod
    def _has_type(words):
        return any(type(w) is not str or w not in QUALIFIERS and w not in _ATTRIBUTES for w in words)

    def struct_spec(self, words):
        """words: those of the declaration so far."""
        token = self.take()
        names, kind = self.names, token.kind
        tag = self.take().value if self.peek() == IDENT else None
        self.peek()
        declarations.check_specifier(self.at(token), words, kind)
        if self.peek() != "{":
            if tag is None:
                self.syntax_error()
            return ast.StructSpec(self.loc(token.start), declarations.tagged(names, kind, tag))
        self.enter()
        record = declarations.define_tag(names, self.loc(token.start), kind, tag, self.nesting > 0)
        self.take()
        record.body.fields = {}
        self.nesting += 1
        while True:
            for member in self.members():
                declarations.add_member(names, record, member)
            if self.accept("}"):
                break
        self.nesting -= 1
        self.depth -= 1
        return ast.StructSpec(self.loc(token.start), record)

    def members(self):
        """One line of a struct: `type a, *b, c : 3;`"""
        _, words = self.specifiers()
        while True:
            start = self.here()
            name, steps, bits = None, [], None
            if self.peek() == ";":
                self.syntax_error("a member needs a name")
            if self.peek() != ":":
                name, steps = self.declarator()
            if self.accept(":"):
                bits, _ = self.conditional_expression()
            self.peek()
            loc = self.loc(start)
            keys = steps and steps[0][0] == "[]" and isinstance(steps[0][1], list)
            steps = steps[:1] if keys else steps
            yield ast.Member(loc, ast.TypeName(loc, words, steps), name, bits)
            if not self.accept(","):
                break
        self.expect(";")

    def conditional_expression(self):
        self.peek()
        return self.conditional()

    def enum_spec(self, words):
        token = self.take()
        names = self.names
        tag = self.take().value if self.peek() == IDENT else None
        self.peek()
        declarations.check_specifier(self.at(token), words, "enum")
        if self.peek() != "{":
            if tag is None:
                self.syntax_error()
            return ast.EnumSpec(self.loc(token.start), declarations.tagged(names, "enum", tag))
        enum = declarations.define_tag(names, self.loc(token.start), "enum", tag, self.nesting > 0)
        self.take()
        enum.values = {}
        while True:
            name = self.expect(IDENT)
            value = self.assignment() if self.accept("=") else None
            self.peek()
            declarations.add_enumerator(names, enum, self.loc(name.start), name.value, value)
            if not self.accept(",") or self.peek() == "}":
                break
        self.expect("}")
        return ast.EnumSpec(self.loc(token.start), enum)

    # --- declarators ----------------------------------------------------------------

    def declarator(self, abstract=False):
        """(name, steps); an abstract one, of a cast or a parameter, may have no name."""
        self.enter()
        pointers = self.pointers()
        name, steps = None, []
        if self.peek() == IDENT:
            name = self.take().value
        elif self.peek() == "(" and (not abstract or self._nested()):
            self.take()
            name, steps = self.declarator(abstract)
            self.expect(")")
        elif not abstract:
            self.syntax_error("expected a name to declare")
        steps = steps + self.suffixes()
        self.depth -= 1
        return name, steps + [("*",)] * pointers

    def pointers(self):
        count = 0
        while self.accept("*"):
            count += 1
            while self.peek() in QUALIFIERS:
                self.take()
        return count

    def _nested(self):
        """In an abstract declarator, whether the coming ( groups rather than begins parameters."""
        text, pos = self.source.text, self.token.end
        while text[pos : pos + 1].isspace():
            pos += 1
        return text[pos : pos + 1] in ("*", "(", "[")

    def suffixes(self):
        steps = []
        while True:
            if self.accept("["):
                if self.peek() == "]":
                    size = None
                elif self.starts_type() or self.peek() == "..." or self.peek() in CLASSES:
                    size = self.parameters()
                else:
                    size, _ = self.conditional()
                self.expect("]")
                steps.append(("[]", size))
            elif self.peek() == "(":
                self.take()
                parameters = self.parameters() if self.peek() != ")" else []
                self.expect(")")
                steps.append(("()", parameters))
            else:
                return steps
            if len(steps) > 64:
                self.syntax_error("a declaration of more than 64 levels is not supported")

    def parameters(self):
        found = []
        while True:
            start = self.here()
            if self.accept("..."):
                found.append(ast.Parameter(self.loc(start), None, None))
                return found
            storage, words = self.specifiers(CLASSES)
            if storage not in (None, "register"):
                message = "inappropriate storage class for function or associative array parameter"
                self.error("D_DECL_PARMCLASS", self.loc(start), message)
            name, steps = self.declarator(abstract=True)
            loc = self.loc(start)
            found.append(ast.Parameter(loc, ast.TypeName(loc, words, steps), name))
            self.bound(found)
            if not self.accept(","):
                return found

    def type_name(self):
        """A type without a name, as in a cast."""
        start = self.here()
        _, words = self.specifiers()
        name, steps = self.declarator(abstract=True)
        if name is not None:
            self.syntax_error()
        return ast.TypeName(self.loc(start), words, steps)

    # --- what stands outside clauses --------------------------------------------------

    def declaration(self):
        """`[class] type name, *name[keys], …;`"""
        start = self.here()
        storage, words = self.specifiers(CLASSES)
        if self.accept(";"):
            loc = self.loc(start)
            node = ast.TypeDeclaration(loc, ast.TypeName(loc, words, []))
            declarations.declare_type(self.names, node)
            return [node]
        found = []
        while True:
            name, steps = self.declarator()
            self.peek()
            loc = self.loc(start)
            keys = None
            if steps and steps[0][0] == "[]" and type(steps[0][1]) is list:
                keys, steps = steps[0][1], steps[1:]
            node = ast.Declaration(loc, storage or "global", ast.TypeName(loc, words, steps), name, keys)
            declarations.declare(self.names, node)
            found.append(node)
            if not self.accept(","):
                break
        if self.peek() != ";":
            hint = "a variable gets its value in a clause, such as BEGIN" if self.peek() == "=" else None
            self.syntax_error(hint)
        self.take()
        return found

    def inline(self):
        start = self.take().start
        _, words = self.specifiers(CLASSES)
        name, steps = self.declarator()
        keys = None
        if steps and steps[0][0] == "[]" and type(steps[0][1]) is list:
            keys, steps = steps[0][1], steps[1:]
        self.expect("=")
        value = self.assignment()
        self.peek()
        loc = self.loc(start)
        self.expect(";")
        node = ast.Inline(loc, ast.TypeName(loc, words, steps), name, keys, value)
        definitions.define_inline(self.names, node)
        return node

    def translator(self):
        start = self.take().start
        to = self.type_name()
        self.expect("<")
        source_start = self.here()
        _, words = self.specifiers()
        name, steps = self.declarator()
        source = ast.TypeName(self.loc(source_start), words, steps)
        self.expect(">")
        self.expect("{")
        members = []
        while not self.accept("}"):
            member_start = self.here()
            member = self.expect(IDENT).value
            self.expect("=")
            value = self.assignment()
            members.append(ast.Conversion(self.loc(member_start), member, value))
            self.expect(";")
        self.peek()
        loc = self.loc(start)
        node = ast.Translator(loc, to, source, name, members)
        definitions.define_translator(self.names, node)
        self.expect(";")
        return node

    def provider(self):
        start = self.take().start
        name = self.expect(IDENT).value
        self.expect("{")
        probes = []
        while not self.accept("}"):
            probes.append(self.provider_probe())
        self.peek()
        node = ast.Provider(self.loc(start), name, probes)
        definitions.define_provider(self.names, node)
        self.expect(";")
        return node

    def provider_probe(self):
        if self.peek() == EOF:
            self.syntax_error()
        start = self.here()
        self.expect("probe")
        name = self.expect(IDENT).value
        inputs = self.probe_prototype()
        outputs = self.probe_prototype() if self.accept(":") else None
        self.peek()
        loc = self.loc(start)
        self.expect(";")
        return ast.ProviderProbe(loc, name, inputs, outputs)

    def probe_prototype(self):
        self.expect("(")
        parameters = self.parameters() if self.peek() != ")" else []
        self.expect(")")
        return parameters
