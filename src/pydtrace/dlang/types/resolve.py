"""Names: what a word of a D program stands for.

D makes variables when they are first assigned, in the order of the program, so the same
ProgramNames serves the parser and then the types pass. Messages are dtrace's.
"""

from __future__ import annotations

from pydtrace.dlang import ast, beginner_hints, constants
from pydtrace.dlang.builtins import VARIABLES, prototypes
from pydtrace.dlang.builtins.unsupported import UNSUPPORTED
from pydtrace.dlang.compile_errors import CompileError, refuse, refuse_unsupported
from pydtrace.dlang.compiler_limits import SizeLimits
from pydtrace.dlang.variable_table import Aggregation, Variable, variable_kind
from pydtrace.program import d_types as t

from . import predefined_constants
from .term_conditions import TermConditions
from .value_conditions import SessionConditions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn

    from ..front.source_text import Location
    from ..variable_table import Inline, Translator
    from .kernel_btf import KernelTypeResolver

    Arguments = list[tuple[str | None, t.Type]]  # of a probe: name and type of each

_SYMBOL_HINT = "symbols of the kernel and of programs have no values here; sym(), usym() and uaddr() give the names of addresses"
_ARRAY_HINTS = {
    "args": "args[0] is the probe's first argument",
    "uregs": "uregs[R_RIP] is a register",
}
# of value_paths.py, which refuses them where they have no path
PATH_FUNCTIONS = frozenset(["present", "typename", "length", "repr"])
MOST_PATHS = 6  # PYUSDT_PATHS_MAX
_DISTANCE_MAX = 3  # how unlike a name may be, of those that a hint offers


def refuse_absent(loc: Location, name: str, shown: str) -> None:
    """Refuse a name of D's for which there is nothing here, with the reason."""
    refuse_unsupported(loc, f"{shown} is", UNSUPPORTED[name])


