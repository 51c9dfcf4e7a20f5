"""Demangles C++ names of the Itanium C++ ABI (5.1) into the words of c++filt.

A symbol is untrusted: at most LONGEST characters are made, however often a name refers to its own
parts, and parts nest at most _DEEP deep. A symbol that is not understood gives None.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST, _NAME = 8192, 4096
_DEEP = 96

_BUILTIN = {
    "v": "void",
    "w": "wchar_t",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "n": "__int128",
    "o": "unsigned __int128",
    "f": "float",
    "d": "double",
    "e": "long double",
    "g": "__float128",
    "z": "...",
}
_BUILTIN_D = {
    "n": "decltype(nullptr)",
    "i": "char32_t",
    "s": "char16_t",
    "u": "char8_t",
    "a": "auto",
    "c": "decltype(auto)",
    "d": "decimal64",
    "e": "decimal128",
    "f": "decimal32",
    "h": "half",
}
_STANDARD = {
    "a": "std::allocator",
    "b": "std::basic_string",
    "s": "std::string",
    "i": "std::istream",
    "o": "std::ostream",
    "d": "std::iostream",
}
_IN_FULL = {
    "std::string": "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
    "std::istream": "std::basic_istream<char, std::char_traits<char> >",
    "std::ostream": "std::basic_ostream<char, std::char_traits<char> >",
    "std::iostream": "std::basic_iostream<char, std::char_traits<char> >",
}
_OPERATORS = {
    "nw": " new",
    "na": " new[]",
    "dl": " delete",
    "da": " delete[]",
    "aw": " co_await",
    "ps": "+",
    "ng": "-",
    "ad": "&",
    "de": "*",
    "co": "~",
    "pl": "+",
    "mi": "-",
    "ml": "*",
    "dv": "/",
    "rm": "%",
    "an": "&",
    "or": "|",
    "eo": "^",
    "aS": "=",
    "pL": "+=",
    "mI": "-=",
    "mL": "*=",
    "dV": "/=",
    "rM": "%=",
    "aN": "&=",
    "oR": "|=",
    "eO": "^=",
    "ls": "<<",
    "rs": ">>",
    "lS": "<<=",
    "rS": ">>=",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "gt": ">",
    "le": "<=",
    "ge": ">=",
    "ss": "<=>",
    "nt": "!",
    "aa": "&&",
    "oo": "||",
    "pp": "++",
    "mm": "--",
    "cm": ",",
    "pm": "->*",
    "pt": "->",
    "cl": "()",
    "ix": "[]",
    "qu": "?",
}
_SPECIAL = {
    "TV": "vtable for ",
    "TT": "VTT for ",
    "TI": "typeinfo for ",
    "TS": "typeinfo name for ",
    "GV": "guard variable for ",
    "TW": "TLS wrapper function for ",
    "TH": "TLS init function for ",
    "GR": "reference temporary for ",
    "GA": "hidden alias for ",
}
_SUFFIXES = {"m": "ul", "l": "l", "j": "u", "x": "ll", "y": "ull"}


class _Wrong(Exception):
    """It is no such name, or not understood."""


class _Type:
    """Of a text that has a hole where a declared name stands: left, right.  kind: of functions and arrays, in front of whose hole brackets stand;
    base: the last part of a name; pack: the members of a template's pack."""

    __slots__ = ("base", "kind", "left", "pack", "right")

    def __init__(
        self,
        left: str,
        right: str = "",
        kind: str = "",
        base: str = "",
        pack: list[_Type] | None = None,
    ) -> None:
        if len(left) + len(right) > LONGEST:
            raise _Wrong
        self.left, self.right, self.kind, self.base, self.pack = left, right, kind, base, pack

    @property
    def text(self) -> str:
        if self.pack is not None:
            return ", ".join(each.text for each in self.pack)
        return f"{self.left} {self.right}" if self.kind == "function" else self.left + self.right

    def pointed(self, sign: str) -> _Type:
        """A pointer to it, or the like."""
        if self.kind in ("function", "array"):
            return _Type(f"{self.left} ({sign}", ")" + self.right)
        return _Type(self.left + sign, self.right)


