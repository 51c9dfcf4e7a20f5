"""The command `pydtrace`: dtrace(1) for processes that have pyusdt in them.

The exit status is 0, 1 for a failure, 2 for wrong usage, or the status of exit().

- The traced command starts last, and only if nothing before it has failed.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import signal
import sys

from pydtrace import debug_log, terminal_colour
from pydtrace.cli import std_streams
from pydtrace.cli.first_lines import PYDTRACE
from pydtrace.cli.machine_limits import explain_host_limit
from pydtrace.cli.parsing import arguments as cli
from pydtrace.cli.parsing import sink_factory
from pydtrace.cli.parsing.arguments import Failure
from pydtrace.dlang.compile import Compiler, default_macros
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.dlang.front.probe_descriptions import FIXED_PROBES
from pydtrace.driver.driver import Driver
from pydtrace.engine import EngineError, NoSuchProcess, Targets, probe_signatures
from pydtrace.engine.kernel.kernel_structs import KernelBtf
from pydtrace.sinks.output_file import Output, OutputError, write_stdout
from pydtrace.suggestions import append_hint
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from . import dtrace_l, ready_fd, stability_report
from .compile_requests import add_requests, compile_requests, read_request_text, show_dumps
from .progress import Progress
from .signals import InterruptHandler
from .usage import PROGRAM, VERSION, build_text, help_text, usage_text, version_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, NoReturn

    from pydtrace.cli.parsing.arguments import Arguments
    from pydtrace.engine import Engine

    from .compile_requests import Compiled

_STATUS_DROPS = 3  # exit status of --strict
_STATUS_CPU_LIMIT = 4  # and of what was ended by -x maxcpu
_POLL = 0.1  # s: without records, drop messages and the command's end are noticed at most this much later
_INFORMATION_TEXTS = {"help": help_text, "versions": version_text}  # modes that show a text
_CLAUSE_WIDTH = 60  # characters of a clause that an error repeats on a terminal
_LIST_HINT = "pydtrace -l lists the probes; -Z waits for probes to come"


def report(text: str) -> None:
    """Lines on the standard error."""
    print(terminal_colour.message(text, PROGRAM), file=sys.stderr, flush=True)


def report_error(message: object) -> None:
    """A line on the standard error."""
    report(f"{PROGRAM}: {message}")


# --- compiled ---------------------------------------------------------------------


def report_requests(
    arguments: Arguments, compiled: Compiled, engine: Engine, output: Output
) -> None:
    """dtrace's messages about each request: how many probes it stands for, and with -v how stable they are."""
    for request, source in zip(arguments.requests, compiled.sources):
        found = [pair for pair in engine.matched if pair[0].loc.source is source]
        count = sum(count for _, count in found)
        if arguments.execute and not arguments.options.get("quiet"):
            report_error(
                f"{request.kind} '{request.name}' matched {count} probe{'' if count == 1 else 's'}"
            )
        if arguments.verbose:
            output.write(
                os.fsencode(
                    stability_report.format_request_report(request.kind, request.name, found)
                )
            )


# --- targets and output ----------------------------------------------------------


def make_targets(arguments: Arguments) -> Targets:
    """The Targets of -c and -p.  The command's process exists then, and waits."""
    if "replay" in arguments.options and (
        arguments.commands or arguments.pids or "record" in arguments.options
    ):
        raise Failure("--replay reads a recording: it does not work with -c, -p or --record")
    if arguments.hosts is not None and arguments.mode == "trace":
        return Targets()  # those of -c and -p are on the hosts
    for name in ("keep", "wait"):
        if name in arguments.options and (
            arguments.commands or arguments.pids or "replay" in arguments.options
        ):
            raise Failure(
                f"--{name} traces processes that the command line does not name: it does not work with -c, -p or --replay"
            )
    if arguments.attach:
        attach_all(arguments)
    if not arguments.commands:
        return Targets(arguments.pids)
    if len(arguments.commands) > 1 or arguments.pids:
        raise Failure("more than one -c, or -c with -p, is not supported")
    words = command_words(arguments.commands[0]) or [""]
    check_command(words[0])
    if operators := find_shell_operators(arguments.commands[0]):
        report_error(
            f"-c runs no shell: {words[0]} gets {', '.join(map(repr, operators))} as arguments; for a shell: -c 'sh -c \"…\"'"
        )
    from pydtrace.process.command import Command

    command = Command(words)
    command.report = report_error
    return Targets((), command)


