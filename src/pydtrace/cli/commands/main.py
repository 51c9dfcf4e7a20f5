"""The command `pyusdt`: its subcommands and exit statuses (0; 1 for a failure; 2 for wrong usage).

- A command returns plain records; the reporters here make text of them.
- Only main() ends the process.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys

from pydtrace import terminal_colour
from pydtrace.ask import PERMISSIONS
from pydtrace.cli import std_streams
from pydtrace.cli.first_lines import PYUSDT
from pydtrace.cli.machine_limits import explain_host_limit
from pydtrace.process.process_names import parse_pid
from pydtrace.sinks.output_file import OutputError, write_stdout
from pydtrace.suggestions import append_hint, did_you_mean
from pydtrace.untrusted.terminal_escape import escape_for_terminal

from . import diff_options, stack_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable
    from typing import Any, NoReturn

    from pydtrace.attach.beam_attach import BeamOptions
    from pydtrace.remote_python.module_functions import ModuleFunction

    from .attach_choice import Words
    from .doctor import Finding
    from .list_command import ListedProbe

PROGRAM = "pyusdt"
SHELLS = ("bash", "zsh", "fish")


class Failure(Exception):
    """The end, with exit status 1; the message is for the user."""


# --- reporters -----------------------------------------------------------------------------


def format_columns(rows: list[list[str]]) -> str:
    """Lines of text; each column but the last is as wide as its longest cell."""
    if not rows:
        return ""
    rows = [
        [escape_for_terminal(cell) for cell in row] for row in rows
    ]  # files and processes choose these names
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = (
        [cell.ljust(width) for cell, width in zip(row, widths, strict=False)] + [row[-1]]
        for row in rows
    )
    heading, *others = ["  ".join(cells).rstrip() + "\n" for cells in lines]
    return terminal_colour.paint(terminal_colour.BOLD, heading) + "".join(others)


def format_probes(probes: list[ListedProbe], several: bool = False) -> str:
    """probes: found.Found objects; several: they are of more than one process."""
    shown = [
        ("PROVIDER", "provider"),
        ("PROBE", "name"),
        ("ON", "state"),
        ("MODULE", "module"),
        ("ARGUMENTS", "arguments"),
    ]
    if several:
        shown.insert(1, ("PROCESS", "process"))
    rows = [
        [heading for heading, _ in shown],
        *([getattr(each, field) for _, field in shown] for each in probes),
    ]
    return format_columns(rows)


def encode_probes(probes: list[ListedProbe]) -> str:
    """The same for programs: one object in each line.  Names are unchanged: JSON escapes control characters."""
    fields = ("provider", "name", "module", "state", "arguments", "pid", "process")
    return "".join(
        json.dumps({field: getattr(each, field) for field in fields}) + "\n" for each in probes
    )


def format_functions(functions: list[ModuleFunction]) -> str:
    rows = [["FUNCTION", "PARAMETERS", "VARIABLES", "PLACE"]]
    rows += [
        [
            f"{each.module}:{each.name}",
            ", ".join(each.arguments) or "-",
            ", ".join(each.variables) or "-",
            f"{each.file}:{each.line}",
        ]
        for each in functions
    ]
    return format_columns(rows)


def encode_functions(functions: list[ModuleFunction]) -> str:
    """The same for programs: one object in each line."""
    fields = ("module", "name", "arguments", "variables", "file", "line")
    return "".join(
        json.dumps({field: getattr(each, field) for field in fields}) + "\n" for each in functions
    )


MARKS = {True: "ok", False: "NO", None: "--"}


COLOURS = {True: terminal_colour.GREEN, False: terminal_colour.RED, None: terminal_colour.YELLOW}


def format_findings(findings: list[Finding]) -> str:
    """findings: doctor.Finding objects.  Below each finding stands what to do about it."""
    width = max(len(each.subject) for each in findings)
    lines = []
    for each in findings:
        mark = terminal_colour.paint(COLOURS[each.good], MARKS[each.good])
        lines.append(f"{mark}  {each.subject.ljust(width)}  {escape_for_terminal(each.text)}\n")
        if each.advice:
            lines.append(f"    {' ' * width}  -> {each.advice}\n")
    return "".join(lines)


def format_report(findings: list[Finding]) -> str:
    """The same as Markdown, to be pasted into a report of a mistake: a table, which keeps its columns there."""
    from pydtrace.cli.pydtrace.usage import build_text

    rows = [(MARKS[each.good], each.subject, each.text, each.advice) for each in findings]
    cells = [[escape_for_terminal(cell).replace("|", "\\|") for cell in row] for row in rows]
    table = "".join(
        f"| {' | '.join(row)} |\n" for row in [["", "what", "found", "to do"], ["---"] * 4, *cells]
    )
    return f"{build_text()}\n{table}"


# --- commands ------------------------------------------------------------------------------


def list_command(options: Namespace) -> int:
    from . import list_command as found
    from .semaphore_reader import LISTENERS

    if options.functions is not None:
        return _list_functions(options)
    left: list[str] = []
    try:
        if options.file is not None:
            probes = found.read_file_probes(options.file)
        else:
            probes = (
                found.list_process_probes(options.pid, left.append)
                if options.pid is not None
                else found.list_published()
            )
    except found.NotFound as error:
        raise Failure(error) from None
    if left:
        others = f" and {len(left) - 1} more files" if len(left) > 1 else ""
        print(
            f"{PROGRAM}: not listed: the probes of {escape_for_terminal(left[0])}{others}: the process has more than there is room for",
            file=sys.stderr,
        )
    for line in LISTENERS.drain_messages():
        print(f"{PROGRAM}: {escape_for_terminal(line)}", file=sys.stderr)
    if not probes:  # so a file or a process was named: without either, this process has probes
        if options.file is None:
            raise Failure(
                append_hint(
                    f"no USDT probes in process {options.pid}",
                    f"pyusdt attach {options.pid} brings probes into a running Python or Erlang node",
                )
            )
        raise Failure(f"no USDT probes in {options.file}")
    if options.json:
        write_stdout(encode_probes(probes))
    else:
        several = options.file is None and options.pid is None
        write_stdout(format_probes(probes if options.all else found.fold_families(probes), several))
    return 0


def doctor_command(options: Namespace) -> int:
    from . import doctor

    findings = doctor.check_machine() + (
        doctor.check_process(options.pid) if options.pid is not None else []
    )
    write_stdout(format_report(findings) if options.report else format_findings(findings))
    return 1 if any(each.good is False for each in findings) else 0


def dump_command(options: Namespace) -> int:
    from . import dump

    if wrong := stack_options.check_locals_options(options):
        print(f"{PROGRAM} dump: error: {wrong}", file=sys.stderr)
        return 2
    options.variables = dump.make_variable_options(options) if options.locals else None
    refused = []
    shown = 0
    for each in dump.read_processes(options):
        if isinstance(each, Exception):
            refused.append(each)
            continue
        write_stdout(
            dump.encode_process(*each)
            if options.json
            else "\n" * (shown > 0) + dump.format_process(*each)
        )
        shown += 1
    for error in refused[:-1]:
        print(f"{PROGRAM}: {escape_for_terminal(str(error))}", file=sys.stderr)
    if refused:
        raise Failure(refused[-1])
    return 0


def exceptions_command(options: Namespace) -> int:
    from pydtrace.remote_python.kept_exceptions import NoExceptions

    from . import exceptions

    try:
        if options.asked is None:
            found = exceptions.list_processes()
            if options.json:
                write_stdout("".join(map(exceptions.encode_summary, found)))
            else:
                write_stdout(format_columns(exceptions.format_rows(found)))
            return 0
        kept = exceptions.read_asked(options.asked)
    except NoExceptions as error:
        raise Failure(escape_for_terminal(str(error))) from None
    except OSError as error:
        what = error.filename or options.asked or "the run directory"
        raise Failure(escape_for_terminal(f"{what}: {error.strerror}")) from None
    encode = exceptions.encode_process if options.json else exceptions.format_process
    write_stdout(encode(kept, options.last))
    return 0


def profile_command(options: Namespace) -> int:
    from pydtrace.remote_python.remote_python import EndedBeforePython, StackReadError

    from . import profile

    wrong = profile.check_options(options)
    if wrong:
        print(f"{PROGRAM} profile: error: {wrong}", file=sys.stderr)
        return 2
    if is_erlang_node(options.pid):
        return _profile_node(options)
    try:
        found = profile.collect_profile(options)
        write_stdout(profile.write_output(found, options))
    except EndedBeforePython as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return profile.exit_status(error.status) or 1
    except StackReadError as error:
        raise Failure(error) from None
    except OSError as error:
        raise Failure(f"failed to run {options.command[0]}: {error.strerror}") from None
    return profile.exit_status(found.exit_status)


def _profile_node(options: Namespace) -> int:
    from pydtrace.attach.refusal import NotAttached
    from pydtrace.profile.folded import fold_stacks

    from . import profile, profile_erlang

    if wrong := profile_erlang.explain_misfit(options):
        return _report_misuse("profile", wrong, None)
    try:
        found = profile_erlang.collect_profile(options)
    except NotAttached as error:
        raise Failure(error) from None
    profile.write_files(found.profile, options)
    if options.folded:
        sys.stderr.write(profile_erlang.render_scope(found))
        write_stdout(fold_stacks(found.profile))
    else:
        write_stdout(profile_erlang.render_node_profile(found, options.paths))
    return 0


def diff_command(options: Namespace) -> int:
    from . import diff

    try:
        write_stdout(diff.compare_files(options))
    except diff.NotCompared as error:
        raise Failure(escape_for_terminal(str(error))) from None
    except OSError as error:
        raise Failure(escape_for_terminal(f"{error.filename}: {error.strerror}")) from None
    return 0


def heap_command(options: Namespace) -> int:
    from pydtrace.remote_python.remote_python import StackReadError

    from . import heap, profile

    if bool(options.command) == (options.pid is not None):
        return _report_misuse("heap", "give a process id, or -- and a command", None)
    if wrong := profile.check_files(options.flamegraph, options.pprof):
        return _report_misuse("heap", wrong, None)
    try:
        text, status = heap.run_heap(options)
    except (heap.HeapError, StackReadError) as error:
        raise Failure(error) from None
    except OSError as error:
        if not options.command:
            raise
        raise Failure(f"failed to run {options.command[0]}: {error.strerror}") from None
    write_stdout(text)
    return status


def why_command(options: Namespace) -> int:
    from . import why
    from .run import NotRun

    if wrong := stack_options.check_why_options(options):
        return _report_misuse("why", wrong, None)
    try:
        if options.keep is None:
            return why.run_why(options)
        from .why_keep import keep_slow_requests

        return keep_slow_requests(options)
    except (why.WhyError, NotRun) as error:
        raise Failure(error) from None


def ask_command(options: Namespace) -> int:
    from . import ask

    try:
        write_stdout(ask.answer_question(options))
    except ask.NotAnswered as error:
        raise Failure(escape_for_terminal(str(error))) from None
    return 0


def mcp_command(options: Namespace) -> int:
    from . import ask

    try:
        ask.serve_protocol(options)
    except ask.NotAnswered as error:
        raise Failure(error) from None
    return 0


def top_command(options: Namespace) -> int:
    from . import top

    try:
        if options.once or not sys.stdout.isatty():
            tables, foot = top.sample_tables(options.interval)
            write_stdout(
                "\n".join(format_columns(rows) for rows in tables)
                + "".join(f"{line}\n" for line in foot)
            )
        else:
            top.run_screen(options.interval)
    except (OSError, top.ScreenUnavailable) as error:
        raise Failure(getattr(error, "strerror", None) or error) from None
    return 0


def scripts_command(_: Namespace) -> int:
    from . import scripts

    groups = scripts.group_scripts()
    heading = ["SCRIPT", "PROBES", "QUESTION"]
    text = format_columns([heading, *(row for _, rows in groups for row in rows)])
    title, *lines = text.splitlines()
    shown = [title]
    for needed, rows in groups:
        shown += ["", terminal_colour.paint(terminal_colour.BOLD, f"for {needed}")]
        shown += lines[: len(rows)]
        del lines[: len(rows)]
    write_stdout("\n".join(shown) + "\n")
    return 0


def show_command(options: Namespace) -> int:
    from . import scripts

    write_stdout(scripts.Script(options.name).text)
    return 0


def example_command(options: Namespace) -> int:
    from . import examples

    if options.name is None:
        write_stdout(format_columns(examples.format_rows()))
        return 0
    if (name := examples.find_example(options.name)) is None:
        return _report_misuse(
            "example",
            f"no example is called '{escape_for_terminal(options.name)}': pyusdt example lists them",
            did_you_mean(options.name.removeprefix("examples/"), examples.installed_names()),
        )
    write_stdout(examples.example_text(name))
    return 0


def help_command(options: Namespace) -> int:
    from . import help_pages

    topic = options.topic
    try:
        if topic is None:
            text = help_pages.format_topics()
        elif tag := help_pages.tag_in(topic):
            text = help_pages.tag_text(tag)
        else:
            text = help_pages.page_text(help_pages.find_page(topic))
    except help_pages.UnknownTopic as error:
        if topic in COMMANDS:
            make_parser().parse_args([topic, "--help"])
        return _report_misuse(
            "help",
            escape_for_terminal(str(error)),
            did_you_mean(topic, [*help_pages.topics(), *COMMANDS]),
        )
    if not help_pages.show_in_pager(text):
        write_stdout(text)
    return 0


def _report_misuse(command: str, message: str, hint: str | None) -> int:
    """Prints an error in the arguments, as argparse does; the exit status of wrong usage."""
    print(append_hint(f"{PROGRAM} {command}: error: {message}", hint), file=sys.stderr)
    return 2


def trace_command(options: Namespace) -> int:
    from pydtrace.cli.pydtrace import main as pydtrace

    from . import scripts

    try:
        command = scripts.build_command_line(scripts.Script(options.name), options.others)
    except ValueError as error:
        raise Failure(error) from None
    if misfit := scripts.explain_misfit(options.name, options.others):
        raise Failure(misfit)
    return pydtrace.main(command)


def is_erlang_node(pid: int | None) -> bool:
    if pid is None:
        return False
    from pydtrace.attach.beam_process import is_beam

    return is_beam(pid)


def watch_command(options: Namespace) -> int:
    from pydtrace import watch_script
    from pydtrace.cli.pydtrace import main as pydtrace

    from . import watch_erlang

    function, make_script = options.function, watch_script.make_script
    if watch_erlang.names_erlang(function) or is_erlang_node(options.pid):
        function = function.removeprefix(watch_erlang.PYTHON)
        make_script = watch_erlang.make_script
        if options.secrets:
            hint = "pyusdt attach --enable '#{secrets => true}' PID"
            return _report_misuse("watch", "--secrets: an Erlang node decides that itself", hint)
    try:
        script = make_script(function, options.where, options.slower, options.calls, options.stack)
    except ValueError as error:
        return _report_misuse("watch", str(error), None)
    if options.print_script:
        write_stdout(script)
        return 0
    if options.pid is not None:
        target = ["--attach", "-p", str(options.pid)]
    elif options.to_start is not None:
        target = ["-c", options.to_start]
    else:
        return _report_misuse("watch", "which process? Give -p PID or -c COMMAND", None)
    secrets = ["-x", "secrets"] if options.secrets else []
    return pydtrace.main(["-q", *secrets, "-n", script, *target])


def stub_command(options: Namespace) -> int:
    from pyusdt.provider_file import make_stub

    path = options.output or f"{options.file.removesuffix('.d')}.pyi"
    try:
        text = make_stub(options.file)
        if path == "-":
            write_stdout(text)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise Failure(f"{error.filename or path}: {error.strerror}") from None
    except ValueError as error:
        raise Failure(error) from None
    return 0


def attach_command(options: Namespace) -> int:
    from . import attach, attach_choice

    beam = _read_beam_options(options)
    return _act_on_processes(
        options,
        lambda pid: attach.attach_provider(pid, options.timeout, beam=beam),
        lambda node: attach.attach_node(node, options.timeout, beam),
        attach_choice.ATTACH,
    )


def detach_command(options: Namespace) -> int:
    from . import attach, attach_choice

    beam = _read_beam_options(options)
    return _act_on_processes(
        options,
        lambda pid: attach.detach_provider(pid, options.timeout, beam=beam),
        lambda node: attach.detach_node(node, options.timeout, beam),
        attach_choice.DETACH,
    )


def _read_beam_options(options: Namespace) -> BeamOptions:
    from pydtrace.attach.beam_attach import BeamOptions

    return BeamOptions(options.erlang, getattr(options, "enable", ""), options.cookie_file)


def _act_on_processes(
    options: Namespace,
    act: Callable[[int], object],
    act_on_node: Callable[[str], object],
    words: Words,
) -> int:
    """The exit status: 1 if one of them failed; the others are done all the same."""
    from pydtrace.attach.refusal import NotAttached

    from .attach_choice import Choice, act_on_nodes, check_options

    if wrong := check_options(options):
        print(f"{PROGRAM}: error: {wrong}", file=sys.stderr)
        return 2
    status = 0
    errors = itertools.chain(
        Choice(options).act_on_each(act, words), act_on_nodes(options.node, act_on_node)
    )
    try:
        for error in errors:
            print(f"{PROGRAM}: {error}", file=sys.stderr)
            status = 1
    except NotAttached as error:
        raise Failure(error) from None
    return status


def run_command(options: Namespace) -> NoReturn:
    from . import run

    try:
        run.exec_command(options.command)
    except run.NotRun as error:
        raise Failure(error) from None


def serve_command(options: Namespace) -> int:
    from . import serve

    try:
        serve.Supervisor(
            options.folder, options.memory, options.cpu, options.pprof, options.pprof_token
        ).run()
    except serve.NotServed as error:
        raise Failure(error) from None
    return 0


class Version(argparse.Action):
    """--version; finding out the version takes time, so this waits until it is asked for."""

    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        from pydtrace.cli.pydtrace.usage import version_text

        write_stdout(version_text())
        parser.exit()


def complete_command(options: Namespace) -> int:
    from .complete import format_offers

    write_stdout(format_offers(options.shell, options.line, COMMANDS))
    return 0


def completion_command(options: Namespace) -> int:
    from .complete import read_completion_script

    write_stdout(read_completion_script(options.shell))
    return 0


def _list_functions(options: Namespace) -> int:
    from . import list_command as found

    if options.pid is None:
        return _report_misuse("list", "--functions needs -p PID", None)

    def report(text: str) -> None:
        print(f"{PROGRAM}: {text}", file=sys.stderr)

    try:
        functions = found.list_functions(options.pid, options.functions, report)
    except found.NotFound as error:
        raise Failure(error) from None
    if not functions:
        raise Failure(f"process {options.pid} has no function {options.functions}")
    write_stdout(encode_functions(functions) if options.json else format_functions(functions))
    return 0


def _add_list_arguments(each: ArgumentParser) -> None:
    what = each.add_mutually_exclusive_group()
    what.add_argument(
        "-p", "--pid", type=parse_pid, help="a process, any: with pyusdt in it or not"
    )
    what.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="an ELF file, any: a program, a library, an extension",
    )
    each.add_argument(
        "-a",
        "--all",
        action="store_true",
        help="a line for every probe: user_trace-n0, user_trace-n1 …",
    )
    each.add_argument(
        "-f",
        "--functions",
        metavar="PATTERN",
        help="the Python functions MODULE:FUNCTION or FUNCTION of -p, with their parameters and variables",
    )
    each.add_argument(
        "--json", action="store_true", help="an object of JSON for every probe, a line each"
    )


def _parse_interval(text: str) -> float:
    if not 0.1 <= (seconds := float(text)) <= 3600:
        raise ValueError(text)
    return seconds


def _add_top_arguments(each: ArgumentParser) -> None:
    each.add_argument(
        "-i",
        "--interval",
        type=_parse_interval,
        default=2.0,
        help="seconds between two tables: 2 (0.1 to 3600)",
    )
    each.add_argument(
        "--once",
        action="store_true",
        help="print one table of one interval, as if the output is not a terminal",
    )


def _add_doctor_arguments(each: ArgumentParser) -> None:
    each.add_argument("-p", "--pid", type=parse_pid, help="a process that is to be traced")
    each.add_argument(
        "--report",
        action="store_true",
        help="the same as Markdown, with versions, for a report of a mistake in pyusdt",
    )


def _parse_timeout(text: str) -> float:
    if not 0.1 <= (seconds := float(text)) <= 3600:
        raise ValueError(text)
    return seconds


def _add_detach_arguments(each: ArgumentParser) -> None:
    each.add_argument(
        "pid",
        type=parse_pid,
        nargs="*",
        metavar="PID",
        help="Python processes and Erlang nodes, with pyusdt in them or not",
    )
    each.add_argument(
        "--subprocesses",
        action="store_true",
        help="with the Pythons among their descendants",
    )
    each.add_argument(
        "--cgroup",
        metavar="PATH|ID",
        help="the Pythons of a control group: its path, a systemd unit, a container's id",
    )
    each.add_argument(
        "--timeout",
        type=_parse_timeout,
        default=5.0,
        metavar="SECONDS",
        help="within which it has to run Python code, or to answer: 5 (0.1 to 3600)",
    )
    each.add_argument(
        "--node",
        action="append",
        default=[],
        metavar="NAME@HOST",
        help="an Erlang node whose cookie this user has, here or on another machine",
    )
    each.add_argument(
        "--cookie-file",
        default="",
        metavar="FILE",
        help="that has the cookie; default: that of the node's command line or user",
    )
    each.add_argument(
        "--erlang",
        default="",
        metavar="FOLDER",
        help="of the built Erlang application; default: erlang_nif/ of pyusdt's source",
    )


def _add_enable_arguments(each: ArgumentParser) -> None:
    _add_attach_arguments(each)
    each.add_argument(
        "--enable",
        default="",
        metavar="OPTIONS",
        help="of pyusdt_vm:enable/1 in an Erlang node: '#{unsafe => true}'",
    )


def _add_attach_arguments(each: ArgumentParser) -> None:
    _add_detach_arguments(each)
    each.add_argument(
        "--wait",
        metavar="NAME",
        help="the processes of this name, or script; the first to come if there is none",
    )


def _add_run_arguments(each: ArgumentParser) -> None:
    each.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="COMMAND",
        help="gunicorn shop.wsgi, python app.py …, with its arguments",
    )


def _parse_size(text: str) -> int:
    """The option of D's that is a size has the same words."""
    from pydtrace.options import OptionError, Options

    read = Options()
    try:
        read.set("bufsize", text)
    except OptionError:
        raise argparse.ArgumentTypeError(f"'{text}' is no size: 256m, 1g") from None
    return int(read["bufsize"])


