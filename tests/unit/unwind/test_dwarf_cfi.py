"""Tables of frames as readelf reads them: each row of the C library of aarch64, and of x86-64's loader."""

import os
import re
import subprocess

import pytest

from pydtrace.symbols import elf
from pydtrace.unwind import dwarf_cfi

pytestmark = pytest.mark.own_processes

_NAMED = {"rax": 0, "rdx": 1, "rcx": 2, "rbx": 3, "rsi": 4, "rdi": 5, "rbp": 6, "rsp": 7, "sp": 31}
FILES = ["/usr/aarch64-linux-gnu/lib/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]


def register(name, returns):
    return (
        _NAMED[name]
        if name in _NAMED
        else returns
        if name == "ra"
        else int(name[1:]) + 64 * (name[0] == "v")
    )


def of_readelf(path):
    """{(function, address): (its register of the address to return to, {register: rule})} as cfi has them; a rule that is none: None."""
    found, returns = {}, {}
    printed = subprocess.run(
        ["readelf", "--debug-dump=frames-interp", path], capture_output=True, text=True, check=False
    ).stdout
    for paragraph in printed.split("\n\n"):
        if common := re.match(r"\n*(?:Contents.*\n+)?(\w+) \w+ \w+ CIE .*ra=(\d+)", paragraph):
            returns[common[1]] = int(common[2])
        if not (function := re.search(r"FDE cie=(\w+) pc=(\w+)\.\.", paragraph)):
            continue
        returned = returns[function[1]]
        _, *rest = paragraph[function.end() :].splitlines()
        for line in rest[1:]:
            address, *values = re.sub(r"r(\d+) \(\w+\)", r"=\1", line).split()
            columns = [dwarf_cfi.CFA, *(register(name, returned) for name in rest[0].split()[2:])]
            found[int(function[2], 16), int(address, 16)] = (
                returned,
                {
                    column: said(value, returned)
                    for column, value in zip(columns, values, strict=True)
                },
            )
    return found


def said(value, returns):
    if value in ("u", "s"):
        return None
    if value in ("exp", "vexp"):
        return value
    if value[0] == "=":
        return dwarf_cfi.REGISTER, int(value[1:])
    where, sign, number = re.fullmatch(r"(\w+)([+-])(\d+)", value).groups()
    distance = int(sign + number)
    return (
        (dwarf_cfi.OFFSET if where == "c" else dwarf_cfi.VALUE, distance)
        if where in "cv"
        else (register(where, returns), distance)
    )


def ours(row, column):
    rule = row.rules.get(column)
    if rule is None:
        return None
    return {
        dwarf_cfi.EXPRESSION: "vexp" if column != dwarf_cfi.CFA else "exp",
        dwarf_cfi.AT: "exp",
    }.get(rule[0], rule)


@pytest.mark.parametrize("path", FILES, ids=["aarch64", "x86-64"])
def test_each_row(path):
    if not os.path.exists(path):
        pytest.skip(f"host: no {path}")
    file, compared, theirs = elf.ElfFile(path), 0, of_readelf(path)
    try:
        for function in dwarf_cfi.FrameTables(file).iter_functions():
            for begin, _, row in function:
                if (row.start, begin) not in theirs:
                    continue
                returns, wanted = theirs[row.start, begin]
                assert row.returns == returns
                assert {column: ours(row, column) for column in wanted} == wanted, hex(begin)
                assert {
                    column for column, rule in row.rules.items() if rule is not None
                } <= wanted.keys(), hex(begin)
                compared += 1
    finally:
        file.close()
    assert compared > 0.99 * len(theirs) > 700, (compared, len(theirs))