def attach_all(arguments: Arguments) -> None:
    """--attach.  What it brings in leaves when tracing ends."""
    from pydtrace.cli.commands.attach import NotAttached, attach_provider

    if not arguments.pids:
        raise Failure("--attach needs -p PID")
    try:
        for pid in arguments.pids:
            attach_provider(pid, temporary=True)
    except NotAttached as error:
        raise Failure(error) from None


def detach_all(arguments: Arguments) -> None:
    """The last tracer takes out of the processes what a --attach has brought in."""
    if not arguments.attach:
        return
    from pydtrace.cli.commands.attach import leave_unused

    for pid in arguments.pids:
        if message := leave_unused(pid):
            report_error(message)


def waited_pid(options: Mapping[str, Any]) -> int:
    """The pid that --wait names, or 0."""
    wait = options.get("wait")
    return wait if isinstance(wait, int) else 0


def recorded_target(options: Mapping[str, Any]) -> int:
    """The $target of the tracing that made the recording of --replay, or 0."""
    if "replay" not in options:
        return 0
    from pydtrace.engine.embedded.replay import open_recording

    return int(open_recording(options["replay"]).read_header()["target"])


def command_words(line: str) -> list[str]:
    """The words of -c, with a shell's quotes.  Without quotes, or with one that is not closed, blanks separate the words, and a
    backslash is a character like others, as in dtrace."""
    if '"' in line or "'" in line:
        import shlex  # takes time

        with contextlib.suppress(ValueError):
            return shlex.split(line)
    return line.split()


_SHELL_OPERATOR = re.compile(r"\d?>>?(?:&\d)?[^>=]*|<|\|\|?|&&?|\S*;")


def find_shell_operators(line: str) -> list[str]:
    """The words of -c, outside of quotes, that a shell would not give to the command."""
    if "_DTRACE_TESTING" in os.environ:
        return []
    return (
        [word for word in line.split() if _SHELL_OPERATOR.fullmatch(word)]
        if not ('"' in line or "'" in line)
        else _find_unquoted_operators(line)
    )


def _find_unquoted_operators(line: str) -> list[str]:
    import shlex

    lexer = shlex.shlex(line, posix=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return [word for word in lexer if _SHELL_OPERATOR.fullmatch(word)]
    except ValueError:  # a quote is open
        return []


def check_command(name: str) -> None:
    """Fail before anything runs if the command can not be started."""
    folders = [""] if "/" in name else os.environ.get("PATH", os.defpath).split(os.pathsep)
    paths = [os.path.join(folder, name) for folder in folders]
    if any(os.path.isfile(path) and os.access(path, os.X_OK) for path in paths):
        return
    exists = any(os.path.isfile(path) for path in paths)
    why = "Permission denied" if exists else "No such file or directory"
    hint = (
        f"-c starts a program, not a shell: -c 'env {name} …'"
        if name.partition("=")[0].isidentifier() and "=" in name
        else None
    )
    raise Failure(append_hint(f"failed to start {name}: {why}", hint))


def unpublish_tracer() -> None:
    """Remove this process from those that can be traced: a tracer is no target."""
    from pyusdt import _core

    _core.unpublish()


def open_output(path: str | None) -> Output:
    if path is None:
        return Output(1, "<stdout>")
    try:
        return Output(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666), path
        )
    except OSError as error:
        raise Failure(f"failed to open output file '{path}': {error.strerror}") from None


# --- modes -----------------------------------------------------------------------


def show_version(verbose: int) -> int:
    write_stdout(f"{PROGRAM}: D {VERSION}\n")
    if verbose:
        write_stdout(f"This is pydtrace, {build_text()}")
    return 0


def list_probes(arguments: Arguments) -> int:
    """-l."""
    try:
        return list_targets_probes(arguments)
    finally:
        detach_all(arguments)


def list_targets_probes(arguments: Arguments) -> int:
    if "replay" in arguments.options:
        raise Failure("-l lists the probes of running processes: it does not work with --replay")
    targets = make_targets(arguments)
    try:
        return show_probes(arguments, targets)
    finally:
        if targets.command:
            targets.command.stop()  # it never runs


