"""The options that `pyusdt dump`, `exceptions` and `pyusdt profile` share: an argparse parser's arguments, and
their checks.
"""

from __future__ import annotations

import argparse
import re

from pydtrace.process.process_names import parse_pid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAX_FRAMES = 16384  # PYUSDT_WALK_FRAMES of c/pystack/python_walk.h
MAX_HZ = 1000
MAX_SECONDS = 7 * 24 * 3600

_KEEP_OPTIONS = ("slo", "process", "alert", "every", "files", "cpu")  # of why, only with --keep
_REPORT_OPTIONS = ("worst", "html", "perfetto", "save")  # of why, not with --keep

# of --locals: (option, most, default, words of the help)
LOCALS_LIMITS = (
    ("depth", 16, 2, "how many levels of values in values"),
    ("items", 10_000, 10, "how many items of a list, a dict, an instance"),
    ("characters", 100_000, 120, "how many characters of a text, digits of a number"),
)

_DURATION = re.compile(r"(\d+)(us|ms|s)")
_UNITS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_SECONDS = re.compile(r"\d{1,9}(\.\d{1,9})?|\.\d{1,9}", re.ASCII)


def bounded_integer(most: int) -> Callable[[str], int]:
    """The type of an argument: from 1 to `most`."""

    def check(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and 0 < int(text) <= most):
            raise argparse.ArgumentTypeError(f"a number from 1 to {most} is wanted, not {text!r}")
        return int(text)

    return check


def bounded_seconds(most: int) -> Callable[[str], float]:
    """The type of an argument: a time, at most that one."""

    def check(text: str) -> float:
        if not (_SECONDS.fullmatch(text) and 0 < float(text) <= most):
            raise argparse.ArgumentTypeError(
                f"a number of seconds up to {most} is wanted, such as 10 or 0.5, not {text!r}"
            )
        return float(text)

    return check


def parse_duration(text: str) -> int:
    """Nanoseconds; raises ValueError."""
    found = _DURATION.fullmatch(text)
    if not found:
        raise ValueError(text)
    return int(found[1]) * _UNITS[found[2]]


def argument_type(parse: Callable[[str], Any], what: str) -> Callable[[str], Any]:
    """The type of an argument.  parse: raises ValueError for what is no such thing; what: its name, and examples."""

    def parse_or_refuse(text: str) -> Any:
        try:
            return parse(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is not a {what}") from None

    return parse_or_refuse


DURATION = argument_type(parse_duration, "duration: 50ms, 2s")


def _add_duration_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-d",
        "--duration",
        type=bounded_seconds(MAX_SECONDS),
        metavar="SECONDS",
        help="default: until Ctrl-C or its end",
    )


def _add_rate_option(parser: argparse.ArgumentParser, default: int, what: str) -> None:
    parser.add_argument(
        "-r",
        "--rate",
        type=bounded_integer(MAX_HZ),
        default=default,
        metavar="HZ",
        help=f"{what}; default: {default}",
    )


def _add_frames_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--frames",
        type=bounded_integer(MAX_FRAMES),
        default=1000,
        metavar="N",
        help="of a stack, the innermost; default: 1000",
    )


def add_exceptions_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "asked",
        nargs="?",
        metavar="PID|FILE",
        help="a process, also one that has ended, or its file; without: the list of processes",
    )
    parser.add_argument(
        "-n",
        "--last",
        type=bounded_integer(10_000),
        metavar="N",
        help="only the last N exceptions",
    )
    parser.add_argument(
        "--json", action="store_true", help="JSON: an object in a line for each exception"
    )


def add_dump_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pids",
        nargs="+",
        type=parse_pid,
        metavar="PID",
        help="processes with CPython 3.9 to 3.15 in them",
    )
    parser.add_argument(
        "--subprocesses",
        action="store_true",
        help="with the Pythons among their descendants; with --native, with all",
    )
    _add_frames_option(parser)
    stops = parser.add_mutually_exclusive_group()
    stops.add_argument(
        "--native",
        action="store_true",
        help="with the frames of C, of any process; what runs is stopped for a moment",
    )
    stops.add_argument(
        "--no-stop",
        action="store_true",
        help="do not stop what runs, not even where its stack does not hold still",
    )
    parser.add_argument(
        "--json", action="store_true", help="an object of JSON in a line for each process"
    )
    _add_locals_options(parser)