class ProgramNames:
    """What the files of this folder enter (declarations.py, definitions.py) and look up."""

    def __init__(self) -> None:
        self.options: Any = {}  # options.Options: the program's; the compiler puts its own here
        self.typedefs: dict[str, t.Type] = dict(t.TYPEDEFS)
        self.included: set[str] = (
            set()
        )  # what included files have declared: names of typedefs, and `struct tag` and its like
        self.kernel: KernelTypeResolver | None = (
            None  # where the program may name the kernel's types
        )
        self.tags: dict[str, t.Type] = {}  # "struct s", "enum e" … -> its type
        self.inlines: dict[str, Inline] = {}  # enumerators are such too
        self.translators: list[Translator] = []
        # gives all probes there are; see front/probe_descriptions.py
        self.list_probes: Callable[[], list[Any]] | None = None
        # what is known of the arguments of a description's probes: engine/probe_signatures.py
        self.reported_arguments: Callable[[ast.ProbeDesc], list[Any]] | None = None
        # the functions that a description matches, each with its process: engine/embedded/python_functions.py
        self.find_functions: Callable[[ast.ProbeDesc], list[tuple[int, Any]]] | None = None
        # about names that are not known yet
        self.pragmas: list[tuple[str, str, Location]] = []
        # name -> {probe's raw name: ([(name, type)] of the inputs, of the outputs)}
        self.providers: dict[str, dict[str, tuple[Arguments, Arguments]]] = {}
        self.parameters: dict[str, Inline] = {}  # of the template that is being typed
        self.scopes: dict[str, dict[str, Variable]] = {
            "global": {},
            "self": {},
            "task": {},
            "this": {},
        }
        self.aggregations: dict[str, Aggregation] = {}
        self.limits = SizeLimits()
        self.may_read_values = False  # clauses have words that paths begin with
        self.own_roots: set[str] = set()  # variables that are called as what paths begin with
        self.paths: list[bytes] = []  # to values of a Python program: value_paths.py
        self.path_texts: list[str] = []
        self.recorded_paths: list[bytes] | None = None  # of a replay: no others are there
        self.conditions = SessionConditions()
        self.term_conditions = TermConditions()
        self.mentioned: set[str] = set()  # names that stood where only a variable can

    @property
    def has_floats(self) -> bool:
        """Whether floating-point values are allowed."""
        return self.may_read_values or "pyusdt" in self.options

    def add_path(self, loc: Location, path: bytes, text: str) -> int:
        """The number of a path, each once.  text: as the source has it."""
        if path not in self.paths:
            if len(self.paths) == MOST_PATHS:
                hint = "a path counts once for each type that it has"
                refuse("D_PATH_MANY", loc, f"a program reads at most {MOST_PATHS} paths", hint)
            self.paths.append(path)
            self.path_texts.append(text)
        return self.paths.index(path)

    def find_kernel_type(self, name: str) -> t.Type | None:
        """The type that the kernel calls so, or None."""
        if self.kernel is None or name in self.typedefs:
            return None
        return self.kernel.find_typedef(name)

    def note_mention(self, name: str) -> None:
        self.mentioned.add(name)

    def check_pragmas(self) -> None:
        """Refuse pragmas about names that the program has not defined."""
        for pragma, name, loc in self.pragmas:
            if name not in self.scopes["global"] and name not in self.inlines:
                hint = f"nothing defines {name}"
                raise CompileError(
                    "D_PRAGMA_UNUSED", loc, f"unused #pragma {pragma}", hint, mark=loc.start
                )
        self.pragmas = []

    def is_known(self, name: str) -> bool:
        """True if a word can only be a variable, a constant or a function."""
        return (
            self.is_builtin(name)
            or name in self.scopes["global"]
            or name in self.inlines
            or name in self.mentioned
        )

    # --- names in clauses ---------------------------------------------------------

    def is_function(self, name: str) -> bool:
        """Whether a name is a function's: of D's, or under -x pyusdt of pyusdt's own."""
        return name in prototypes.FUNCTIONS and (
            name not in prototypes.EXTENSIONS or "pyusdt" in self.options
        )

    def is_builtin(self, name: str) -> bool:
        return (
            name in VARIABLES
            or self.is_function(name)
            or name in prototypes.OTHER_VARIABLES
            or name in prototypes.OTHER_ARRAYS
            or name in ("self", "this")
        )

    def find_inline(self, name: str, loc: Location | None = None) -> Inline | None:
        """The symbols.Inline of a name, or None."""
        return self.parameters.get(name) or self.inlines.get(name) or self.find_constant(name, loc)

    def find_constant(self, name: str, loc: Location | None) -> Inline | None:
        """The symbols.Inline of a constant that belongs to every program, or None."""
        if (
            name in self.scopes["global"]
            or name in VARIABLES
            or not (name[:1].isupper() or name in predefined_constants.UNKNOWN_PATHS)
        ):
            return None
        return predefined_constants.find_constant(name, loc)

    def resolve_scalar(self, node: ast.Ident, create: bool = False) -> ast.Expr:
        """The Var or Builtin that an Ident stands for, as a scalar; or the value that the kernel's enumerator of this name has, where
        nothing else is called so."""
        name, loc = node.name, node.loc
        row = VARIABLES.get(name)
        found: ast.Expr
        if row is not None:
            found = ast.Builtin(loc, row)
            found.type = row.type
            return found
        symbol = self.scopes["global"].get(name)
        if symbol is not None and symbol.keys is not None:
            self.refuse_reference(loc, "associative array", name, "scalar")
        if symbol is None:
            self.refuse_reserved(node)
            if not create:
                value = self.kernel.find_enumerator(name) if self.kernel else None
                if value is not None:
                    return constants.make_literal(
                        loc, value, t.INT if -(1 << 31) <= value < 1 << 31 else t.LONG
                    )
                message = f"failed to resolve {name}: Unknown variable name"
                refuse("D_IDENT_UNDEF", loc, message, self.hint_for_unknown(name))
            symbol = self.create_variable("global", name, loc)
        found = ast.Var(loc, symbol)
        found.type = symbol.type
        return found

    def hint_for_unknown(self, name: str) -> str:
        """A hint for a name that nothing defines."""
        if name in self.aggregations:
            return f"the aggregation is @{name}"
        found = beginner_hints.hint_for_name(name) or self.suggest_name(name)
        return (
            found or f'a string has double quotes: "{name}"; assign a variable before you read it'
        )

    def refuse_reserved(self, node: ast.Ident) -> None:
        """Refuse a name that is D's, but not a variable that pyusdt has."""
        name, loc = node.name, node.loc
        if "`" in name:
            self.refuse_symbol(name, loc)
        if name in ("self", "this"):
            self.refuse_reference(loc, "pointer", name, "scalar", f"{name}->name is a variable")
        if self.is_function(name):
            kind = prototypes.FUNCTIONS[name][0]
            self.refuse_reference(loc, kind, name, "scalar", f"call it: {name}(…)")
        if name in _ARRAY_HINTS:
            self.refuse_reference(loc, "associative array", name, "scalar", _ARRAY_HINTS[name])
        if name in prototypes.OTHER_ARRAYS:
            refuse_absent(loc, name, f"{name}[]")
        if name in prototypes.OTHER_VARIABLES:
            refuse_absent(loc, name, f"the variable {name}")

    @staticmethod
    def refuse_symbol(name: str, loc: Location) -> NoReturn:
        """Refuse module`name."""
        module = name.partition("`")[0]
        why = (
            "Unknown symbol name"
            if module in ("", "C", "D", *_kernel_modules())
            else "Module is no longer loaded"
        )
        refuse("D_IDENT_UNDEF", loc, f"failed to resolve {name}: {why}", _SYMBOL_HINT)

    def refuse_reference(
        self, loc: Location, kind: str, name: str, wanted: str, hint: str | None = None
    ) -> NoReturn:
        message = f"{kind} '{name}' may not be referenced as {wanted}"
        refuse("D_IDENT_BADREF", loc, message, hint)

    def create_variable(self, scope: str, name: str, loc: Location) -> Variable:
        symbol = self.scopes[scope][name] = Variable(scope, name, loc)
        return symbol

    def resolve_scoped(self, node: ast.ScopedName) -> Variable:
        """The symbol of self->x or this->x, made where it is first mentioned."""
        if "`" in node.name:
            refuse(
                "D_IDENT_UNDEF",
                node.loc,
                f"failed to resolve {node.name}: Unknown variable name",
                _SYMBOL_HINT,
            )
        return self.scopes[node.scope].get(node.name) or self.create_variable(
            node.scope, node.name, node.loc
        )

    def resolve_aggregation(self, name: str, loc: Location, create: bool = False) -> Aggregation:
        found = self.aggregations.get(name)
        if found is None:
            if not create:
                message = f"failed to resolve @{name}: Unknown variable name"
                like = self.suggest_name(f"@{name}", [f"@{each}" for each in self.aggregations])
                refuse(
                    "D_IDENT_UNDEF", loc, message, like or f"assign it first: @{name} = count();"
                )
            found = self.aggregations[name] = Aggregation(name, len(self.aggregations) + 1, loc)
        return found

    def require_function(self, loc: Location, callee: ast.Expr) -> None:
        """Check that what is called is a function of D."""
        if type(callee) is not ast.Ident:
            refuse("D_FUNC_IDENT", loc, "function designator is not of function type")
        name = callee.name
        if self.is_function(name) or name in PATH_FUNCTIONS:
            return
        symbol = self.scopes["global"].get(name)
        if symbol is not None or self.is_builtin(name):
            kind = "scalar" if symbol is None else variable_kind(symbol.keys)
            message = f"{kind} '{name}' may not be referenced as a function"
            refuse("D_FUNC_IDKIND", loc, message)
        hint = (
            "-x pyusdt allows it: D has no such function" if name in prototypes.EXTENSIONS else None
        )
        hint = (
            hint
            or beginner_hints.hint_for_function(name)
            or self.suggest_name(name, prototypes.FUNCTIONS)
        )
        refuse("D_FUNC_UNDEF", loc, f"undefined function name: {name}", hint)

    def suggest_name(self, name: str, among: Iterable[str] | None = None) -> str | None:
        """A hint that names the nearest known name; of two that are as near that of the same letters."""
        if among is None:
            among = [
                *self.scopes["global"],
                *self.inlines,
                *VARIABLES,
                *(f"self->{n}" for n in self.scopes["self"]),
            ]
            among += [f"this->{n}" for n in self.scopes["this"]]
        best: str | None = None
        least = min(_DISTANCE_MAX, len(name) // 2 + 1)
        for known in among:
            if known.rpartition(">")[2] == name:
                return f"did you mean {known}?"
            away = edit_distance(name, known, least)
            if away < least or (away == least and best and sorted(known) == sorted(name)):
                best, least = known, away
        return f"did you mean {best}?" if best else None


def _kernel_modules() -> list[str]:
    """The kernel itself, and what it has loaded."""
    try:
        with open("/proc/modules", encoding="ascii") as file:
            return ["vmlinux", *(line.partition(" ")[0] for line in file)]
    except OSError:
        return ["vmlinux"]


def edit_distance(a: str, b: str, limit: int) -> int:
    """The number of letters to change, or of neighbours to swap, that make `a` into `b`; `limit`
    where it is not less."""
    if abs(len(a) - len(b)) >= limit or len(a) > 64:
        return limit
    before: list[int] = []
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            best = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, above = above, row
    return above[-1]
