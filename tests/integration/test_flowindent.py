"""-F with probes of one's own: names that end in -entry and -return are calls, on the engines that fire them."""

import re
import sys

import pytest

PROGRAM = """import time
import pyusdt
p = pyusdt.Provider("flowing")
entry, back, other = p.probe("call-entry", int), p.probe("call-return", int), p.probe("step", int)
def call(n):
    entry(n)
    if n:
        call(n - 1)
    other(n)
    back(n)
deadline = time.monotonic() + 30
while not (entry and back and other) and time.monotonic() < deadline:  # the kernel engine finds them after they are made
    time.sleep(0.01)
call(2)
"""


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_calls_are_indented_and_told_by_arrows(pydtrace, root, tmp_path, engine):
    (tmp_path / "calls.py").write_text(PROGRAM)
    got = pydtrace(
        "-F",
        "-Z",
        "-x",
        f"engine={engine}",
        "-n",
        "flowing$target:::call-* { trace(arg0); } flowing$target:::step { }",
        "-c",
        f"{sys.executable} {tmp_path / 'calls.py'}",
    )
    heading, *lines = [
        line[3:] for line in got.stdout[got.stdout.index("CPU") :].splitlines() if line
    ]
    assert heading == f" {'FUNCTION':41}"
    shown = [(re.match(r" *(->|<-|\|)", line)[0], line[42:].strip()) for line in lines]
    assert shown == [("  ->", "2"), ("    ->", "1"), ("      ->", "0"), ("       |", ""), ("      <-", "0"), ("     |", ""),
                     ("    <-", "1"), ("   |", ""), ("  <-", "2")], got  # fmt: skip