def _add_serve_arguments(each: ArgumentParser) -> None:
    each.add_argument(
        "folder",
        metavar="FOLDER",
        help="/etc/pyusdt.d: NAME.d, NAME.args with further options of pydtrace's, NAME.why with options of pyusdt why",
    )
    each.add_argument(
        "--cpu",
        type=int,
        default=25,
        metavar="PERCENT",
        help="of a processor that each script may take; default: 25",
    )
    each.add_argument(
        "--memory",
        type=_parse_size,
        default="512m",
        metavar="SIZE",
        help="of memory that each may take; default: 512m",
    )

    each.add_argument(
        "--pprof",
        type=_parse_address,
        metavar="[ADDR:]PORT",
        help="answer GET /debug/pprof/profile?seconds=10&pid=N, for Parca and go tool pprof",
    )
    each.add_argument(
        "--pprof-token",
        metavar="FILE",
        help="of --pprof: the word that others than this user need as a bearer token",
    )


def _parse_address(text: str) -> tuple[str, int]:
    from pydtrace.cli.parsing.sink_factory import parse_address

    return parse_address(text)


def _add_script_arguments(each: ArgumentParser) -> None:
    from .scripts import names

    each.add_argument("name", metavar="NAME", choices=names(), help="of `pyusdt scripts`")


