"""agghist, aggpack and aggzoom: the tables of illumos' and FreeBSD's dtrace, which the one on Linux does not have; what is
printed is also read back by our own parser of those systems' output."""

import os
import subprocess
import sys

import pytest

from pydtrace.engine.dtrace.output_items import Bars, Packed
from pydtrace.engine.dtrace.output_parser import Parser

pytestmark = pytest.mark.own_processes
SUMS = 'BEGIN { @["back"] = sum(-12); @["web orders"] = sum(14); @["phone"] = sum(24); exit(0); }'
VERBS = 'BEGIN { @["GET"] = sum(2); @["PUT"] = sum(9); @["POST"] = sum(9); exit(0); }'
DEBTS = "BEGIN { @[(char)7, 70000] = sum(-80); @[(char)8, 5] = sum(-20); exit(0); }"
LINEAR = "BEGIN { @ = lquantize(-3, -10, 20, 1); @ = lquantize(2, -10, 20, 1); @ = lquantize(7, -10, 20, 1, 10); exit(0); }"
POWERS = "BEGIN { @[1] = quantize(1); @[99] = quantize(1, 90); @[99] = quantize(0, 9); @[5] = quantize(8, -3); exit(0); }"
HEADING = "------------- Distribution -------------"
CASES = {
    "both-signs": (["agghist"], SUMS, f"""
              key  {HEADING} count    
             back                @@@@@|                     -12      
       web orders                     |@@@@@@               14       
            phone                     |@@@@@@@@@@           24       
"""),
    "below-zero": (["agghist"], DEBTS, f"""
          key  {HEADING} count    
   7    70000         @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@| -80      
   8        5                                 @@@@@@@@| -20      
"""),
    "zoomed": (["agghist", "aggzoom"], VERBS, f"""
              key  {HEADING} count    
              GET |@@@@@@@@                                 2        
             POST |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@   9        
              PUT |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@   9        
"""),
    "eighths": (["agghist", "encoding=utf8"], VERBS, f"""
              key  {HEADING} count    
              GET |████                                     2        
             POST |██████████████████                       9        
              PUT |██████████████████                       9        
"""),
    "linear": (["aggpack", "encoding=ascii"], LINEAR, """
     min .--------------------------------. max      | count
   < -10 :        _    _    X             : >= 20    | 12
"""),
    "powers": (["aggpack", "encoding=ascii"], POWERS, """
      key  min .------. max  | count
        5    0 :    V : 16   | -3
        1    0 : X    : 16   | 1
       99    0 :_X    : 16   | 99
"""),
    "blocks": (["aggpack", "encoding=utf8", "aggzoom"], POWERS, """
      key  min .------. max  | count
        5    0 :    V : 16   | -3
        1    0 : █    : 16   | 1
       99    0 :▂█    : 16   | 99
"""),
}  # fmt: skip


def run(options, script, **environment):
    command = [
        sys.executable,
        "-c",
        "from pydtrace.cli.pydtrace.main import main; main()",
        "-q",
        "-n",
        script,
    ]
    command += [f"-x{option}" for option in options]
    done = subprocess.run(
        command, capture_output=True, check=False, timeout=60, env={**os.environ, **environment}
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


@pytest.mark.parametrize("name", CASES)
def test_the_table(name):
    options, script, expected = CASES[name]
    assert run(options, script).decode() == "\n" + expected


@pytest.mark.parametrize(
    "name, kind, first",
    [
        ("both-signs", Bars, ("back", -12)),
        ("eighths", Bars, ("GET", 2)),
        ("powers", Packed, ("5", "0", "16", b"    V ", -3)),
    ],
)
def test_our_parser_reads_it(name, kind, first):
    parser = Parser()
    items = parser.feed(run(*CASES[name][:2])) + parser.close()
    (table,) = [item for item in items if type(item) is kind]
    assert table.rows[0] == first


def test_terminals_that_are_known_to_have_no_blocks_get_letters():
    assert b":_X    :" in run(["aggpack"], POWERS, TERM="dumb")
    assert "█".encode() in run(["aggpack"], POWERS, TERM="xterm")


def test_zoom_is_for_every_distribution():
    assert b"|" + b"@" * 38 + b"   1" in run(["aggzoom"], "BEGIN { @ = quantize(1); exit(0); }")


def test_what_has_no_such_table_is_shown_as_ever():
    script = "BEGIN { @a = count(); @b[1] = max(2); @c[1] = llquantize(5, 10, 0, 3, 10); exit(0); }"
    assert run(["agghist", "aggpack"], script) == run([], script)
