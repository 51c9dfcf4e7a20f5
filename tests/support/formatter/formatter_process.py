"""The formatter in C as a child process that runs under the sanitizers (tests/c/format_main.c)."""

import os
import struct
import subprocess

from pydtrace.dtrace_text import aggregation_text
from pydtrace.program import formatter_table
from tests.support.paths import ROOT

QUIET, TESTING, RAWBYTES, FLOW = 1, 2, 4, 8
DONE, FULL, PROBE, ACTION, FAULT = range(5)
SOURCES = (
    "tests/c/format_main.c",
    "c/format/flowindent.c",
    "c/format/formatter.c",
    "c/format/format_program.c",
    "c/format/text.c",
    "c/consumer/record_buffer.c",
)


def build(folder):
    """Compile the harness into a folder; its path."""
    program = os.path.join(folder, "format_main")
    subprocess.run(
        ["python3", os.path.join(ROOT, "c", "generators", "generate_program.py")], check=True
    )
    subprocess.run(
        [os.environ.get("CC", "gcc"), "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-Ic", *SOURCES,
         "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o", program],
        cwd=ROOT, check=True,
    )  # fmt: skip
    return program


class Result:
    """text: what was printed; stops: list of (stop, offset, action), the last of them the end."""

    def __init__(self, done):
        self.text, self.errors = done.stdout, done.stderr.decode()
        self.returncode = done.returncode
        self.printed = [
            int(line.split()[1]) for line in self.errors.splitlines() if line.startswith("printed ")
        ]  # at once
        words = [line.split() for line in self.errors.splitlines()]
        self.stops = [
            tuple(map(int, w)) for w in words if len(w) == 3 and w[0].lstrip("-").isdigit()
        ]


def run(harness, table_bytes, records, names, flags=0, kind=b"r"):
    """Feed the harness; names: {id: (provider, module, function, name)}; kind: b"o": the records come one by one."""
    chunks = [(b"t", struct.pack("=I", flags) + table_bytes)]
    for probe, (provider, _, function, name) in names.items():
        chunks.append(
            (b"p", struct.pack("=I", probe) + f"{provider}\0{function}\0{name}\0".encode())
        )
    chunks += [(kind, buffer) for buffer in (records if isinstance(records, list) else [records])]
    fed = b"".join(struct.pack("=II", kind[0], len(data)) + data for kind, data in chunks)
    env = {**os.environ, "TZ": "UTC", "ASAN_OPTIONS": "detect_leaks=1"}
    return Result(
        subprocess.run([harness], input=fed, capture_output=True, env=env, timeout=60, check=False)
    )


def flags_of(options):
    """The formatter's flags of dtrace's options."""
    return (QUIET if "-q" in options else 0) | (RAWBYTES if "-xrawbytes" in options else 0)


def print_case(harness, case, names):
    """All that our code prints for a case, to compare with the oracle's standard output."""
    program, records = case.program_and_records()
    result = run(
        harness, formatter_table.build_table(program), records, names, flags_of(case.options)
    )
    assert result.returncode == 0, result.errors
    assert result.stops[-1][0] == DONE, result.errors
    position = [int(o.partition("=")[2]) for o in case.options if o.startswith("-xaggsortkeypos")]
    order = aggregation_text.SortOrder(
        "-xaggsortkey" in case.options,
        "-xaggsortrev" in case.options,
        position[0] if position else 0,
    )
    return (
        result.text
        + b"\n"
        + aggregation_text.render_aggregations(case.aggregations(), program.strsize, order)
    )
