"""pydtrace's command line."""

import re

import pytest

from pydtrace.cli.parsing.arguments import (
    OptionRefused,
    Request,
    UsageError,
    parse_arguments,
    split_argv,
)
from pydtrace.cli.parsing.options_table import DTRACE_OPTIONS, PYDTRACE_OPTIONS
from pydtrace.cli.parsing.sink_factory import parse_address


def test_options_may_be_joined_and_mixed_with_operands():
    found, operands = split_argv(["-qs", "x.d", "one", "-nBEGIN", "-", "--", "-q", "two"])
    assert found == [("q", None), ("s", "x.d"), ("n", "BEGIN")]
    assert operands == ["one", "-", "-q", "two"]


@pytest.mark.parametrize(
    "argv, message",
    [
        (["-y"], "invalid option -- 'y'"),
        (["-q:"], "invalid option -- ':'"),
        (["--quiet"], "invalid option -- '-'\nhint: did you mean -x quiet\\?"),
        (["--bufsize=4m"], "invalid option -- '-'\nhint: did you mean -x bufsize=4m\\?"),
        (
            ["--nosuchthing"],
            "invalid option -- '-'\nhint: unknown option --nosuchthing; --help lists the options$",
        ),
        (["--recrd", "x"], "invalid option -- '-'\nhint: did you mean --record\\?"),
        (["--live=1"], "option takes no argument -- 'live'"),
        (["-n"], "option requires an argument -- 'n'"),
        (["-qn"], "option requires an argument -- 'n'"),
        (["-31"], "illegal option -- 31"),
        (["-6", "2"], "illegal option -- 62"),
    ],
)
def test_wrong_usage(argv, message):
    with pytest.raises(UsageError, match=message) as caught:
        parse_arguments(argv, {})
    assert caught.value.usage == ("hint" not in message)


def test_modes_exclude_each_other():
    with pytest.raises(UsageError, match="only one of the .-GhlV. options") as caught:
        parse_arguments(["-lV"], {})
    assert not caught.value.usage


def test_everything_finds_its_place():
    arguments = parse_arguments(
        ["-q", "-wZ", "-b", "8k", "-o", "out", "-n", "a:b{}", "-P", "prov", "-s", "x.d", "-c", "cmd a", "-p", "12",
         "-x", "aggrate=5hz", "-x", "errtags", "-e", "-vv", "$1"],
        {"DTRACE_OPT_STRSIZE": "99"},
    )  # fmt: skip
    assert dict(arguments.options) == {
        "quiet": True, "destructive": True, "zdefs": True, "bufsize": 8192, "aggrate": 200_000_000,
        "errtags": True, "strsize": 99,
    }  # fmt: skip
    assert [(r.text, r.script, r.level) for r in arguments.requests] == [
        ("a:b{}", None, "name"), ("prov", None, "provider"), (None, "x.d", "name"),
    ]  # fmt: skip
    assert (arguments.commands, arguments.pids, arguments.output) == (["cmd a"], [12], "out")
    assert (arguments.execute, arguments.verbose, arguments.operands) == (False, 2, ["$1"])


@pytest.mark.parametrize(
    "text, name",
    [
        ("BEGIN", "BEGIN"),
        ("BEGIN { }", "BEGIN "),
        ("a /b/ {}", "a "),
        ("int x; BEGIN", "int x"),
        ("{", ""),
    ],
)
def test_a_description_is_cut_as_dtrace_cuts_it(text, name):
    assert Request(text=text).name == name


NEEDS = {option.name: option.needs for option in PYDTRACE_OPTIONS}


@pytest.mark.parametrize(
    "argv, message",
    [
        (
            ["-x", "bufsise=1"],
            "failed to set -x bufsise: Invalid option name\nhint: did you mean bufsize?",
        ),
        (["-x", "foo"], "failed to set -x foo: Invalid option name"),
        (["-x", "bufsize=abc"], "failed to set -x bufsize: Invalid value for specified option"),
        (["-b", "4x"], "failed to set -b 4x: Invalid value for specified option"),
        (
            ["-p", "nosuchname"],
            "invalid pid: nosuchname\nhint: -p takes a process id; no process is called nosuchname; --wait nosuchname waits for one",
        ),
        (["-p", ""], "invalid pid: "),
        (["-p", "12x"], "invalid pid: 12x"),
        (["-p", "1_2"], "invalid pid: 1_2"),
        (["-X", "q"], "failed to set -X q: Invalid value for specified option"),
        (["--ready=1"], "--ready needs the number of an open file descriptor, from 3 on"),
        (["--ready=x"], "--ready needs the number of an open file descriptor, from 3 on"),
        (
            ["-32"],
            "-32 is not supported: it is for 32-bit processes, which have no probes of pyusdt",
        ),
        (["--dump=foo"], "--dump needs one of ast, types, bpf"),
        *[
            ([f"--metrics={bad}"], f"--metrics needs {NEEDS['metrics']}")
            for bad in ("x", "65536", "-1", ":9464", "[]:1", "localhost", "9464:")
        ],
    ],
)
def test_what_can_not_be_done_is_refused_with_the_reason(argv, message):
    with pytest.raises(OptionRefused) as caught:
        parse_arguments(argv, {})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("0", "127.0.0.1", 0),
        ("9464", "127.0.0.1", 9464),
        ("0.0.0.0:1", "0.0.0.0", 1),
        ("[::1]:65535", "::1", 65535),
        ("a.b:1", "a.b", 1),
    ],
)
def test_addresses(text, host, port):
    assert parse_address(text) == (host, port)


@pytest.mark.parametrize(
    "option",
    [option for option in PYDTRACE_OPTIONS if option.needs],
    ids=lambda option: option.name,
)
def test_a_value_that_is_missing_is_told(option):
    with pytest.raises(OptionRefused, match=re.escape(f"{option.flag} needs {option.needs}")):
        parse_arguments([option.flag + "=" * option.optional], {})


@pytest.mark.parametrize("schema", ["", "0", "3", "x"])
def test_a_schema_that_there_is_not(schema):
    with pytest.raises(OptionRefused, match="--json needs the number of a schema: 1 or 2"):
        parse_arguments([f"--json={schema}"], {})


@pytest.mark.parametrize(
    "option",
    [option for option in (*DTRACE_OPTIONS, *PYDTRACE_OPTIONS) if not option.refusal],
    ids=lambda option: option.name,
)
def test_every_option_of_the_table_is_parsed(option):
    """One that the table has and the parser does nothing with would be lost silently."""
    values = {
        "p": "1",
        "i": "1",
        "b": "4k",
        "x": "quiet",
        "X": "c",
        "dump": "ast",
        "color": "never",
        "metrics": "9464",
    }
    argv = [option.flag] if option.value is None else [option.flag, values.get(option.name, "a")]
    before, after = parse_arguments([], {}), parse_arguments(argv, {})
    shown = [{**vars(each), "requests": len(each.requests)} for each in (before, after)]
    assert shown[0] != shown[1] or option.name == "64"


@pytest.mark.parametrize(
    "argv", [["--help"], ["-q", "--help", "-p", "abc"], ["--version", "--help"], ["-lV", "--help"]]
)
def test_help_stands_beside_anything(argv):
    assert parse_arguments(argv, {}).mode == "help"


def test_what_stands_behind_two_dashes_is_no_option():
    assert parse_arguments(["-q", "--", "--help"], {}).operands == ["--help"]


def test_version_looks_at_nothing_else():
    assert parse_arguments(["-V", "-x", "foo"], {}).mode == "version"


def test_listing_allows_what_matches_nothing():
    assert parse_arguments(["-l"], {}).options["zdefs"]