def _add_example_arguments(each: ArgumentParser) -> None:
    each.add_argument(
        "name", nargs="?", metavar="NAME", help="hello.py …; without a name: the list of them"
    )


def _add_door_options(each: ArgumentParser) -> None:
    allowed = "; ".join(f"{name}: {text}" for name, text in PERMISSIONS.items())
    each.add_argument(
        "--allow", action="append", default=[], choices=sorted(PERMISSIONS), help=allowed
    )
    each.add_argument(
        "--audit", metavar="FILE", help="append what is asked to a file; default: standard error"
    )


def _add_ask_arguments(each: ArgumentParser) -> None:
    each.add_argument("tool", nargs="?", metavar="TOOL", help="without one: the list of them")
    each.add_argument("arguments", nargs="*", metavar="NAME=VALUE", help="what the tool wants")
    each.add_argument("--json", action="store_true", help="on one line")
    _add_door_options(each)


def _add_help_arguments(each: ArgumentParser) -> None:
    each.add_argument(
        "topic",
        nargs="?",
        metavar="TOPIC",
        help="a page, or the tag of an error; without a topic: the list of pages",
    )


def _add_trace_arguments(each: ArgumentParser) -> None:
    _add_script_arguments(each)
    each.add_argument(
        "others",
        nargs=argparse.REMAINDER,
        metavar="…",
        help="the script's options, which its --help shows, and pydtrace's",
    )


