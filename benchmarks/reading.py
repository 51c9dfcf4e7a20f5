"""What reads records: the parser of dtrace's output beside json.loads, the API's records beside the parser.

Rows are (title, budget, our nanoseconds, the peer's), of CPU time for each line or record.  The parser gives every value typed;
json.loads gets the same data, a line of JSON for each item.  A bucket is as docs/reference/json.md has it: lowest, highest, count.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pyusdt
from pydtrace.dlang.builtins import AGGREGATIONS
from pydtrace.engine.dtrace.output_items import Distribution, Row, Total
from pydtrace.engine.dtrace.output_parser import Parser
from pydtrace.results import aggregation_values

LINES = 12_000  # of each kind of text
CHUNK = 1 << 16  # bytes that come at once, as from a pipe
RECORDS = 20_000  # of a burst; the ring holds them all
SCRIPT = "pyusdt$target:::user_trace-i4s4 { trace(arg2); trace(copyinstr(arg6)); }"
TARGET = """import sys, pyusdt
for line in sys.stdin:
    for i in range(int(line)):
        pyusdt.p(i * 37, f"item {i % 1000}")
"""


def rows(n: int) -> bytes:
    """The default columns, with an integer and a string."""
    return b"".join(
        b"%3d %6d %24s:%-8s %16d  %-33s\n"
        % (i % 4, 80_000, b"main", b"user_trace-i4s4", i * 37, b"item %d" % (i % 1000))
        for i in range(n)
    )


def tables(n: int) -> bytes:
    """An aggregation's table with two keys."""
    return b"".join(
        b"  %-50b %16d %16d\n" % (b"/route/%d" % (i % 1000), i % 100, i * 37) for i in range(n)
    )


def histograms(n: int) -> bytes:
    """quantize() by a key: ten buckets each."""
    buckets = b"".join(
        b"%16d |%-40b %-9d\n" % (1 << k, b"@" * (4 * k), 1000 * k) for k in range(10)
    )
    title = b"           value  ------------- Distribution ------------- count    \n"
    return b"".join(b"\n  %-50b\n%b%b" % (b"/route/%d" % i, title, buckets) for i in range(n // 13))


def read(text: bytes) -> list:
    """All items of a text, each with its values."""
    parser, items = Parser(), []
    for at in range(0, len(text), CHUNK):
        for item in parser.feed(text[at : at + CHUNK]):
            if item.__class__ is Row:
                item.values  # noqa: B018  (this parses them)
            items.append(item)
    return items + parser.close()


def as_json(item) -> str | None:
    """The data of an item, as JSON; None where it is an empty line."""
    if isinstance(item, Row):
        return json.dumps(
            {
                "cpu": item.cpu,
                "id": item.id,
                "function": item.function,
                "name": item.name,
                "values": item.values,
            }
        )
    if isinstance(item, Total):
        return json.dumps({"keys": item.keys, "value": item.value})
    if isinstance(item, Distribution):
        bounds = dict(aggregation_values.bucket_bounds(AGGREGATIONS["quantize"], ()))
        return json.dumps(
            {
                "keys": item.keys,
                "buckets": [(low, bounds[low], count) for low, count in item.buckets],
            }
        )
    return None


def cpu_time(function, argument) -> int:
    start = time.process_time_ns()
    function(argument)
    return time.process_time_ns() - start


def parser(rounds: int) -> list[tuple]:
    """The parser's time a line against json.loads of the same data."""
    found = []
    for title, make in (("rows", rows), ("tables", tables), ("histograms", histograms)):
        text = make(LINES)
        lines = text.count(b"\n")
        documents = [document for document in map(as_json, read(text)) if document]
        ours, peer = [], []
        for _ in range(rounds):
            ours.append(cpu_time(read, text) / lines)
            peer.append(cpu_time(lambda all: [json.loads(one) for one in all], documents) / lines)
        found.append((f"parser of dtrace's output, {title} / json.loads", 3.0, ours, peer))
    return found


def api(rounds: int) -> list[tuple]:
    """From the ring to the values of a Record in a loop, on the embedded engine, against the parser's time for such a row."""
    text, ours, peer = rows(RECORDS), [], []
    target = subprocess.Popen([sys.executable, "-c", TARGET], stdin=subprocess.PIPE, text=True)
    try:
        with pyusdt.trace(SCRIPT, pid=target.pid, bufsize="16m", zdefs=True) as t:
            while not ours or len(ours) < rounds:
                start = time.process_time_ns()
                print(RECORDS, file=target.stdin, flush=True)
                for i, record in enumerate(t, 1):
                    record.values  # noqa: B018
                    if i == RECORDS:
                        break
                ours.append((time.process_time_ns() - start) / RECORDS)
                peer.append(cpu_time(read, text) / RECORDS)
            if any(t.drops.values()):
                raise RuntimeError(f"not every record came: {t.drops}")
    finally:
        target.stdin.close()
        target.wait(timeout=30)
    return [("API, a Record on the embedded engine / parser's row", 1.0, ours, peer)]