def show_probes(arguments: Arguments, targets: Targets) -> int:
    """The list, of a command what it will have."""
    from pydtrace import select_engine
    from pydtrace._tracer import glob

    unpublish_tracer()
    descriptions = None
    if arguments.requests:
        program = compile_requests(arguments, (*targets.named_pids(), 0)[0]).program
        descriptions = [description for clause in program.clauses for description in clause.probes]
    probes = [
        *FIXED_PROBES,
        *select_engine.list_probes(arguments.options, targets, descriptions, report_error),
    ]
    text, messages = dtrace_l.list_matches(
        descriptions, probes, glob, *[make_describer(arguments)] * bool(arguments.verbose)
    )
    open_output(arguments.output).write(text.encode("utf-8", "surrogateescape"))
    for message, hint in messages:
        report_error(message if "_DTRACE_TESTING" in os.environ else append_hint(message, hint))
    return 0


def make_describer(arguments: Arguments) -> Any:
    """A function that says of a listed probe what -v tells."""
    from pydtrace.dlang.ast import ProbeDesc
    from pydtrace.dlang.front.source_text import Location, Source
    from pydtrace.dlang.types.kernel_btf import KernelTypeResolver
    from pydtrace.dlang.types.probe_arguments import find_signature
    from pydtrace.dlang.types.resolve import ProgramNames
    from pydtrace.engine.probe_kinds import OTHER, probe_kind

    names = ProgramNames()
    names.kernel = KernelTypeResolver(KernelBtf())  # of raw tracepoints
    names.options = arguments.options  # they decide what a float is
    names.reported_arguments = probe_signatures.signatures_of_processes(
        arguments.options, arguments.pids
    )

    known_arguments, nowhere = names.reported_arguments, Location(Source(""), 0, 0, 0)

    def describe_probe(probe: Any) -> str:
        description, types = ProbeDesc(nowhere, *probe), getattr(probe, "types", None)
        names.reported_arguments = (
            known_arguments
            if types is None
            else lambda description: (
                known_arguments(description) if probe_kind(description) != OTHER else [types]
            )
        )
        return stability_report.format_probe_report(
            description, find_signature(names, description), getattr(probe, "function", None)
        )

    return describe_probe


def write_headers(arguments: Arguments) -> int:
    """-h."""
    from .dtrace_h import default_header_path, make_header

    scripts = [request.script for request in arguments.requests if request.script is not None]
    if not arguments.requests:
        raise cli.UsageError("-h requires one or more scripts or enabling options", usage=False)
    if not scripts and arguments.output is None:
        raise cli.UsageError("-h requires an output file if no scripts are specified", usage=False)
    path = default_header_path(scripts[-1]) if arguments.output is None else arguments.output
    compiler = Compiler(arguments.options, default_macros(), kernel=KernelBtf())
    add_requests(compiler, arguments)
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(make_header(path, compiler.names.providers))
    except OSError as error:
        raise Failure(f"failed to open header file '{path}': {error.strerror}") from None
    return 0


def name_linked_request(arguments: Arguments) -> str:
    """What dtrace calls the requests of -G in its messages: the first; a script loses its .d where that names the object."""
    first = arguments.requests[0]
    named = arguments.output is not None and len(arguments.requests) == 1
    return f"{first.kind} {first.name if named or first.script is None else first.name.removesuffix('.d')}"


def write_object(arguments: Arguments) -> int:
    """-G."""
    from .dtrace_g import ADVICE, default_object_path, explain_long_provider, make_empty_object

    scripts = [request.script for request in arguments.requests if request.script is not None]
    if not arguments.requests:
        raise cli.UsageError("-G requires one or more scripts or enabling options", usage=False)
    path = default_object_path(scripts) if arguments.output is None else arguments.output
    failed = f"failed to link {name_linked_request(arguments)}"
    if arguments.options.get("linktype") == "dof":
        if os.path.exists(path):
            os.unlink(path)
        raise Failure(f"{failed}: link type 1 (DOF) no longer supported")
    arguments.operands = []  # they name the object files that dtrace would change
    compiler = Compiler(arguments.options, default_macros(), kernel=KernelBtf())
    add_requests(compiler, arguments)
    reason = explain_long_provider(compiler.names.providers)
    if reason is not None:
        raise Failure(f"{failed}: {reason}")
    try:
        with open(path, "wb") as file:
            file.write(make_empty_object())
    except OSError as error:
        raise Failure(f"{failed}: failed to open {path}: {error.strerror}") from None
    if "_DTRACE_TESTING" not in os.environ:
        report_error(ADVICE)
    return 0


