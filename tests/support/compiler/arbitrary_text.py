"""What holds for any text: it compiles or is refused with a located error and a tag, soon, and what compiles can run.

Whatever compiles can be shown by -S.

Input: bytes that claim to be D.
Output: nothing, or an AssertionError or the exception that a user would see.
"""

import glob
import os
import time

from pydtrace.bpf.map_kinds import KINDS
from pydtrace.dlang.compile import Compiler
from pydtrace.dlang.compile_errors import TAGS, CompileError
from pydtrace.options import Options
from tests.support.compiler.bpf_machine import Machine
from tests.support.paths import ROOT, TESTS

DLANG = os.path.join(TESTS, "dlang")
WORDS = b"""BEGIN END tick-1s pyusdt$target:::n0 { } ( ) [ ] / , ; : ? = += ++ -- + - * % ^^ && || ! ~ & | << >>
== != < <= -> . ... @ @a self this int char string unsigned long struct enum union typedef inline translator
sizeof stringof offsetof xlate x y a arg0 pid execname timestamp trace printf count quantize exit copyinstr
"s" "%d %s" 'c' 0 1 2147483648 0x7f 1.5 07 $1 $$1 $target #pragma D option quiet # /* */ // ` \\ \n""".split(
    b" "
)
SECONDS = 10
_ROOM = 64 << 20  # bytes of a program's maps up to which it is run here


def scripts():
    """The texts that mutations begin with: what the tests compile, and what is there to deploy."""
    patterns = [
        os.path.join(DLANG, "cases", "*", "*", "*.d"),
        os.path.join(DLANG, "robust", "*.d"),
        os.path.join(ROOT, "scripts", "*.d"),
    ]
    found = []
    for path in sorted(path for pattern in patterns for path in glob.glob(pattern)):
        with open(path, "rb") as file:
            found.append(file.read())
    return found


def check(text, run=False):
    """Compile; the only exception that may come is a CompileError that tells all.  run: do what BEGIN does, too."""
    begin = time.monotonic()
    program = None
    try:
        compiler = Compiler(Options(), {"target": 1}, ["x.d"])
        compiler.compile_text(text, "x.d")
        program = compiler.generate_program()
        compiler.format_disassembly(program)
    except CompileError as error:
        check_error(error, text)
    if (
        program
        and run
        and sum(m.entries * (m.key_size + m.value_size) for m in program.maps if m.kind in KINDS)
        < _ROOM
    ):
        machine = Machine(program)
        machine.run_begin()
        machine.printed()
    assert time.monotonic() - begin < SECONDS


def check_error(error, text):
    assert error.tag in TAGS
    assert error.message
    line = error.loc.source.line_index(error.loc.start)
    assert 0 <= line <= text.count(b"\n")
    lines = error.render(errtags=True).splitlines()
    assert lines[0].startswith("dtrace: failed to compile script x.d: ")
    assert (
        any("^" in shown for shown in lines)
        or not error.loc.source.line_text(error.loc.start).strip()
    )


def mutated(rng, texts):
    """A script with some words of D put in, and pieces left out, doubled, or of other scripts."""
    text = rng.choice(texts)
    for _ in range(rng.choice((0, 1, 1, 2, 4, 16))):
        at = rng.randint(0, len(text))
        end = min(len(text), at + rng.choice((0, 0, 1, 3, 12, 40)))
        other = rng.choice(texts)
        start = rng.randint(0, len(other))
        piece = rng.choice(
            (
                b"",
                rng.choice(WORDS),
                rng.randbytes(rng.randint(1, 8)),
                other[start : start + rng.randint(0, 60)],
                text[at:end] * 2,
            )
        )
        text = text[:at] + piece + text[end:]
    return text
