"""Whatever the text is, it compiles or is refused with a located error and a tag, and soon."""

import glob
import os
import time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyusdt.dlang.compile import compile_program
from pyusdt.dlang.errors import TAGS, CompileError

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = []
for _path in sorted(glob.glob(os.path.join(HERE, "cases", "*.d")) + glob.glob(os.path.join(HERE, "errors", "*.d"))):
    with open(_path, "rb") as _file:
        SCRIPTS.append(_file.read())
WORDS = b"""BEGIN END tick-1s pyusdt$target:::n0 { } ( ) [ ] / , ; : ? = += ++ -- + - * % ^^ && || ! ~ & | << >>
== != < <= -> . ... @ @a self this int char string unsigned long struct enum union typedef inline translator
sizeof stringof offsetof xlate x y a arg0 pid execname timestamp trace printf count quantize exit copyinstr
"s" "%d %s" 'c' 0 1 2147483648 0x7f 1.5 07 $1 $$1 $target #pragma D option quiet # /* */ // ` \\ \n""".split(b" ")


def check(text):
    """Compile; the only exception that may come is a CompileError that tells all."""
    begin = time.monotonic()
    try:
        compile_program(text, "x.d", macros={"target": 1}, arguments=["x.d"])
    except CompileError as error:
        assert error.tag in TAGS
        assert error.message
        line = error.loc.source.row(error.loc.start)
        assert 0 <= line <= text.count(b"\n")
        lines = error.render(errtags=True).splitlines()
        assert lines[0].startswith("dtrace: failed to compile script x.d: ")
        assert any("^" in shown for shown in lines) or not error.loc.source.line_text(error.loc.start).strip()
    assert time.monotonic() - begin < 10


bounded = settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], database=None
)


@bounded
@given(st.binary(max_size=200))
def test_random_bytes(text):
    check(text)


@bounded
@given(st.lists(st.sampled_from(WORDS), max_size=40), st.sampled_from([b" ", b"", b"\n"]))
def test_random_words(words, between):
    check(between.join(words))


@bounded
@given(st.lists(st.sampled_from(WORDS), max_size=15))
def test_random_statements(words):
    check(b"BEGIN { x = 1; a[1] = 2; self->s = execname; " + b" ".join(words) + b" }")


@bounded
@given(st.sampled_from(SCRIPTS), st.data())
def test_mutated_scripts(text, data):
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        end = min(len(text), at + data.draw(st.integers(0, 12)))
        text = text[:at] + data.draw(st.one_of(st.sampled_from(WORDS), st.binary(max_size=4))) + text[end:]
    check(text)