def _add_locals_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--locals",
        action="store_true",
        help="with the arguments and local variables of each function; no code of the process runs",
    )
    for name, most, default, words in LOCALS_LIMITS:
        parser.add_argument(
            f"--{name}",
            type=bounded_integer(most),
            metavar="N",
            help=f"of --locals: {words}; default: {default}",
        )
    parser.add_argument(
        "--redact",
        action="append",
        metavar="NAME",
        help="of --locals: hide the values of these names, too, as a pattern: '*card*'",
    )
    parser.add_argument(
        "--secrets",
        action="store_true",
        help="of --locals: show passwords, tokens and keys; PYUSDT_REDACT of the process stays hidden",
    )


def check_locals_options(options: argparse.Namespace) -> str | None:
    """What is wrong with them, or None."""
    if not options.locals:
        given = [name for name, _, _, _ in LOCALS_LIMITS if getattr(options, name) is not None]
        given += [name for name in ("redact", "secrets") if getattr(options, name)]
        if given:
            return f"--{given[0]} needs --locals"
    return None


def add_profile_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "pyusdt profile [OPTIONS] (PID | -- COMMAND …)"
    parser.add_argument(
        "pid",
        nargs="?",
        type=parse_pid,
        metavar="PID",
        help="a process with CPython 3.9 to 3.15 in it, or an Erlang node",
    )
    _add_duration_option(parser)
    _add_rate_option(parser, 97, "looks a second")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--wall", action="store_true", help="count threads that wait, too; default: those that run"
    )
    which.add_argument(
        "--gil", action="store_true", help="count only the thread that holds the GIL"
    )
    which.add_argument(
        "--off-cpu", action="store_true", help="how long threads wait, exactly; needs root on Linux"
    )
    parser.add_argument(
        "--no-stop",
        action="store_true",
        help="do not stop what runs for the moment in which its stack is read",
    )
    parser.add_argument(
        "--subprocesses", action="store_true", help="with the processes that it starts"
    )
    parser.add_argument(
        "--threads", action="store_true", help="tell threads apart; of Erlang, processes by name"
    )
    parser.add_argument(
        "--tasks",
        action="store_true",
        help="tell tasks of asyncio apart; of Erlang, callbacks of behaviours",
    )
    parser.add_argument("--tags", action="store_true", help="tell tags (pyusdt.put_tag) apart")
    parser.add_argument("--lines", action="store_true", help="tell the lines of a function apart")
    parser.add_argument(
        "--native",
        action="store_true",
        help="with the frames of C; what runs is stopped for a moment at each look",
    )
    _add_frames_option(parser)
    parser.add_argument(
        "--folded", action="store_true", help="print folded stacks instead of the table"
    )
    parser.add_argument("--speedscope", metavar="FILE", help="write a file for speedscope")
    _add_file_options(parser)
    parser.add_argument(
        "--mine",
        action="store_true",
        help="fold the frames of installed packages and of the standard library",
    )
    _add_paths_option(parser)
    add_node_options(parser)


def add_node_options(parser: argparse.ArgumentParser) -> None:
    """How an Erlang node is entered."""
    parser.add_argument(
        "--cookie-file",
        default="",
        metavar="FILE",
        help="a file with the cookie of an Erlang node; default: the cookie of its command line or user",
    )
    parser.add_argument(
        "--erlang",
        default="",
        metavar="FOLDER",
        help="the built application for Erlang nodes; default: erlang_nif of this source",
    )


def _add_file_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pprof", metavar="FILE", help="write a file for go tool pprof, Parca …")
    parser.add_argument("--flamegraph", metavar="FILE", help="write a flame graph: a page (HTML)")


def _add_paths_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--paths", action="store_true", help="whole paths in the table, not short ones"
    )


MAX_EVERY = 1 << 30  # bytes


def add_heap_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "pyusdt heap [OPTIONS] (PID | -- COMMAND …)"
    parser.add_argument(
        "pid", nargs="?", type=parse_pid, metavar="PID", help="a process of CPython 3.10 or later"
    )
    _add_duration_option(parser)
    parser.add_argument(
        "--every",
        type=bounded_integer(MAX_EVERY),
        default=512 * 1024,
        metavar="BYTES",
        help="one sample in so many allocated bytes, on average; default: 524288",
    )
    parser.add_argument(
        "--older",
        type=bounded_seconds(MAX_SECONDS),
        default=0.0,
        metavar="SECONDS",
        help="only blocks that have lived so long at the end",
    )
    parser.add_argument(
        "--folded", action="store_true", help="print folded stacks with bytes instead of the table"
    )
    _add_file_options(parser)
    _add_paths_option(parser)