def _add_watch_arguments(each: ArgumentParser) -> None:
    from .watch_erlang import parse_watched

    each.add_argument(
        "function",
        type=stack_options.argument_type(
            parse_watched, "function: shop.cart:checkout, Cart.total, shop:price/2"
        ),
        metavar="[MODULE:]FUNCTION[/ARITY]",
        help="shop.cart:checkout, a method Cart.total, any *.total; of Erlang shop:price/2",
    )
    each.add_argument(
        "-p", "--pid", type=parse_pid, metavar="PID", help="a Python or an Erlang node that runs"
    )
    each.add_argument("-c", dest="to_start", metavar="COMMAND", help="a command to start")
    each.add_argument("--where", metavar="EXPR", help="only these calls: 'local.order.total > 100'")
    each.add_argument(
        "--slower",
        type=stack_options.DURATION,
        default=0,
        metavar="TIME",
        help="only calls that take so long: 50ms",
    )
    each.add_argument("--stack", action="store_true", help="show who called")
    each.add_argument(
        "--calls", action="store_true", help="print arguments at the call, without its result"
    )
    each.add_argument(
        "--secrets", action="store_true", help="show values with the names of secrets, too"
    )
    each.add_argument(
        "--print-script", action="store_true", help="print the D script and run nothing"
    )


