"""Whatever the text is, it compiles or is refused with a located error and a tag, and soon.

robust/*.d are what a fuzzer (fuzz_compiler.py) or a user found once.
"""

import glob
import os
import random
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.compiler.arbitrary_text import DLANG, WORDS, check, mutated, scripts

SCRIPTS = scripts()
FOUND = sorted(glob.glob(os.path.join(DLANG, "robust", "*.d")))


bounded = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
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
        text = (
            text[:at]
            + data.draw(st.one_of(st.sampled_from(WORDS), st.binary(max_size=4)))
            + text[end:]
        )
    check(text)


@pytest.mark.parametrize("count", [300, pytest.param(140_000, marks=pytest.mark.long)])
def test_many_mutated_scripts(count):
    """As fuzz_command.py mutates them, without the command around; what compiles is run, too."""
    chance = random.Random(count)
    for _ in range(count):
        check(mutated(chance, SCRIPTS), run=True)


@pytest.mark.long
def test_the_fuzzers_corpus():
    """What 65 minutes of fuzz_compiler.py, 2.4 million inputs, left: the newest thousand."""
    with zipfile.ZipFile(os.path.join(DLANG, "corpus.zip")) as archive:
        for name in archive.namelist():
            check(archive.read(name), run=True)


@pytest.mark.parametrize("path", FOUND, ids=[os.path.basename(path) for path in FOUND])
def test_what_was_found_once(path):
    with open(path, "rb") as file:
        check(file.read(), run=True)