def demangle_cxx(name: str) -> str | None:
    """The text of a symbol."""
    if not name.startswith("_Z") or len(name) > _NAME:
        return None
    body, dot, suffix = name.partition(".")
    try:
        parser = _Parser(body, 2)
        text = parser.encoding()
        if parser.at != len(body) or len(text) > LONGEST:
            return None
    except (_Wrong, IndexError, ValueError, RecursionError):
        return None
    for part in _clones(suffix) if dot else ():
        text += f" [clone .{part}]"
    return text


def _clones(suffix: str) -> list[str]:
    """What stands behind the name: each word with the numbers that follow it."""
    found: list[str] = []
    for part in suffix.split("."):
        if part.isdigit() and found:
            found[-1] += f".{part}"
        else:
            found.append(part)
    return found


def _joined(name: str, arguments: str) -> str:
    return f"{name} {arguments}" if name.endswith("<") else name + arguments


class _Parser:
    def __init__(self, text: str, at: int) -> None:
        self._text, self.at, self._deep = text, at, 0
        self._known: list[_Type] = []  # what S_, S0_ … stand for
        self._arguments: list[_Type] = []  # what T_, T0_ … stand for
        self._is_template = self._is_special = (
            False  # of the last name: it ends with template arguments; it is a constructor or the like
        )
        self._qualifiers = ""  # of the last member function
        self._lambda = False

    # --- letters ------------------------------------------------------------------------------

    def _next(self, size: int = 1) -> str:
        return self._text[self.at : self.at + size]

    def _take(self, what: str) -> bool:
        if self._text.startswith(what, self.at):
            self.at += len(what)
            return True
        return False

    def _want(self, what: str) -> None:
        if not self._take(what):
            raise _Wrong

    def _digits(self) -> str:
        start = self.at
        while self._next().isdigit():
            self.at += 1
        return self._text[start : self.at]

    def _number(self) -> int:
        is_negative = self._take("n")
        return int(self._digits()) * (-1 if is_negative else 1)

    def _sequence(self) -> int:
        """A number of S or T: nothing is 0."""
        start = self.at
        while self._next() != "_":
            if not (self._next().isdigit() or self._next().isupper()):
                raise _Wrong
            self.at += 1
        digits = self._text[start : self.at]
        self.at += 1
        return int(digits, 36) + 1 if digits else 0

    def _count(self) -> int:
        """The same in decimal digits."""
        digits = self._digits()
        self._want("_")
        return int(digits) + 1 if digits else 0

    def _keep(self, type: _Type) -> _Type:
        self._known.append(type)
        return type

    def _until_end(self, read: Callable[[], _Type]) -> list[_Type]:
        found: list[_Type] = []
        while not self._take("E"):
            each = read()
            found += each.pack if each.pack is not None else [each]
        return found

    # --- names -----------------------------------------------------------------------------------

    def encoding(self) -> str:
        if self._next() in ("T", "G"):
            return self._special()
        return self._function()

    def _special(self) -> str:
        two = self._next(2)
        if self._next(3) in ("GTt", "GTn"):
            self.at += 3
            return (
                "transaction clone for "
                if self._text[self.at - 1] == "t"
                else "non-transaction clone for "
            ) + self.encoding()
        if two in _SPECIAL:
            self.at += 2
            if two in ("TV", "TT", "TI", "TS"):
                return _SPECIAL[two] + self._type().text
            text = self._name().left
            if two == "GR":
                self._sequence()
                return f"reference temporary #0 for {text}"
            return _SPECIAL[two] + text
        if two in ("Th", "Tv"):
            self.at += 1
            self._offset()
            return ("non-virtual" if two == "Th" else "virtual") + " thunk to " + self.encoding()
        if two == "Tc":
            self.at += 2
            self._offset()
            self._offset()
            return "covariant return thunk to " + self.encoding()
        if two == "TC":
            self.at += 2
            derived = self._type().text
            self._number()
            self._want("_")
            return f"construction vtable for {self._type().text}-in-{derived}"
        raise _Wrong

    def _offset(self) -> None:
        if self._take("h"):
            self._number()
        else:
            self._want("v")
            self._number()
            self._want("_")
            self._number()
        self._want("_")

    def _function(self, is_outer: bool = False) -> str:
        """A name, with its parameters if it is a function's.  is_outer: of what is in it, so that it is called by its name."""
        self._qualifiers, self._is_template, self._is_special = "", False, False
        name = self._name()
        is_template, is_special, qualifiers = self._is_template, self._is_special, self._qualifiers
        if self.at >= len(self._text) or self._next() == "E":
            return name.left + name.right
        returned = self._type() if is_template and not is_special else None
        parameters = self._parameters(lambda: self.at >= len(self._text) or self._next() == "E")
        text = f"{name.left}({parameters}){qualifiers}"
        if returned is None or is_outer:
            return text
        return (
            f"{returned.left} {text}{returned.right}"
            if returned.kind != "function"
            else f"{returned.left} ({text}){returned.right}"
        )

    def _parameters(self, ends: Callable[[], bool]) -> str:
        found: list[_Type] = []
        while not ends():
            each = self._type()
            found += each.pack if each.pack is not None else [each]
        texts = [each.text for each in found]
        return "" if texts == ["void"] else ", ".join(texts)

    def _name(self) -> _Type:
        if self._next() == "N":
            return self._nested()
        if self._next() == "Z":
            return self._local()
        if self._next() == "S" and self._next(2) != "St":
            name = self._substitution()
        else:
            name = self._unscoped()
            if self._next() == "I":
                self._keep(name)
        self._is_template = False
        if self._next() == "I":
            name = _Type(_joined(self._full(name), self._template()), base=name.base)
            self._is_template = True
        return name

    @staticmethod
    def _full(name: _Type) -> str:
        return name.left + name.right

    def _unscoped(self) -> _Type:
        if self._take("St"):
            part = self._part()
            return _Type(f"std::{part}", base=part)
        part = self._part()
        return _Type(part, base=part)

    def _nested(self) -> _Type:
        self._want("N")
        qualifiers = self._cv()
        qualifiers += " &&" if self._take("O") else " &" if self._take("R") else ""
        name: _Type | None = None
        while not self._take("E"):
            letter = self._next()
            if letter == "S" and self._next(2) != "St":
                name, is_new = self._substitution(), False
            elif letter == "I" and name is not None:
                name, is_new = (
                    _Type(_joined(self._full(name), self._template()), base=name.base),
                    True,
                )
                self._is_template = True
                if self._next() != "E":
                    self._keep(name)
                continue
            elif letter == "T":
                name, is_new = self._parameter(), True
            elif letter == "D" and self._next(2) in ("Dt", "DT"):
                name, is_new = self._decltype(), True
            else:
                if self._take("St"):
                    part, outer = self._part(), "std::"
                else:
                    part, outer = (
                        self._part(name),
                        self._full(name) + "::" if name is not None else "",
                    )
                name, is_new = _Type(outer + part, base=part), True
            self._is_template = False
            if is_new and self._next() != "E":
                self._keep(name)
        if name is None:
            raise _Wrong
        self._qualifiers = qualifiers
        return name

    def _local(self) -> _Type:
        self._want("Z")
        kept = self._arguments
        outer = self._function(True)
        self._want("E")
        self._qualifiers = ""
        if self._take("s"):
            self._discriminator()
            self._is_template = False
            return _Type(f"{outer}::string literal")
        if self._take("d"):
            number = self._count()
            inner = f"{{default arg#{number + 1}}}::" + self._full(self._name())
        else:
            entity = self._name()
            inner = self._full(entity)
        self._discriminator()
        if not self._is_template:
            self._arguments = kept or self._arguments
        return _Type(f"{outer}::{inner}", base=inner)

    def _discriminator(self) -> None:
        if self._take("__"):
            self._digits()
            self._want("_")
        elif self._next() == "_" and self._text[self.at + 1 : self.at + 2].isdigit():
            self.at += 2

    def _part(self, outer: _Type | None = None) -> str:
        """One word of a name."""
        letter = self._next()
        self._is_special = False
        if letter.isdigit():
            text = self._identifier()
        elif letter == "L":
            self.at += 1
            text = self._identifier()
        elif letter == "U":
            text = self._unnamed()
        elif letter == "C" and self._next(2)[1:] in "12345I":
            self.at += 2
            if self._text[self.at - 1] == "I":
                self.at += 1
                self._type()
            self._is_special = True
            text = self._class_of(outer)
        elif letter == "D" and self._next(2)[1:] in "01245":
            self.at += 2
            self._is_special = True
            text = "~" + self._class_of(outer)
        elif letter == "D" and self._next(2) == "DC":
            self.at += 2
            names = []
            while not self._take("E"):
                names.append(self._identifier())
            text = f"[{', '.join(names)}]"
        else:
            text = self._operator()
        while self._take("B"):
            text += f"[abi:{self._identifier()}]"
        return text

    @staticmethod
    def _class_of(outer: _Type | None) -> str:
        if outer is None:
            raise _Wrong
        if outer.left in _IN_FULL:
            return _IN_FULL[outer.left][5:].partition("<")[0]
        return (outer.base or outer.left.rpartition("::")[2]).partition("[abi:")[0]

    def _identifier(self) -> str:
        size = int(self._digits())
        text = self._next(size)
        if len(text) < size or not size:
            raise _Wrong
        self.at += size
        return "(anonymous namespace)" if text.startswith("_GLOBAL__N") else text

    def _unnamed(self) -> str:
        if self._take("Ut"):
            return f"{{unnamed type#{self._count() + 1}}}"
        self._want("Ul")
        kept, self._lambda = self._lambda, True
        parameters = self._parameters(lambda: self._next() == "E")
        self._lambda = kept
        self._want("E")
        return f"{{lambda({parameters})#{self._count() + 1}}}"

    def _operator(self) -> str:
        if self._take("cv"):
            text = f"operator {self._type().text}"
            self._is_special = True
            return text
        if self._take("li"):
            return f'operator"" {self._identifier()}'
        word = _OPERATORS.get(self._next(2))
        if word is None:
            raise _Wrong
        self.at += 2
        return "operator" + word

    def _template(self) -> str:
        self._want("I")
        special = self._is_special
        found: list[_Type] = []
        while not self._take("E"):
            found.append(self._argument())
        self._arguments = found
        self._is_special = special
        inner = ", ".join(text for text in (each.text for each in found) if text)
        return f"<{inner} >" if inner.endswith(">") else f"<{inner}>"

    def _argument(self) -> _Type:
        letter = self._next()
        if letter == "L":
            return _Type(self._literal())
        if letter == "X":
            self.at += 1
            text = self._expression()
            self._want("E")
            return _Type(text)
        if letter == "J":
            self.at += 1
            return _Type("", pack=self._until_end(self._argument))
        return self._type()

    # --- substitutions -------------------------------------------------------------------------------

    def _substitution(self) -> _Type:
        self._want("S")
        letter = self._next()
        if letter in _STANDARD:
            self.at += 1
            text = _STANDARD[letter]
            if text in _IN_FULL and self._next() in ("C", "D") and self._next(2)[1:] in "012345":
                return _Type(_IN_FULL[text], base=_IN_FULL[text][5:].partition("<")[0])
            name = _Type(text, base=text[5:])
            if self._next() == "B":
                while self._take("B"):
                    name = _Type(f"{name.left}[abi:{self._identifier()}]", base=name.base)
                self._keep(name)
            return name
        return self._known[self._sequence()]

    def _parameter(self) -> _Type:
        self._want("T")
        number = self._sequence()
        if self._lambda:
            return _Type(f"auto:{number + 1}")
        return self._arguments[number]

    # --- types ------------------------------------------------------------------------------------------

    def _cv(self) -> str:
        text = ""
        for letter, word in (("r", " restrict"), ("V", " volatile"), ("K", " const")):
            if self._take(letter):
                text = word + text
        return text

    def _type(self) -> _Type:
        self._deep += 1
        if self._deep > _DEEP:
            raise _Wrong
        found = self._any_type()
        self._deep -= 1
        return found

    def _any_type(self) -> _Type:
        letter = self._next()
        if letter in _BUILTIN:
            self.at += 1
            return _Type(_BUILTIN[letter])
        if letter in "rVK":
            return self._qualified()
        if letter in "PRO":
            self.at += 1
            return self._keep(self._pointer({"P": "*", "R": "&", "O": "&&"}[letter]))
        if letter == "F":
            return self._keep(self._function_type())
        if letter == "A":
            return self._keep(self._array())
        if letter == "M":
            return self._keep(self._member())
        if letter == "T":
            return self._template_type(self._keep(self._parameter()))
        if letter == "S" and self._next(2) != "St":
            found = self._substitution()
            if self._next() == "I":
                return self._keep(
                    _Type(_joined(self._full(found), self._template_inside()), base=found.base)
                )
            return found
        if letter == "D":
            return self._d_type()
        if letter == "u":
            self.at += 1
            return self._keep(_Type(self._identifier()))
        if letter in "CG":
            self.at += 1
            return self._keep(
                _Type(self._type().text + {"C": " _Complex", "G": " _Imaginary"}[letter])
            )
        if letter == "U" and self._next(2) not in ("Ut", "Ul"):
            self.at += 1
            word = self._identifier()
            if self._next() == "I":
                word += self._template_inside()
            inner = self._type()
            return self._keep(_Type(f"{inner.left} {word}", inner.right))
        return self._class_type()

    def _class_type(self) -> _Type:
        """Of a name: what it says of functions is not this function's."""
        kept = self._qualifiers, self._is_template, self._is_special, self._arguments
        found = self._name()
        self._qualifiers, self._is_template, self._is_special, self._arguments = kept
        return self._keep(found)

    def _template_inside(self) -> str:
        kept = self._arguments, self._is_template, self._is_special
        text = self._template()
        self._arguments, self._is_template, self._is_special = kept
        return text

    def _template_type(self, found: _Type) -> _Type:
        if self._next() == "I":
            return self._keep(
                _Type(_joined(self._full(found), self._template_inside()), base=found.base)
            )
        return found

    def _qualified(self) -> _Type:
        words = self._cv()
        inner = self._type()
        if inner.pack is not None:
            return self._keep(_Type("", pack=[self._with(each, words) for each in inner.pack]))
        return self._keep(self._with(inner, words))

    @staticmethod
    def _with(inner: _Type, words: str) -> _Type:
        if inner.kind == "function":
            return _Type(inner.left, inner.right + words, "function")
        if inner.left.endswith(words) and not inner.right:
            return inner
        return _Type(inner.left + words, inner.right, inner.kind, inner.base)

    def _pointer(self, sign: str) -> _Type:
        inner = self._type()
        if inner.pack is not None:
            return _Type("", pack=[self._reference(each, sign) for each in inner.pack])
        return self._reference(inner, sign)

    @staticmethod
    def _reference(inner: _Type, sign: str) -> _Type:
        if sign != "*" and inner.kind not in ("function", "array"):
            if inner.left.endswith("&&"):
                return inner if sign == "&&" else _Type(inner.left[:-1], inner.right)
            if inner.left.endswith("&"):
                return inner
        return inner.pointed(sign)

    def _function_type(self) -> _Type:
        self._want("F")
        self._take("Y")
        returned = self._type()
        quals = ""
        parameters = []
        while not self._take("E"):
            if self._next(2) in ("RE", "OE"):
                quals = " &" if self._take("R") else " &&" if self._take("O") else ""
                continue
            each = self._type()
            parameters += each.pack if each.pack is not None else [each]
        texts = [each.text for each in parameters]
        inner = "" if texts == ["void"] else ", ".join(texts)
        return _Type(returned.left, f"({inner}){quals}{returned.right}", "function")

    def _array(self) -> _Type:
        self._want("A")
        size = self._digits()
        if not size and self._next() != "_":
            size = self._expression()
        self._want("_")
        inner = self._type()
        if inner.kind == "array":
            return _Type(inner.left, f" [{size}]{inner.right.lstrip()}", "array")
        return _Type(inner.left, f" [{size}]{inner.right}", "array")

    def _member(self) -> _Type:
        self._want("M")
        of, inner = self._type().text, self._type()
        if inner.kind in ("function", "array"):
            return _Type(f"{inner.left} ({of}::*", ")" + inner.right)
        return _Type(f"{inner.left} {of}::*", inner.right)

    def _d_type(self) -> _Type:
        two = self._next(2)
        if two[1:] in _BUILTIN_D:
            self.at += 2
            return _Type(_BUILTIN_D[two[1:]])
        if two == "Dp":
            self.at += 2
            inner = self._type()
            return self._keep(
                inner if inner.pack is not None else _Type(inner.left + "...", inner.right)
            )
        if two in ("Dt", "DT"):
            return self._keep(self._decltype())
        if two in ("Do", "DO", "Dx"):
            self.at += 2
            words = " noexcept" if two == "Do" else ""
            if two == "DO":
                words = f" noexcept({self._expression()})"
                self._want("E")
            inner = self._function_type()
            return self._keep(_Type(inner.left, inner.right + words, "function"))
        if two == "Dv":
            self.at += 2
            size = self._digits() or self._expression()
            self._want("_")
            return self._keep(_Type(f"{self._type().text} __vector({size})"))
        raise _Wrong

    def _decltype(self) -> _Type:
        self.at += 2
        text = self._expression()
        self._want("E")
        return _Type(f"decltype ({text})")

    # --- expressions ----------------------------------------------------------------------------------

    def _literal(self) -> str:
        self._want("L")
        if self._take("_Z"):
            kept = self._qualifiers, self._is_template, self._is_special, self._arguments
            text = self._function()
            self._qualifiers, self._is_template, self._is_special, self._arguments = kept
            self._want("E")
            return text
        letter, type = self._next(), self._type().text
        start = self.at
        self.at = self._text.index("E", start) + 1
        digits = self._text[start : self.at - 1]
        digits = "-" + digits[1:] if digits.startswith("n") else digits
        if letter == "b" and digits in ("0", "1"):
            return "true" if digits == "1" else "false"
        if letter == "i":
            return digits
        if letter in _SUFFIXES:
            return digits + _SUFFIXES[letter]
        if type == "decltype(nullptr)":
            return f"({type})0" if digits else f"({type})"
        return f"({type}){digits}" if letter not in "fdeg" else f"({type})[{digits}]"

    def _expression(self) -> str:
        self._deep += 1
        if self._deep > _DEEP:
            raise _Wrong
        text = self._any_expression()
        self._deep -= 1
        return text

    def _any_expression(self) -> str:
        letter, two = self._next(), self._next(2)
        if letter == "L":
            return self._literal()
        if letter == "T":
            return self._parameter().text
        if two in ("fp", "fL"):
            self.at += 2
            if two == "fL":
                self._digits()
                self._want("p")
            self._cv()
            return f"{{parm#{self._count() + 1}}}"
        if two == "sr":
            return self._scoped()
        if two in ("sZ",):
            self.at += 2
            return f"sizeof...({self._parameter().text})"
        if two in ("st", "at", "sz", "az", "nx", "te", "ti"):
            self.at += 2
            inner = self._type().text if two in ("st", "at", "ti") else self._expression()
            word = {
                "st": "sizeof",
                "sz": "sizeof",
                "at": "alignof",
                "az": "alignof",
                "nx": "noexcept",
                "te": "typeid",
                "ti": "typeid",
            }[two]
            return f"{word} ({inner})"
        if two in ("cl", "cp"):
            self.at += 2
            called = self._expression()
            return f"{self._bracketed(called)}({', '.join(self._expressions())})"
        if two in ("dt", "pt"):
            self.at += 2
            left = self._expression()
            return f"{self._bracketed(left)}{'.' if two == 'dt' else '->'}{self._member_name()}"
        if two in ("dc", "sc", "cc", "rc"):
            self.at += 2
            word = {
                "dc": "dynamic_cast",
                "sc": "static_cast",
                "cc": "const_cast",
                "rc": "reinterpret_cast",
            }[two]
            return f"{word}<{self._type().text}>({self._expression()})"
        if two == "cv":
            self.at += 2
            type = self._type().text
            return (
                f"({type})({', '.join(self._expressions())})"
                if self._take("_")
                else f"({type}){self._bracketed(self._expression())}"
            )
        if two == "qu":
            self.at += 2
            first, second, third = self._expression(), self._expression(), self._expression()
            return f"{self._bracketed(first)}?{self._bracketed(second)} : {self._bracketed(third)}"
        if two in ("ps", "ng", "ad", "de", "co", "nt"):
            self.at += 2
            return f"{_OPERATORS[two]}{self._bracketed(self._expression())}"
        if two in ("pp", "mm"):
            self.at += 2
            if self._take("_"):
                return f"{_OPERATORS[two]}{self._bracketed(self._expression())}"
            return f"{self._bracketed(self._expression())}{_OPERATORS[two]}"
        if two == "ix":
            self.at += 2
            return f"{self._bracketed(self._expression())}[{self._expression()}]"
        if two in _OPERATORS and two not in ("nw", "na", "dl", "da", "aw"):
            self.at += 2
            left, right = self._expression(), self._expression()
            text = f"{self._bracketed(left)}{_OPERATORS[two]}{self._bracketed(right)}"
            return f"({text})" if two == "gt" else text
        if two == "tl":
            self.at += 2
            return f"{self._type().text}{{{', '.join(self._expressions())}}}"
        if two == "il":
            self.at += 2
            return f"{{{', '.join(self._expressions())}}}"
        if two == "sp":
            self.at += 2
            return f"{self._bracketed(self._expression())}..."
        if letter.isdigit() or two == "on":
            return self._member_name()
        raise _Wrong

    @staticmethod
    def _bracketed(text: str) -> str:
        is_word = text.replace("_", "").replace(":", "").isalnum() or text.startswith("{parm#")
        return text if is_word else f"({text})"

    def _expressions(self) -> list[str]:
        found = []
        while not self._take("E"):
            found.append(self._expression())
        return found

    def _member_name(self) -> str:
        self._take("on")
        text = self._part()
        if self._next() == "I":
            text = _joined(text, self._template_inside())
        return text

    def _scoped(self) -> str:
        self.at += 2
        if self._take("N"):
            outer = self._type().text
            while not self._take("E"):
                outer += "::" + self._member_name()
        elif self._next().isdigit():
            outer = self._member_name()
            while not self._take("E"):
                outer += "::" + self._member_name()
        else:
            outer = self._type().text
        return f"{outer}::{self._member_name()}"
