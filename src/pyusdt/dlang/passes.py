"""The pass manager: what runs in which order, and what each step needs and makes.

In: named values (the source, the options …).  Out: more of them, each made by one pass.
Always: what a pass needs is there when it is registered, or the registration fails; a pass
is called with the values that it needs, by name, and with nothing else.
"""


class PassError(Exception):
    """A list of passes that can not work: a mistake of ours, never of a D program."""


class Pass:
    """name; needs: names of the values it takes; makes: name of the value it returns;
    function(**needs)."""

    __slots__ = ("name", "needs", "makes", "function")

    def __init__(self, name, needs, makes, function):
        self.name, self.needs, self.makes, self.function = name, needs, makes, function


class Passes:
    """A list of passes over given `inputs` (names)."""

    def __init__(self, inputs):
        self.inputs = tuple(inputs)
        self.passes = []

    def available(self):
        return {*self.inputs, *(p.makes for p in self.passes)}

    def add(self, name, needs, makes, function):
        """Register a pass at the end of the list; returns the list."""
        missing = [need for need in needs if need not in self.available()]
        if missing:
            raise PassError(f"pass {name} needs {', '.join(missing)}, which no pass before it makes")
        if makes in self.available():
            raise PassError(f"pass {name} makes {makes}, which is there already")
        self.passes.append(Pass(name, tuple(needs), makes, function))
        return self

    def upto(self, name):
        """The list up to and including the pass of this name."""
        names = [p.name for p in self.passes]
        if name not in names:
            raise PassError(f"there is no pass {name}; the passes are {', '.join(names)}")
        found = Passes(self.inputs)
        found.passes = self.passes[: names.index(name) + 1]
        return found

    def run(self, values, after=None):
        """Run all passes over `values`, a dict of the inputs; returns it with what was made.  after(number, what): called
        with what each of them made, counted from 1."""
        missing = [name for name in self.inputs if name not in values]
        if missing:
            raise PassError(f"no value for {', '.join(missing)}")
        for number, p in enumerate(self.passes, 1):
            values[p.makes] = p.function(**{need: values[need] for need in p.needs})
            if after:
                after(number, values[p.makes])
        return values


def parse(source, names, options, macros, arguments, probe_level, library):
    from .errors import CompileError
    from .front.parser import Parser
    from .front.pragmas import ControlLines
    from .front.source import Location

    defaults = "defaultargs" in options
    parser = Parser(source, names, macros, arguments, defaults, ControlLines(options, names, library), probe_level)
    tree = parser.parse()
    last = len(arguments) - 1 if library is None else 0
    if last > 0 and last not in parser.lexer.used_args and "argref" not in options:
        end = len(source.text)
        message = f"extraneous argument '{arguments[last]}' (${last} is not referenced)"
        raise CompileError("D_MACRO_UNUSED", Location(source, max(0, end - 1), end, end), message)
    return tree


def types(tree, names):
    from .types.typecheck import check

    typed = check(tree, names)
    names.check_pragmas()
    return typed


def lower(typed):
    from .code.lower import lower as run

    return run(typed)


def front_end():
    """The passes from a text to the tree that code generation takes."""
    passes = Passes(("source", "names", "options", "macros", "arguments", "probe_level", "library"))
    passes.add("parse", passes.inputs, "tree", parse)
    passes.add("types", ("tree", "names"), "typed", types)
    passes.add("lower", ("typed",), "lowered", lower)
    return passes
