"""The pass manager: the order of the passes, and the values that each pass needs and makes.

- A pass can be registered only if an earlier pass or an input makes each value that it needs.
- A pass is called with the values that it needs, by name, and with nothing else.
"""

from __future__ import annotations

from .compiler_limits import TEXT_BYTES_MAX

TYPE_CHECKING = False  # of typing, which the compiler does not import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from . import ast
    from .front.libraries import Libraries
    from .front.source_text import Source
    from .types.resolve import ProgramNames


class PassError(Exception):
    """A list of passes that can not work: a mistake of ours, never of a D program."""


class Pass:
    """name; needs: names of the values it takes; makes: name of the value it returns;
    function(**needs)."""

    __slots__ = ("name", "needs", "makes", "function")

    def __init__(
        self, name: str, needs: tuple[str, ...], makes: str, function: Callable[..., Any]
    ) -> None:
        self.name, self.needs, self.makes, self.function = name, needs, makes, function


class PassList:
    """A list of passes over given `inputs` (names)."""

    def __init__(self, inputs: Iterable[str]) -> None:
        self.inputs = tuple(inputs)
        self.passes: list[Pass] = []

    def available_values(self) -> set[str]:
        return {*self.inputs, *(p.makes for p in self.passes)}

    def add_pass(
        self, name: str, needs: Iterable[str], makes: str, function: Callable[..., Any]
    ) -> PassList:
        """Register a pass at the end of the list; returns the list."""
        needs = tuple(needs)
        missing = [need for need in needs if need not in self.available_values()]
        if missing:
            raise PassError(
                f"pass {name} needs {', '.join(missing)}, which no pass before it makes"
            )
        if makes in self.available_values():
            raise PassError(f"pass {name} makes {makes}, which is there already")
        self.passes.append(Pass(name, needs, makes, function))
        return self

    def up_to(self, name: str) -> PassList:
        """The list up to and including the pass of this name."""
        names = [p.name for p in self.passes]
        if name not in names:
            raise PassError(f"there is no pass {name}; the passes are {', '.join(names)}")
        found = PassList(self.inputs)
        found.passes = self.passes[: names.index(name) + 1]
        return found

    def run(self, values: dict[str, Any], after: Callable[[str, Any], None] | None = None) -> Any:
        """What the last pass makes of `values`, a dict of the inputs, to which all that is made is added.  after(name, what): is
        called with what each of them made."""
        missing = [name for name in self.inputs if name not in values]
        if missing:
            raise PassError(f"no value for {', '.join(missing)}")
        made = None
        for p in self.passes:
            made = values[p.makes] = p.function(**{need: values[need] for need in p.needs})
            if after:
                after(p.name, made)
        return made


# --- of one text ---------------------------------------------------------------------------


def preprocess_text(
    text: str | bytes, name: str | None, options: Any, library: str | None
) -> Source:
    """A script goes through cpp(1) under -C."""
    from .front.source_text import Source

    if name is not None and library is None and options.get("cpp"):
        from .front.preprocess import run_preprocessor as run

        text = run(
            text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"), options
        )
    return Source(text, name)


def read_libraries(
    source: Source, names: ProgramNames, options: Any, library: str | None, libraries: Libraries
) -> ProgramNames:
    """What libraries declare is there before the text is read."""
    source.limits = names.limits
    if len(source.text) > TEXT_BYTES_MAX:
        from .compile_errors import refuse_unsupported
        from .front.source_text import Location

        refuse_unsupported(
            Location(source, 0, 0, 0),
            f"a text of {len(source.text)} bytes, more than {TEXT_BYTES_MAX}, is",
        )
    if library is None:
        libraries.read_needed(source, names, options)
    return names


def parse_source(
    source: Source,
    declared: ProgramNames,
    options: Any,
    macros: dict[str, int],
    arguments: list[str],
    probe_level: str,
    library: str | None,
) -> ast.Unit:
    from .compile_errors import refuse
    from .front.parser import Parser
    from .front.pragmas import ControlLines
    from .front.source_text import Location

    defaults = "defaultargs" in options
    control = ControlLines(options, declared, library)
    parser = Parser(source, declared, control, macros, arguments, defaults, probe_level)
    tree: ast.Unit = parser.parse()
    if parser.names_processes:
        declaration, *clauses = parse_process_names(tree, declared, options, macros)
        tree.items = [declaration, *tree.items, *clauses]
    last = len(arguments) - 1 if library is None else 0
    if last > 0 and last not in parser.lexer.used_args and "argref" not in options:
        end = len(source.text)
        message = f"extraneous argument '{arguments[last]}' (${last} is not referenced)"
        refuse("D_MACRO_UNUSED", Location(source, max(0, end - 1), end, end), message)
    return tree


def parse_process_names(
    tree: ast.Unit, declared: ProgramNames, options: Any, macros: dict[str, int]
) -> list[ast.Node]:
    """The clauses that procname() needs."""
    from .front.parser import Parser
    from .front.pragmas import ControlLines
    from .front.procname_clauses import make_clauses
    from .front.source_text import Source

    source = Source(make_clauses(tree), None)
    source.limits = declared.limits
    control = ControlLines(options, declared, None)
    return list(Parser(source, declared, control, macros).parse().items)


def check_types(tree: ast.Unit, names: ProgramNames) -> ast.Unit:
    from .types.typecheck import check_unit

    typed: ast.Unit = check_unit(tree, names)
    names.check_pragmas()
    return typed


def lower_tree(typed: ast.Unit) -> ast.Unit:
    from .types.lower import lower_unit as run

    lowered: ast.Unit = run(typed)
    return lowered


TREES = ("parse", "types", "lower")  # the passes that make a tree, in dtrace's order


def front_end() -> PassList:
    """The passes from a text to the tree that code generation takes."""
    passes = PassList(
        (
            "text",
            "name",
            "names",
            "options",
            "macros",
            "arguments",
            "probe_level",
            "library",
            "libraries",
        )
    )
    passes.add_pass("preprocess", ("text", "name", "options", "library"), "source", preprocess_text)
    passes.add_pass(
        "libraries",
        ("source", "names", "options", "library", "libraries"),
        "declared",
        read_libraries,
    )
    passes.add_pass(
        "parse",
        ("source", "declared", "options", "macros", "arguments", "probe_level", "library"),
        "tree",
        parse_source,
    )
    passes.add_pass("types", ("tree", "names"), "typed", check_types)
    passes.add_pass("lower", ("typed",), "lowered", lower_tree)
    return passes


# --- of all texts ----------------------------------------------------------------------------


def generate_program(unit: ast.Unit, options: Any) -> Any:
    from .code.codegen import generate_program as run

    return run(unit, options)


def back_end() -> PassList:
    """The passes from the trees of all texts to the program.Program."""
    return PassList(("unit", "options")).add_pass(
        "generate", ("unit", "options"), "program", generate_program
    )
