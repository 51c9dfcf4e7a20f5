"""`pyusdt diff`: what differs between two profiles, or between the aggregations of two runs."""

from __future__ import annotations

import subprocess

from pydtrace.differences.aggregation_changes import encode_aggregations, render_aggregations
from pydtrace.differences.aggregation_difference import (
    UnreadableAggregations,
    compare_aggregations,
    read_aggregations,
)
from pydtrace.differences.difference_page import render_difference_page
from pydtrace.differences.difference_text import encode_difference, render_difference
from pydtrace.differences.profile_difference import DifferentUnits, ProfileDifference
from pydtrace.profile.pprof_schema import NoProtobuf
from pydtrace.profile.profile_reader import read_bounded, read_profile
from pydtrace.profile.stack_amounts import UnreadableProfile
from pydtrace.sinks.atomic_file import write_file
from pydtrace.untrusted.isolated_python import isolated_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

_RECORDING = b"pyusdtR1"
_JSON_LINES = b'{"type":'
_PYDTRACE = "from pydtrace.cli.pydtrace.main import main\nmain()\n"


class NotCompared(Exception):
    """The two files cannot be compared; the message is one line."""


def compare_files(options: Namespace) -> str:
    """The text for the standard output.  Raises NotCompared, OSError, OutputError."""
    kinds = [_find_kind(path) for path in (options.before, options.after)]
    if kinds[0] != kinds[1]:
        raise NotCompared(
            f"{options.before} is {kinds[0]}, {options.after} is {kinds[1]}: they cannot be compared"
        )
    script = [
        word
        for name, word in (("-n", options.program), ("-s", options.script))
        if word
        for word in (name, word)
    ]
    is_recording = kinds[0] == "a recording"
    if script and not is_recording:
        raise NotCompared(f"-n and -s are for recordings: {options.before} is {kinds[0]}")
    if is_recording and not script:
        raise NotCompared(
            "of recordings the aggregations of a script are compared: -n SCRIPT or -s FILE"
        )
    try:
        if kinds[0] == "a profile":
            return _compare_profiles(options)
        return _compare_aggregations(options, script)
    except (UnreadableProfile, NoProtobuf, DifferentUnits, UnreadableAggregations) as error:
        raise NotCompared(str(error)) from None


def _find_kind(path: str) -> str:
    with open(path, "rb") as file:
        beginning = file.read(len(_RECORDING))
    return {_RECORDING: "a recording", _JSON_LINES: "output of pydtrace --json"}.get(
        beginning, "a profile"
    )


def _compare_profiles(options: Namespace) -> str:
    before, after = (read_profile(path, options.lines) for path in (options.before, options.after))
    found = ProfileDifference(before, after, options.amounts or before.unit == "bytes")
    if options.flamegraph:
        page = render_difference_page(found, options.before, options.after)
        write_file(options.flamegraph, page)
    if options.json:
        return encode_difference(found)
    return render_difference(found, options.before, options.after)


def _compare_aggregations(options: Namespace, script: list[str]) -> str:
    if options.flamegraph:
        raise NotCompared("--flamegraph is for profiles")
    sides = [
        read_aggregations(_replay(path, script) if script else _read_lines(path))
        for path in (options.before, options.after)
    ]
    rows = compare_aggregations(*sides)
    return (encode_aggregations if options.json else render_aggregations)(rows)


def _read_lines(path: str) -> list[str]:
    return read_bounded(path).decode("utf-8", "replace").splitlines()


def _replay(path: str, script: list[str]) -> list[str]:
    """The lines of JSON that the script prints of a recording."""
    command = isolated_command(_PYDTRACE, "-q", "--json", "--replay", path, *script)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise NotCompared(f"the script failed on {path}")
    return done.stdout.decode("utf-8", "replace").splitlines()
