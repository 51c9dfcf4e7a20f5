"""The compiler's driver: D text -> program.Program.

A program may have several texts (dtrace's -n, -s … may be repeated). They share variables and
aggregations; their clauses follow each other.
"""

from __future__ import annotations

import os
import sys

from . import ast
from .compile_errors import refuse
from .front.libraries import Libraries
from .front.source_text import Location, Source
from .pass_manager import TREES, back_end, front_end
from .types.kernel_btf import KernelTypeResolver
from .types.recorded_paths import split_paths
from .types.resolve import MOST_PATHS, ProgramNames
from .types.value_paths import encode_rate

TYPE_CHECKING = False  # of typing, which the compiler does not import
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .compiler_limits import SizeLimits

DUMP_STAGES = ("ast", "types", "bpf")
_STAGE_PASSES = {"ast": "parse", "types": "lower"}


# Frames that a compilation may need: the parser's bound on nesting, times its functions a level.
_RECURSION_LIMIT = 4000


class DeepRecursion:
    """Room for the compiler's recursion, whatever the stack of the caller is."""

    __slots__ = ("limits", "old_limit")

    def __init__(self, limits: SizeLimits | None = None) -> None:
        self.limits = limits

    def __enter__(self) -> None:
        self.old_limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(self.old_limit, _RECURSION_LIMIT))

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        sys.setrecursionlimit(self.old_limit)
        if kind is RecursionError and self.limits and self.limits.location:
            raise self.limits.nesting_error() from None


def default_macros(target: int = 0) -> dict[str, int]:
    """The macro variables of dtrace(1): this process's ids, and $target's."""
    found = {
        "target": target,
        "pid": os.getpid(),
        "ppid": os.getppid(),
        "pgid": os.getpgrp(),
        "sid": os.getsid(0),
    }
    found.update(uid=os.getuid(), euid=os.geteuid(), gid=os.getgid(), egid=os.getegid())
    return found


class Compiler:
    """options: options.Options, to which the texts' pragmas are added; macros: see
    default_macros; arguments: the texts of $0, $1 …; kernel: an engine.kernel.kernel_structs.KernelBtf, None where nothing is known of the kernel."""

    def __init__(
        self,
        options: Any = None,
        macros: dict[str, Any] | None = None,
        arguments: Iterable[str] = (),
        kernel: Any | None = None,
    ) -> None:
        if options is None:
            from pydtrace.options import Options

            options = Options()
        self.options = options
        self.macros: dict[str, Any] = default_macros() if macros is None else macros
        self.arguments = list(arguments)
        self.names = ProgramNames()
        self.names.options = self.options
        self.names.kernel = kernel and KernelTypeResolver(kernel)
        self.libraries = Libraries(self.add_library, kernel)
        self.items: list[ast.Node] = []
        self.last_location: Location | None = (
            None  # of the last text, for what no clause is to blame for
        )

    def compile_text(
        self,
        text: str | bytes,
        name: str | None = None,
        probe_level: str = "name",
        upto: str = "lower",
    ) -> ast.Unit:
        """Compile one text as far as to the tree; raises errors.CompileError,
        errors.PreprocessError for a script under -C, errors.LibraryError for -L.

        name: the file's, None for a clause of the command line; probe_level: what the last
        part of its probe descriptions is (for dtrace's -P, -m, -f: "provider", "module",
        "function").  Returns the tree of the pass `upto`.
        """
        tree = self.run_front_end(text, name, probe_level, upto)
        self.items += tree.items
        self.last_location = tree.loc
        return tree

    def add_library(self, text: str | bytes, path: str) -> None:
        """One library file: of what it declares only, not of its clauses, a program is made."""
        self.run_front_end(text, path, "name", "types", path)

    def run_front_end(
        self,
        text: str | bytes,
        name: str | None,
        probe_level: str,
        upto: str,
        library: str | None = None,
    ) -> ast.Unit:
        """The tree of a text after the pass `upto`."""
        self.names.scopes["this"] = {}  # these belong to one text
        values = {
            "text": text,
            "name": name,
            "names": self.names,
            "options": self.options,
            "macros": self.macros,
            "arguments": self.arguments,
            "probe_level": probe_level,
            "library": library,
            "libraries": self.libraries,
        }
        shown = self.print_tree if "tree" in self.options and library is None else None
        with DeepRecursion(self.names.limits):
            tree: ast.Unit = front_end().up_to(upto).run(values, shown)
        return tree

    def print_tree(self, name: str, made: Any) -> None:
        """The option tree: what a pass made, for each whose bit is set."""
        from .stage_dump import format_tree

        if name in TREES and self.options["tree"] >> TREES.index(name) & 1:
            print(
                f"Parse tree (Pass {TREES.index(name) + 1}):\n{format_tree(made)}",
                file=sys.stderr,
                flush=True,
            )

    def format_disassembly(self, program: Any) -> str:
        """What -S shows of the program that generate_program() made."""
        from .disassembly import format_disassembly

        clauses = [item for item in self.items if type(item) is ast.Clause]
        text: str = format_disassembly(clauses, program, self.names)
        return text

    def use_recording(self, paths: bytes) -> None:
        """The script runs over a recording that has these values (types/recorded_paths.py), and no others."""
        self.names.recorded_paths = split_paths(paths)

    def _encode_rate(self, place: Location) -> bytes:
        rate = self.options.get("valuerate", 0) if self.names.paths else 0
        if rate and len(self.names.paths) == MOST_PATHS:
            message = f"a program with -x valuerate reads at most {MOST_PATHS - 1} paths"
            refuse("D_PATH_MANY", place, message)
        return encode_rate(rate) if rate else b""

    def generate_program(self) -> Any:
        """The program.Program of all texts."""
        place = self.last_location or Location(Source(""), 0, 0, 0)
        with DeepRecursion(self.names.limits):
            program = back_end().run({"unit": ast.Unit(place, self.items), "options": self.options})
        program.paths = [] if self.names.recorded_paths is not None else list(self.names.paths)
        program.term_conditions = self.names.term_conditions.rows()
        program.path_texts = self.names.path_texts
        program.value_rate = self._encode_rate(place)
        if self.names.recorded_paths is None and len(program.paths) < MOST_PATHS - bool(
            program.value_rate
        ):
            program.conditions, program.decided_in_target = self.names.conditions.encode(
                program.paths
            )
        return program


def compile_program(
    text: str | bytes,
    name: str | None = None,
    options: Any = None,
    macros: dict[str, int] | None = None,
    arguments: Iterable[str] = (),
    probe_level: str = "name",
) -> Any:
    """The program.Program of one text; see Compiler."""
    compiler = Compiler(options, macros, arguments)
    compiler.compile_text(text, name, probe_level)
    return compiler.generate_program()


def dump_stage(
    stage: str,
    compiler: Compiler,
    text: str | bytes,
    name: str | None = None,
    probe_level: str = "name",
) -> str:
    """What --dump=STAGE shows of a text, STAGE one of DUMPS; the compiler has read nothing yet."""
    from .stage_dump import format_code, format_tree

    shown: str
    if stage == "bpf":
        compiler.compile_text(text, name, probe_level)
        shown = format_code(compiler.generate_program())
    else:
        shown = format_tree(compiler.compile_text(text, name, probe_level, _STAGE_PASSES[stage]))
    return shown