def separated_labels(options: argparse.Namespace) -> list[str]:
    """The names of the labels that the table, folded stacks and the flame graph separate."""
    given = ("thread", options.threads), ("task", options.tasks), ("tag", options.tags)
    return [name for name, is_given in given if is_given]


def needs_threads(options: argparse.Namespace) -> bool:
    """Whether samples have labels of their process and thread."""
    return bool(options.threads or options.speedscope or options.pprof)


def _parse_share(text: str) -> float:
    """ "1%" is 0.01."""
    digits = text.removesuffix("%")
    try:
        share = float(digits) / 100
    except ValueError:
        share = 0.0
    if digits == text or not 0 < share <= 0.5:
        raise argparse.ArgumentTypeError(f"'{text}' is no share from 0% to 50%: 1%, 0.1%")
    return share


def _parse_objective(text: str) -> Any:
    from pydtrace.why.request_ring import parse_objective

    return parse_objective(text)


def check_why_options(options: argparse.Namespace) -> str | None:
    """What is wrong with options that argparse has taken, or None."""
    given = [bool(options.command), bool(options.pid), options.replay is not None]
    if options.keep is None:
        if wrong := next((name for name in _KEEP_OPTIONS if getattr(options, name)), None):
            return f"--{wrong} needs --keep FOLDER"
        if given.count(True) != 1:
            return "give process ids, or -- and a command, or --replay FILE, or --keep FOLDER"
        return None
    if given.count(True) > 1 or options.replay is not None:
        return "--keep takes process ids, or -- and a command, or neither: all processes"
    if wrong := next((name for name in _REPORT_OPTIONS if getattr(options, name)), None):
        return f"--{wrong} does not work with --keep: use it with --replay of a file"
    if options.slower is None and options.slo is None:
        return "--keep needs --slower TIME, or --slo 'p99 < 300ms over 5m'"
    return None


def _add_keep_options(parser: argparse.ArgumentParser, limit: Any) -> None:
    """limit: the group of the options that say which requests are slow."""
    limit.add_argument(
        "--slo",
        type=argument_type(_parse_objective, "objective: 'p99 < 300ms over 5m'"),
        metavar="TEXT",
        help="with --keep: a route is slow if it misses this: 'p99 < 300ms over 5m'",
    )
    parser.add_argument(
        "--keep",
        metavar="FOLDER",
        help="watch until it is stopped, and write a file for --replay for each slow route",
    )
    parser.add_argument(
        "--process",
        metavar="TEXT",
        help="with --keep: only processes whose names contain this text",
    )
    parser.add_argument(
        "--alert",
        action="append",
        default=[],
        metavar="RECEIVER",
        help="with --keep: send a note with each file: webhook:URL, alertmanager:URL, exec:PROGRAM",
    )
    parser.add_argument(
        "--every",
        type=bounded_seconds(MAX_SECONDS),
        metavar="SECONDS",
        help="with --keep: at most one file for a route in this time; default: 600",
    )
    parser.add_argument(
        "--files",
        type=bounded_integer(10_000),
        metavar="N",
        help="with --keep: remove the oldest files above this number; default: 50",
    )
    parser.add_argument(
        "--cpu",
        type=bounded_integer(100_000),
        metavar="PERCENT",
        help="with --keep: end if pyusdt takes more of a processor",
    )


def add_why_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "pyusdt why [OPTIONS] (PID… | -- COMMAND … | --replay FILE | --keep FOLDER [PID…])"
    )
    parser.add_argument(
        "pid", nargs="*", type=parse_pid, metavar="PID", help="a server; of gunicorn the master"
    )
    _add_duration_option(parser)
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument(
        "--slower",
        type=DURATION,
        metavar="TIME",
        help="slow requests take so long: 200ms; default: three times the median of their route",
    )
    limit.add_argument(
        "--worst",
        type=_parse_share,
        metavar="SHARE",
        help="the slowest of each route are slow: 1%%",
    )
    parser.add_argument("--route", metavar="TEXT", help="only routes that contain this text")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page")
    parser.add_argument("--perfetto", metavar="FILE", help="write the slow requests for Perfetto")
    parser.add_argument("--save", metavar="FILE", help="write what --replay reads")
    parser.add_argument(
        "--replay", metavar="FILE", help="report what --save has written, with other limits too"
    )
    parser.add_argument(
        "--no-attach",
        action="store_true",
        help="load nothing into a process; for programs of pyusdt run",
    )
    _add_keep_options(parser, limit)
    _add_rate_option(parser, 47, "samples of the stacks a second")
