"""Hints for the most frequent mistakes of beginners: one line that names the solution, or None."""

from __future__ import annotations

from pydtrace.program import d_types as t
from pydtrace.program.program import PRINTS_VALUE

from . import ast

TYPE_CHECKING = False  # of typing, which the compiler does not import
if TYPE_CHECKING:
    from typing import TypeGuard

_WORDS = {
    "true": "D has no true and false: use 1 and 0",
    "false": "D has no true and false: use 1 and 0",
    "null": "write NULL",
    "nil": "write NULL",
    "None": "write NULL",
    "and": "write && for and",
    "or": "write || for or",
    "not": "write ! for not",
    "comm": "the name of the command is execname",
    "nsecs": "nanoseconds are timestamp",
    "kstack": "the kernel's stack is stack()",
    "elapsed": "nanoseconds are timestamp; keep the first one in BEGIN { begun = timestamp; }",
    "retval": "the value that a function returns is arg1 of its return probe",
    "func": "the function of the probe is probefunc",
    "probe": "the name of the probe is probename",
    "username": "the user's id is uid",
    **dict.fromkeys(
        ("curthread", "curpsinfo", "curlwpsinfo"),
        "only the kernel engine (root) has it, if the kernel has BTF (/sys/kernel/btf/vmlinux)",
    ),
    "ppid": "the parent's id is ppid, where the engine has it",
}
_FUNCTIONS = {
    "puts": 'printf("…\\n") prints',
    "echo": 'printf("…\\n") prints',
    "println": 'printf("…\\n") prints',
    "sprintf": "strjoin() and lltostr() put strings together; printf() prints",
    "strcpy": "strings are assigned with =",
    "strcat": "strjoin(a, b) joins two strings",
    "concat": "strjoin(a, b) joins two strings",
    "strcmp": "strings are compared with == != < <= > >=",
    "strncmp": "strings are compared with == != < <= > >=; substr() takes a part",
    "strcasecmp": "compare tolower(a) == tolower(b)",
    "contains": "strstr(a, b) != NULL is true if b is in a",
    "len": "strlen(s) is a string's length",
    "length": "strlen(s) is a string's length",
    "malloc": "alloca(size) gives memory for the clause",
    "atoi": "strtoll(s) reads a number",
    "str": "copyinstr(address) reads a string of the process",
    "getpid": "the process is pid, without ( )",
    "time": "timestamp is the time in nanoseconds, without ( )",
    "hist": "@ = quantize(x) makes a histogram",
    "kstack": "the kernel's stack is stack()",
    "lhist": "@ = lquantize(x, from, to, step) makes a linear histogram",
    "delete": "assign 0 to a variable to delete it",
    "return": "a clause ends at its }",
}
_STATEMENTS = {
    "for": "D has no loops: a probe that fires often, such as tick-1s, is one",
    "while": "D has no loops: a probe that fires often, such as tick-1s, is one",
    "do": "D has no loops: a probe that fires often, such as tick-1s, is one",
    "switch": "D has no switch: use several clauses with predicates, or ?:",
    "goto": "D has no jumps",
    "return": "a clause ends at its }",
}


def hint_for_name(name: str) -> str | None:
    """For a name that nothing defines."""
    if name[:3] == "arg" and name[3:].isdigit():
        return "a probe has arg0 … arg9"
    return _WORDS.get(name)


def hint_for_function(name: str) -> str | None:
    return _FUNCTIONS.get(name)


def hint_for_statement(word: object) -> str | None:
    """For a statement of C that D does not have."""
    return _STATEMENTS.get(word) if isinstance(word, str) else None


def is_character(node: ast.Expr | None) -> TypeGuard[ast.IntLit]:
    """Whether a node is a character constant."""
    return type(node) is ast.IntLit and node.loc.source.text[node.loc.start] == "'"


def string_hint(character: ast.Expr) -> str:
    """For a character constant where a string is expected."""
    text = character.loc.source.text[character.loc.start + 1 : character.loc.end - 1]
    return f'a string has double quotes: "{text if len(text) < 20 else "…"}"'


def warn_of_characters(node: ast.Node) -> list[str]:
    """For trace('abc'), which prints the number that the character constant is."""
    if type(node) is not ast.Call or getattr(node.row, "printed_by", None) != PRINTS_VALUE:
        return []
    return [
        f"{found.loc}: a character constant is a number, here {found.value}; {string_hint(found)}"
        for found in node.args
        if is_character(found) and found.value > 255
    ]


def hint_for_assigned(target: ast.Expr, value: ast.Expr) -> str | None:
    """For a value of another type than the variable has."""
    if not isinstance(target, (ast.Var, ast.AssocRef)) or is_character(value):
        return None
    symbol = target.symbol
    integers = symbol.type is not None and symbol.type.is_integer and value.type.is_string
    if not integers:
        return None
    return (
        f"{symbol.name} is an {symbol.type} since {symbol.loc}; use another variable for the string"
    )


def hint_for_operands(left: ast.Expr, right: ast.Expr) -> str | None:
    """For operands that do not go together."""
    if right.type is t.AGGREGATION:
        return "printa() prints an aggregation; a clause cannot read it"
    if left.type is None or isinstance(left.type, t.Dynamic):
        return None
    if left.type.is_string and right.type.is_string:
        return "strjoin(a, b) joins two strings"
    for string, other in ((left, right), (right, left)):
        if not string.type.is_string or not other.type.is_integer:
            continue
        if is_character(other):
            return string_hint(other)
        if type(other) is ast.IntLit:
            return "lltostr(number) makes a string of a number; strtoll(string) reads one"
        return "copyinstr(arg) makes a string of an argument that is an address"
    return None


def hint_for_conversion(tag: str, message: str, argument: ast.Expr | None) -> str | None:
    """For an argument of printf() and its conversion; None if there is no argument."""
    type = argument.type if argument else None
    if tag == "D_PRINTF_ARG_PROTO":
        return "each conversion takes an argument; %% prints a percent sign"
    if tag == "D_PRINTF_ARG_EXTRA":
        return "each argument needs a conversion in the format, such as %d or %s"
    if tag != "D_PRINTF_ARG_TYPE" or type is None:
        return None
    if type is t.AGGREGATION:
        return "printa() prints an aggregation"
    if type.is_string:
        return "%s prints a string"
    if is_character(argument) and "%s" in message:
        return string_hint(argument)
    if type.is_integer and "%s" in message:
        return "copyinstr(arg) makes a string of an argument that is an address; %d prints a number"
    return None


def hint_for_token(kind: str, value: object) -> str | None:
    """For a token that can not stand where it is; kind, value: of the lexer's Token."""
    if kind == "IDENT" and isinstance(value, str) and value in ("and", "or", "not"):
        return _WORDS[value]
    if kind in ("int", "char", "long", "short", "unsigned", "string", "struct", "self", "this"):
        return "variables are declared outside of the clauses; this->name needs no declaration"
    return None
