"""The options of `pyusdt diff`: an argparse parser's arguments."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser


def add_diff_options(parser: ArgumentParser) -> None:
    parser.add_argument("before", metavar="BEFORE", help="a profile, lines of --json, a recording")
    parser.add_argument("after", metavar="AFTER", help="the same of another time or version")
    parser.add_argument(
        "--amounts",
        action="store_true",
        help="compare samples, seconds or bytes, not shares of the whole",
    )
    parser.add_argument("--lines", action="store_true", help="tell the lines of a function apart")
    parser.add_argument(
        "--flamegraph", metavar="FILE", help="write a flame graph with the changes as colours"
    )
    script = parser.add_mutually_exclusive_group()
    script.add_argument(
        "-n", dest="program", metavar="SCRIPT", help="of recordings: whose aggregations to compare"
    )
    script.add_argument("-s", dest="script", metavar="FILE", help="the same from a file")
    parser.add_argument(
        "--json", action="store_true", help="an object of JSON in a line for each function or key"
    )
