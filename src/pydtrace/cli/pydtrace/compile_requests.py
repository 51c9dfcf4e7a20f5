"""Compile the D text of a command line to a program, or to what a stage of the compiler prints.

- A script that cannot be read is a Failure. Errors in a script are raised as the compiler raises
  them.
"""

from __future__ import annotations

import os
import sys

from pydtrace import debug_log
from pydtrace.cli.parsing.arguments import Failure
from pydtrace.dlang.compile import Compiler, default_macros, dump_stage
from pydtrace.dlang.compile_errors import GenerationError, LibraryError, PreprocessError
from pydtrace.dlang.front.lexer import MissingMacro
from pydtrace.dlang.front.probe_descriptions import FIXED_PROBES
from pydtrace.engine import Targets, probe_signatures
from pydtrace.engine.kernel.kernel_structs import KernelBtf
from pydtrace.sinks.output_file import write_stdout
from pydtrace.suggestions import append_hint, closest_match
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .usage import PROGRAM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pydtrace.cli.parsing.arguments import Arguments, Request
    from pydtrace.program.program import Program

_HINT_FOR_WAIT = "--wait NAME may find several processes, so $target has no value: write ruby* instead of ruby$target, and remove `pid == $target`"


class Compiled:
    """The requests of a command line, compiled.  program: dlang.program.Program; sources: for each
    request its source.Source."""

    def __init__(self, program: Program, sources: list[Any]) -> None:
        self.program, self.sources = program, sources


def read_script(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Failure(
            append_hint(f"failed to open {path}: {error.strerror}", _suggest_script(path))
        ) from None


def _suggest_script(path: str) -> str | None:
    """The hint for the path of a script that can not be read."""
    from pydtrace.cli.commands.scripts import names

    folder, name = os.path.split(path)
    try:
        there = [each for each in os.listdir(folder or ".") if each.endswith(".d") and each != name]
    except OSError:
        there = []
    if found := f"{name}.d" if f"{name}.d" in there else closest_match(name, there):
        return f"did you mean {escape_for_terminal(os.path.join(folder, found))}?"
    script = name.removesuffix(".d")
    return (
        f"`pyusdt trace {script}` runs the installed script {script}" if script in names() else None
    )


def read_request_text(request: Request) -> bytes:
    """The D text of a request."""
    return (
        os.fsencode(request.text or "") if request.script is None else read_script(request.script)
    )


def compile_requests(arguments: Arguments, target: int) -> Compiled:
    """All requests as one program; target: the pid that is $target.  Raises CompileError."""
    compiler = Compiler(arguments.options, default_macros(target), kernel=KernelBtf())
    if isinstance(arguments.options.get("wait"), str):
        compiler.macros["target"] = MissingMacro(_HINT_FOR_WAIT)
    compiler.names.list_probes = lambda: list_all_probes(arguments)
    if arguments.hosts is not None:
        from pydtrace.dlang import host_placement as many
        from pydtrace.hosts import placement, request

        is_host = arguments.mode == "serve"
        width = arguments.width if is_host else request.name_width(arguments.hosts)
        many.declare_host(compiler, arguments.hosts if is_host else "", width, "--hosts")
    unknown = (
        arguments.hosts is not None or arguments.commands
    )  # all hosts are to see the same types
    argv = arguments.commands[0].split() if arguments.commands and arguments.hosts is None else ()
    compiler.names.reported_arguments = (
        probe_signatures.default_signatures(arguments.options, argv)
        if unknown
        else probe_signatures.signatures_of_processes(arguments.options, arguments.pids)
    )
    if not unknown and "replay" not in arguments.options and arguments.pids:
        compiler.names.find_functions = probe_signatures.functions_of_processes(arguments.pids)
    if "replay" in arguments.options:
        from pydtrace.engine.embedded.replay import read_recorded_paths

        compiler.use_recording(read_recorded_paths(arguments.options["replay"]))
    sources = add_requests(compiler, arguments)
    program = (
        compiler.generate_program()
        if arguments.hosts is None
        else many.finish_program(compiler, placement.clause_placement, placement.HOSTS)
    )
    if "disasm" in arguments.options:
        print(compiler.format_disassembly(program), file=sys.stderr, flush=True)
    for clause in program.clauses:
        debug_log.log(
            "clause %d, %s: %d instructions",
            clause.index,
            ", ".join(map(str, clause.probes)),
            len(clause.code),
        )
    return Compiled(program, sources)


def add_requests(compiler: Compiler, arguments: Arguments) -> list[Any]:
    """Compile the requests into the compiler's names and items; the Source of each."""
    sources = []
    for request in arguments.requests:
        text = read_request_text(request)
        compiler.arguments = [request.script or PROGRAM, *arguments.operands]
        try:
            sources.append(compiler.compile_text(text, request.script, request.level).loc.source)
        except (LibraryError, PreprocessError, GenerationError) as error:
            what = (
                "invalid probe specifier" if request.script is None else "failed to compile script"
            )
            raise Failure(f"{what} {request.script or request.text}: {error}") from None
    return sources


def show_dumps(arguments: Arguments, stage: str) -> None:
    """--dump: what the compiler made of each request."""
    for request in arguments.requests:
        text = read_request_text(request)
        given = [request.script or PROGRAM, *arguments.operands]
        compiler = Compiler(arguments.options, arguments=given, kernel=KernelBtf())
        write_stdout(dump_stage(stage, compiler, text, request.script, request.level) + "\n")


def list_all_probes(arguments: Arguments) -> list[Any]:
    """(provider, module, function, name) of all probes, in the order of their ids."""
    from pydtrace import select_engine

    return [
        *FIXED_PROBES,
        *select_engine.list_probes(arguments.options, Targets(arguments.pids), None),
    ]
