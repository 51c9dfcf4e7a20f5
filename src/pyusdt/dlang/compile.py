"""The compiler's driver: D text in, program.Program out.

A program may come from several texts (dtrace's -n, -s … may be given more than once): they
share variables and aggregations, and their clauses stand one after the other.
"""

import os
import sys

from . import ast
from .errors import CompileError
from .front.source import Source
from .passes import front_end
from .types.resolve import Names

DUMPS = ("ast", "types", "bpf")
_DUMPED = {"ast": "parse", "types": "lower"}


# Frames that a compilation may need: the parser's bound on nesting, times its functions a level.
_FRAMES = 4000


def _bytes(text):
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


def _may_name_tasks(text):
    """Whether a program (bytes) may need what dlang/types/kernel_types.py declares."""
    return any(name in text for name in (b"psinfo", b"curthread", b"task_struct")) or (b"args" in text and (b"proc" in text or b"sched" in text))


def _may_name_cpus(text):
    """Whether a program (bytes) may need what dlang/types/cpu_types.py declares."""
    return any(name in text for name in (b"curcpu", b"cpuinfo_t", b"chip", b"lgrp", b"pset"))


class DeepRecursion:
    """Room for the compiler's recursion, whatever the stack of the caller is."""

    __slots__ = ("limit",)

    def __enter__(self):
        self.limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(self.limit, _FRAMES))

    def __exit__(self, *error):
        sys.setrecursionlimit(self.limit)


def default_macros(target=0):
    """The macro variables of dtrace(1): this process's ids, and $target's."""
    found = {"target": target, "pid": os.getpid(), "ppid": os.getppid(), "pgid": os.getpgrp(), "sid": os.getsid(0)}
    found.update(uid=os.getuid(), euid=os.geteuid(), gid=os.getgid(), egid=os.getegid())
    return found


class Compiler:
    """options: options.Options, to which the texts' pragmas are added; macros: see
    default_macros; arguments: the texts of $0, $1 …"""

    def __init__(self, options=None, macros=None, arguments=()):
        if options is None:
            from ..options import Options

            options = Options()
        self.options = options
        self.macros = default_macros() if macros is None else macros
        self.arguments = list(arguments)
        self.names = Names()
        self.names.options = self.options
        self.items = []
        self.libraries_read = self.kernel_types_read = self.cpu_types_read = False
        self.last = None  # Location of the last text, for what no clause is to blame for

    def add(self, text, name=None, probe_level="name", upto="lower"):
        """Compile one text (bytes or str) as far as to the tree; raises errors.CompileError,
        errors.PreprocessError for a script under -C, errors.LibraryError for -L.

        name: the file's, None for a clause of the command line; probe_level: what the last
        part of its probe descriptions is (for dtrace's -P, -m, -f: "provider", "module",
        "function").  Returns the tree of the pass `upto`.
        """
        if name is not None and self.options.get("cpp"):
            from .front.preprocess import preprocess

            text = preprocess(_bytes(text), self.options)
        if not self.libraries_read:
            self.read_libraries(Source(text, name))
        self.read_kernel_types(text)
        self.read_cpu_types(text)
        tree = self.run(text, name, probe_level, upto)
        self.items += tree.items
        self.last = tree.loc
        return tree

    def read_libraries(self, source):
        """Add what -L names; source: of the program, for messages."""
        self.libraries_read = True
        folders = [folder for folder in (self.options.get("syslibdir"), *self.options.get("libdir", ())) if folder]
        if folders and not self.options.get("nolibs"):
            from .front.libraries import load

            try:
                load(self, folders)
            except CompileError as error:
                error.within = source
                raise

    def read_kernel_types(self, text):
        """Add what is known of the kernel's tasks, if a text may need it, once."""
        if self.kernel_types_read or not sys.platform.startswith("linux") or not _may_name_tasks(_bytes(text)):
            return
        from .types import kernel_types

        self.kernel_types_read = True
        library = kernel_types.library()
        if library:
            self.add_library(library, "<kernel>")

    def read_cpu_types(self, text):
        """Add what is known of CPUs, if a text may need it, once, and no library of -L has."""
        if self.cpu_types_read or "cpuinfo_t" in self.names.typedefs or not _may_name_cpus(_bytes(text)):
            return
        from .types import cpu_types

        self.cpu_types_read = True
        self.add_library(cpu_types.library(), "<cpu>")

    def add_library(self, text, path):
        """One library file: of what it declares only, not of its clauses, a program is made."""
        self.run(text, path, "name", "types", path)

    def run(self, text, name, probe_level, upto, library=None):
        """The tree of a text after the pass `upto`."""
        names = self.names
        names.scopes["this"] = {}  # these belong to one text
        values = {
            "source": Source(text, name),
            "names": names,
            "options": self.options,
            "macros": self.macros,
            "arguments": self.arguments,
            "probe_level": probe_level,
            "library": library,
        }
        passes = front_end().upto(upto)
        shown = self.show_tree if "tree" in self.options and library is None else None
        with DeepRecursion():
            return passes.run(values, shown)[passes.passes[-1].makes]

    def show_tree(self, number, made):
        """The option tree: what a pass made, for each whose bit is set."""
        from .dump import tree

        if self.options["tree"] >> (number - 1) & 1:
            print(f"Parse tree (Pass {number}):\n{tree(made)}", file=sys.stderr, flush=True)

    def disassembly(self, program):
        """What -S shows of the program that finish() made."""
        from .disassembly import report

        clauses = [item for item in self.items if item.__class__ is ast.Clause]
        return report(clauses, program, self.names)

    def finish(self):
        """The program.Program of all texts."""
        from .code.codegen import generate

        with DeepRecursion():
            return generate(ast.Unit(self.last, self.items), self.options)


def compile_program(text, name=None, options=None, macros=None, arguments=(), probe_level="name"):
    """The program.Program of one text; see Compiler."""
    compiler = Compiler(options, macros, arguments)
    compiler.add(text, name, probe_level)
    return compiler.finish()


def dump(stage, text, name=None, options=None, macros=None, arguments=(), probe_level="name"):
    """What --dump=STAGE shows of a text, STAGE one of DUMPS."""
    from .dump import code, tree

    if stage == "bpf":
        return code(compile_program(text, name, options, macros, arguments, probe_level))
    return tree(Compiler(options, macros, arguments).add(text, name, probe_level, _DUMPED[stage]))
