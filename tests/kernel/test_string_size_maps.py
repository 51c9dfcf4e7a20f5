"""Aggregations whose key ends with a string: a map for each size of string, read as one."""

import re
import shlex
import sys

import pytest

from pydtrace.bpf.insn import PSEUDO_CALL, call
from pydtrace.dlang.compile import compile_program
from pydtrace.engine.kernel.kernel_maps import KernelMaps
from pydtrace.engine.kernel.linker import Linker, ProgramEvent
from pydtrace.engine.kernel.passes import string_size_maps
from pydtrace.engine.kernel.passes.map_indirection import MAP_LIMIT
from tests.support.kernel_harness import pydtrace

pytestmark = pytest.mark.usefixtures("bpf")

LOOKUP, READ_KERNEL = 1, 113  # helpers
LENGTHS = (0, 1, 7, 8, 9, 15, 16, 17, 30, 31, 32, 33, 62, 63, 64, 65, 127, 200, 254, 255)


def strings():
    return [chr(ord("a") + n) * length for n, length in enumerate(LENGTHS)]


def script(ends):
    """What fills @s with one key of each length, one of them twice, and @t by two keys, and then does `ends`."""
    fills = "".join(
        f'BEGIN {{ @s["{text}"] = sum({n}); @t[{n % 3}, "{text}"] = count(); @m[1, "{text}", 2] = max({n}); }}\n'
        for n, text in enumerate([*strings(), strings()[3], strings()[7]])
    )
    return f"{fills}BEGIN {{ {ends} exit(0); }}"


def printed(engine, ends):
    out, err, status = pydtrace("-q", "-n", script(ends), options=[f"-xengine={engine}"])
    assert (status, err) == (0, ""), (out, err)
    return out


@pytest.mark.parametrize(
    "ends",
    [
        "",
        "trunc(@s, 3); trunc(@t, -4);",
        "clear(@s); trunc(@t);",
        'printa("%s %@d\\n", @s); clear(@t);',
    ],
)
def test_it_is_read_cleared_and_truncated_as_one_map(ends):
    """The embedded engine has one map for all: the same is printed, in the same order."""
    kernel = printed("kernel", ends)
    assert kernel == printed("embedded", ends)
    assert len(kernel.splitlines()) > len(LENGTHS)


def test_the_length_of_a_string_says_where_it_is():
    program = compile_program(
        'BEGIN { @a["x", 1, execname] = count(); @b[execname, 1] = count(); @c = count(); }'
    )
    found = string_size_maps.find_split_maps(program, first=9, most=MAP_LIMIT)
    assert [(each.whole, each.smaller) for each in found] == [
        (program.aggregations[0].map, [(295, 9), (327, 10)])
    ]
    key = {length: bytes(264) + b"s" * length + bytes(256 - length) for length in LENGTHS}
    assert [found[0].locate_key(key[length])[0] for length in LENGTHS] == [9] * 10 + [10] * 4 + [
        found[0].whole
    ] * 6
    assert all(found[0].locate_key(whole)[1].ljust(520, b"\0") == whole for whole in key.values())


def test_short_strings_have_no_smaller_map():
    program = compile_program("#pragma D option strsize=32\nBEGIN { @a[execname] = count(); }")
    assert string_size_maps.find_split_maps(program, first=9, most=MAP_LIMIT) == []


def test_where_there_would_be_too_many_maps_there_are_none():
    """All programs of a script have to agree where a key is."""
    program = compile_program(
        "BEGIN { " + "".join(f"@a{i}[execname] = count(); " for i in range(25)) + "}"
    )
    assert string_size_maps.find_split_maps(program, first=30, most=MAP_LIMIT) == []
    out, err, status = pydtrace(
        "-q",
        "-n",
        "BEGIN { " + "".join(f'@a{i}["x"] = sum({i}); ' for i in range(25)) + "exit(0); }",
    )
    assert (status, err) == (0, "") and sorted(
        int(line.split()[1]) for line in out.splitlines() if line.strip()
    ) == list(range(25))


FIRES = """
import random, sys, pyusdt
lengths = [int(word) for word in sys.argv[1:]]
chosen = [length for length in lengths for _ in range(length % 7 + 1)]
random.Random(1).shuffle(chosen)
for length in chosen:
    pyusdt.p(length, "k" * length)
"""


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_nothing_of_a_longer_string_is_left_behind_a_shorter_one(engine):
    """The storage of the string of a firing is that of the one before.  20 lengths in a mixed order, each known number of times."""
    script = "pyusdt$target:::user_trace-i4s4 { @[copyinstr(arg6)] = count(); @q[arg2, copyinstr(arg6)] = quantize(arg2); }"
    out, err, status = pydtrace(
        "-q",
        "-n",
        script + 'END { printa("%s|%@d\\n", @); }',
        "-c",
        shlex.join([sys.executable, "-c", FIRES, *map(str, LENGTHS)]),
        options=[f"-xengine={engine}"],
    )
    assert (status, err) == (0, "")
    found = sorted((len(key), int(n)) for key, n in re.findall(r"^(k*)\|(\d+)$", out, re.MULTILINE))
    assert found == [(length, length % 7 + 1) for length in LENGTHS], out
    assert out.count("value  ------------- Distribution -------------") == len(LENGTHS)


def test_a_short_way_to_the_key():
    """The storage is zeroed by words, the bucket found and the map chosen without a call (inline.py)."""
    program = compile_program("x:::y { @[copyinstr(arg0)] = quantize(arg2); }")
    maps = KernelMaps(program, 0)
    try:
        insns = Linker(program, maps.indexes).link_clauses([0], ProgramEvent())
    finally:
        maps.close()
    helpers = [insn.imm for insn in insns if insn.opcode == call(0).opcode and insn.src == 0]
    subroutines = [
        insn for insn in insns if insn.opcode == call(0).opcode and insn.src == PSEUDO_CALL
    ]
    assert READ_KERNEL not in helpers and helpers.count(LOOKUP) == 4 + 2 * 3
    assert len(subroutines) == 1, "only what reports a fault is called"