def _add_stub_arguments(each: ArgumentParser) -> None:
    each.add_argument("file", metavar="FILE", help="shop.d")
    each.add_argument(
        "-o", "--output", help="where to; default: shop.pyi beside it; - is the standard output"
    )


def _add_completion_arguments(each: ArgumentParser) -> None:
    each.add_argument("shell", choices=SHELLS, help="which shell's")


def _add_complete_arguments(each: ArgumentParser) -> None:
    _add_completion_arguments(each)
    each.add_argument("line", help="the command line up to the cursor")


class Command:
    """run: does the work with the parsed options, returns the exit status; add_arguments(parser): adds the options; words: the help's
    text, None for a command that only programs use."""

    __slots__ = ("add_arguments", "run", "help")

    def __init__(
        self,
        run: Callable[[Namespace], int],
        add_arguments: Callable[[ArgumentParser], None],
        help: str | None = None,
    ) -> None:
        self.run, self.add_arguments, self.help = run, add_arguments, help

    def fill_parser(self, made: ArgumentParser) -> ArgumentParser:
        """The parser that it was given, with the command's arguments added."""
        self.add_arguments(made)
        made.set_defaults(run=self.run)
        return made

    def make_parser(self) -> ArgumentParser:
        """A parser for this command alone, of which the completion takes the options."""
        return self.fill_parser(argparse.ArgumentParser())