def suggest_script_option(words: Iterable[str]) -> str | None:
    """A hint if one of these words is a file, probably a script without -s, or a clause without -n."""
    for word in words:
        shown = escape_for_terminal(word)
        if os.path.isfile(word):
            return f"{shown} is a file: -s {shown}"
        if "{" in word or ":::" in word:
            return f"a clause follows -n: -n '{shown if len(word) < 60 else word[:57] + '…'}'"
    return None


def trace_requests(arguments: Arguments) -> int:
    """Compile, open the engine, trace; the exit status."""
    try:
        return trace_targets(arguments)
    finally:
        detach_all(arguments)


def trace_targets(arguments: Arguments) -> int:
    if not arguments.requests:
        if not arguments.execute:
            return 0
        raise Failure(
            append_hint("no probes specified", suggest_script_option(arguments.operands[:1]))
        )
    driver = Driver(arguments.options, make_targets(arguments), _LIST_HINT)
    try:
        target = (
            driver.targets.named_pids()
            or (waited_pid(arguments.options) or recorded_target(arguments.options),)
        )[0]
        compiled = compile_requests(arguments, target)
        compiled.program.arguments = [PROGRAM, *arguments.operands]
        if arguments.hosts is not None:
            from .hosts_options import make_hosts_request

            arguments.options["hosts"] = make_hosts_request(
                arguments, compiled.program, read_request_text
            )
        driver.open(
            compiled.program
        )  # it looks at this process's own probes, which a command will have, too
        unpublish_tracer()
        engine = driver.engine
        debug_log.log("engine %s: %s", engine.name, driver.reason)
        for description, count in engine.matched:
            debug_log.log("%s matched %d", description, count)
        driver.check_matches()
        for note in engine.startup_notices:
            report_error(escape_for_terminal(note))
        output = open_output(arguments.output)
        report_requests(arguments, compiled, engine, output)
        if arguments.verbose:  # behind what dtrace says
            report_error(f"engine: {engine.name} ({driver.reason})")
            for what, clauses in (
                (
                    "counted in the traced processes, without events",
                    engine.clauses_counted_in_target,
                ),
                ("run once for many events of a probe", engine.clauses_run_in_batches),
            ):
                if clauses:
                    report_error(
                        f"{what}: {', '.join(f'clause {clause.index + 1}' for clause in clauses)}"
                    )
            decides = engine.name not in ("kernel", "dtrace")
            for text in compiled.program.decided_in_target if decides else ():
                report_error(escape_for_terminal(f"decided in the traced processes: {text}"))
            if "workers" in arguments.options:
                report_error(f"consumers: {engine.consumers_text}")
        status = run_driver(arguments, driver, output) if arguments.execute else 0
        if arguments.verbose:
            for text in engine.details():
                report_error(escape_for_terminal(text))
        return status
    finally:
        driver.close()


def waits_for_interrupt(arguments: Arguments, driver: Driver) -> bool:
    """Whether a user at a terminal sees nothing until he ends it: -q and aggregations, without a command that ends."""
    return (
        sys.stderr.isatty()
        and bool(arguments.options.get("quiet") and driver.program.aggregations)
        and not (arguments.commands or driver.is_over or driver.engine.span)
        and arguments.format_argument is None
        and arguments.format is sink_factory.TEXT_FORMAT
    )


def run_driver(arguments: Arguments, driver: Driver, output: Output) -> int:
    """Trace with an opened engine; the exit status."""

    def notify(message: str, error: bool = True) -> None:
        if error or not arguments.options.get("quiet"):
            report_error(message)

    sink = sink_factory.add_observers(
        arguments.format(output, notify, arguments.format_argument), notify, arguments.options
    )
    alone = arguments.format_argument is not None or not sys.stdout.isatty()
    progress = Progress(sys.stderr, alone)
    driver.engine.report_attach_progress = progress.show_attaching  # type: ignore[method-assign]
    gc.freeze()  # the compiler's objects stay until the end, so the collector need not look at them while tracing
    try:
        with InterruptHandler(driver) as interrupts, contextlib.closing(driver):

            def after_poll() -> None:
                interrupts.acknowledge()
                if driver.is_over:
                    progress.clear()
                elif driver.engine.span:
                    progress.show_replaying(driver.engine.now(), driver.engine.span)

            driver.begin(sink)
            ready_fd.notify_ready(arguments.ready)
            if waits_for_interrupt(arguments, driver):
                report_error("tracing; Ctrl-C ends it and prints what the script has counted")
            driver.run(_POLL, after_poll)
            progress.clear()
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise Failure(f"processing aborted: {error.strerror or error}") from None
    if driver.exceeded_cpu_limit:
        return _STATUS_CPU_LIMIT
    return _STATUS_DROPS if arguments.strict and driver.has_drops else driver.exit_status or 0