COMMANDS = {
    "list": Command(
        list_command,
        _add_list_arguments,
        "the USDT probes of a process, a file, or all processes with pyusdt",
    ),
    "top": Command(
        top_command, _add_top_arguments, "who is traced, by whom, how much comes and is lost"
    ),
    "doctor": Command(
        doctor_command,
        _add_doctor_arguments,
        "what works here, what does not, and what to do about it",
    ),
    "attach": Command(
        attach_command,
        _add_enable_arguments,
        "bring the probes into programs that run: CPython 3.10 and later, Erlang nodes",
    ),
    "detach": Command(
        detach_command,
        _add_detach_arguments,
        "take out of processes what `pyusdt attach` or --attach has brought in",
    ),
    "dump": Command(
        dump_command,
        stack_options.add_dump_options,
        "the stacks of all threads of Python processes, now",
    ),
    "exceptions": Command(
        exceptions_command,
        stack_options.add_exceptions_options,
        "the last exceptions of a Python process, also of a dead one, with variables",
    ),
    "profile": Command(
        profile_command,
        stack_options.add_profile_options,
        "which functions a Python program spends its time in",
    ),
    "heap": Command(
        heap_command,
        stack_options.add_heap_options,
        "which allocations of a Python program still live, and which of them grow",
    ),
    "diff": Command(
        diff_command,
        diff_options.add_diff_options,
        "what differs between two profiles, or two runs' aggregations",
    ),
    "why": Command(
        why_command,
        stack_options.add_why_options,
        "why some requests are slow: where their time went, beside the usual ones",
    ),
    "watch": Command(
        watch_command,
        _add_watch_arguments,
        "the calls of a Python function: arguments, result, exception, time",
    ),
    "scripts": Command(
        scripts_command,
        lambda _: None,
        "the scripts that are installed with pyusdt, and their questions",
    ),
    "show": Command(show_command, _add_script_arguments, "one of these scripts"),
    "trace": Command(trace_command, _add_trace_arguments, "run one of these scripts, by its name"),
    "run": Command(
        run_command,
        _add_run_arguments,
        "run a Python program with probes in the frameworks that it uses",
    ),
    "example": Command(
        example_command,
        _add_example_arguments,
        "print an example program or configuration file, or the list of them",
    ),
    "help": Command(
        help_command,
        _add_help_arguments,
        "show a page of the documentation, or an error's meaning",
    ),
    "ask": Command(
        ask_command,
        _add_ask_arguments,
        "answer one question of an agent as JSON, or list the questions",
    ),
    "mcp": Command(
        mcp_command, _add_door_options, "answer an agent's questions by the Model Context Protocol"
    ),
    "serve": Command(
        serve_command, _add_serve_arguments, "trace the scripts of a folder, unattended"
    ),
    "stub": Command(
        stub_command,
        _add_stub_arguments,
        "write the Python stub of a provider file, for pyusdt.load()",
    ),
    "completion": Command(
        completion_command,
        _add_completion_arguments,
        "print what makes a shell complete both commands",
    ),
    "complete": Command(complete_command, _add_complete_arguments),
}