# --- main --------------------------------------------------------------------------


def show_first_lines() -> int:
    """Nothing was asked for.  DTrace's own tests get dtrace's usage."""
    if "_DTRACE_TESTING" in os.environ:
        raise cli.UsageError(None)
    print(PYDTRACE, end="", file=sys.stderr)
    return 2


def run_command_line(argv: list[str]) -> int:
    """Do the work of a command line (without the program's name); the exit status."""
    if not argv:
        return show_first_lines()
    if argv == ["--erlang-port"]:  # erltrace has started us
        from pydtrace.erltrace_port.port import main as port

        return port()
    arguments = cli.parse_arguments(argv, os.environ)
    terminal_colour.settle(arguments.colour, sys.stderr)
    try:
        ready_fd.reserve_descriptor(arguments.ready)
    except OSError as error:
        raise Failure(f"--ready={arguments.ready}: {error.strerror}") from None
    debug_log.on = "DTRACE_DEBUG" in os.environ or "debug" in arguments.options
    debug_log.log("options: %s", arguments.options)
    if arguments.hosts is None and arguments.relay is not None:
        raise Failure("--relay needs --hosts")
    if arguments.hosts is not None:
        from .hosts_options import check_hosts

        check_hosts(arguments)
    try:
        if arguments.mode == "version":
            return show_version(arguments.verbose)
        if arguments.mode in _INFORMATION_TEXTS:
            write_stdout(_INFORMATION_TEXTS[arguments.mode]())
            return 0
        if arguments.dump:
            show_dumps(arguments, arguments.dump)
            return 0
        if arguments.mode == "list":
            return list_probes(arguments)
        if arguments.mode == "header":
            return write_headers(arguments)
        if arguments.mode == "link":
            return write_object(arguments)
        if arguments.mode == "serve":
            from pydtrace.hosts.agent.agent import serve_coordinator

            return serve_coordinator(
                arguments.policy, make_targets, compile_requests, unpublish_tracer
            )
        return trace_requests(arguments)
    except CompileError as error:
        files = [
            request.text
            for request in arguments.requests
            if request.text and os.path.isfile(request.text)
        ]
        if files:
            error.hint = suggest_script_option(files)
        errtags = bool(arguments.options.get("errtags"))
        if (
            "_DTRACE_TESTING" in os.environ
        ):  # set by DTrace's own test suite, which compares dtrace's messages
            report_error(error.summary(errtags))
        else:
            report(error.render(errtags, PROGRAM, _CLAUSE_WIDTH if sys.stderr.isatty() else None))
        return 1


def end_at_interrupts() -> None:
    """Make Ctrl-C end the process at once, except while tracing (signals.py): a KeyboardInterrupt in the middle of an import or
    of Python's own end would be printed, not raised.  If the parent process ignores SIGINT, it stays ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def exit_by_signal(number: int) -> None:
    """End as a program that does not handle the signal, so that the parent process sees it."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def main(argv: list[str] | None = None) -> NoReturn:
    """The command `pydtrace`.  Does not return."""
    end_at_interrupts()
    std_streams.open_closed_streams()
    terminal_colour.settle("auto", sys.stderr)
    try:
        status = run_command_line(sys.argv[1:] if argv is None else argv)
    except cli.UsageError as error:
        if error.args[0]:
            report_error(error)
        if error.args[0] is None or error.usage:
            print(usage_text(), end="", file=sys.stderr)
        status = 2
    except NoSuchProcess as error:
        report_error(error.MESSAGE if "_DTRACE_TESTING" in os.environ else error)
        status = 1
    except (Failure, cli.OptionRefused, EngineError, OutputError) as error:
        report_error(error)
        status = 1
    except BrokenPipeError:  # end as a program that does not handle SIGPIPE
        exit_by_signal(signal.SIGPIPE)
        status = 1  # the signal is blocked
    except Exception as error:
        if "PYUSDT_DEBUG" in os.environ:
            raise
        report_error(
            explain_host_limit(error)
            or f"bug in pydtrace: {type(error).__name__}: {error} (PYUSDT_DEBUG=1 shows where)"
        )
        status = 1
    sys.exit(status)