_WRITES_HINT = "--flamegraph FILE, --speedscope FILE, --pprof FILE and --folded write what was seen"
_OPTION_HINTS = {
    "-o": _WRITES_HINT,
    "--output": _WRITES_HINT,
    "-f": _WRITES_HINT,
    "--format": _WRITES_HINT,
    "--svg": "--flamegraph FILE writes a flame graph, as a page (HTML)",
}  # of profile


class Parser(argparse.ArgumentParser):
    """Says which command, or which script, a misspelt one may have been, and shows of a command that was given too much how it is used."""

    _words: list[str] = []  # noqa: RUF012 - replaced, not changed

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._words = list(args or ())
        self._check_options(args)
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {escape_for_terminal(' '.join(rest))}")
        return found, rest

    def _check_options(self, words: list[str] | None) -> None:
        """An option that there is not comes before an error in its value, which argparse takes for another argument."""
        if any(action.nargs in (argparse.REMAINDER, argparse.PARSER) for action in self._actions):
            return  # options of others follow
        known = self._option_string_actions
        for word in itertools.takewhile(lambda word: word != "--", words or ()):
            name = word.partition("=")[0]
            if name.startswith("--") and not any(each.startswith(name) for each in known):
                question = did_you_mean(name, known)
            elif name[:1] == "-" and name[1:2].isalpha() and name[:2] not in known:
                name, question = name[:2], None
            else:
                continue
            hint = _OPTION_HINTS.get(name) if self.prog == f"{PROGRAM} profile" else None
            if name in ("-p", "--pid"):
                hint = f"{self.prog} PID: the id stands by itself"
            self.error(
                append_hint(
                    f"there is no option {escape_for_terminal(name)}",
                    hint or question or f"{self.prog} --help lists the options",
                )
            )

    def error(self, message: str) -> NoReturn:
        wrong = re.search("(COMMAND|NAME): invalid choice: '(.*?)'", message)
        question = None
        if self.prog == f"{PROGRAM} profile" and message.startswith("argument PID: expected"):
            program = " ".join(self._words)
            question = f"to start a program: pyusdt profile -- {escape_for_terminal(program)}"
        if wrong and wrong[1] == "COMMAND":
            question = did_you_mean(
                wrong[2], [name for name, each in COMMANDS.items() if each.help]
            )
        elif wrong:
            from .scripts import names

            message = f"no script is called '{escape_for_terminal(wrong[2])}': `pyusdt scripts` lists the scripts"
            question = did_you_mean(wrong[2], names())
        super().error(append_hint(message, question))


def make_parser(words: list[str] | None = None) -> ArgumentParser:
    """words: of a command line; a command that is none of them gets no options, since all of them take a quarter of a short
    command's time.  None: all commands are complete."""
    made = Parser(
        prog=PROGRAM, description="What there is to trace, and what keeps it from working."
    )
    made.add_argument(
        "--color",
        choices=terminal_colour.WHEN,
        default="auto",
        help="colour: auto, the default, where the output is a terminal",
    )
    made.add_argument(
        "--version",
        action=Version,
        nargs=0,
        help="show the versions of pyusdt, D and Python, and the platform",
    )
    commands = made.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for name, each in COMMANDS.items():
        command = (
            commands.add_parser(name, help=each.help) if each.help else commands.add_parser(name)
        )
        if words is None or name in words:
            each.fill_parser(command)
    return made


def split_command(arguments: list[str]) -> tuple[list[str], list[str]]:
    """(what stands before --, the command behind it); profile and why take one.  run takes all that stands behind it."""
    command = next((word for word in arguments if word in ("profile", "heap", "run", "why")), None)
    if command not in ("profile", "heap", "why") or "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def main() -> None:
    std_streams.open_closed_streams()
    if not sys.argv[1:]:
        print(PYUSDT, end="", file=sys.stderr)
        sys.exit(2)
    arguments, command = split_command(sys.argv[1:])
    options = make_parser(arguments).parse_args(arguments, argparse.Namespace(command=command))
    terminal_colour.settle(options.color, sys.stdout)
    try:
        status = options.run(options)
    except (Failure, OutputError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        status = 1
    except BrokenPipeError:
        status = 1
    except Exception as error:
        if not (limit := explain_host_limit(error)):
            raise
        print(f"{PROGRAM}: {limit}", file=sys.stderr)
        status = 1
    sys.exit(status)


if __name__ == "__main__":
    main()
