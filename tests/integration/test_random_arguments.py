"""Any arguments, fired by p() and read back through an engine: what comes out is what the rules of docs/internals/DESIGN.md say.

The same program runs on the embedded engine and on the kernel's, whose tracer reads the site as each USDT tracer does."""

from __future__ import annotations

import ctypes
import os

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import pyusdt
from tests.support.compiler import verifier

STRSIZE = 64
SCRIPT = (
    "pyusdt$1:::user_trace-i4s4 { "
    + " ".join(
        [f"trace(arg{i});" for i in range(2, 6)]
        + [f'trace(arg{i} == 0 ? "absent" : copyinstr(arg{i}));' for i in range(6, 10)]
        + ["trace(copyinstr(arg1));"]
    )
    + " }"
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=STRSIZE + 10) | st.text(
    max_size=8
)
ROWS = st.tuples(
    st.lists(st.integers(-(1 << 70), 1 << 70) | st.none() | st.booleans(), max_size=4),
    st.lists(TEXTS | st.binary(max_size=STRSIZE + 10), max_size=4),
    st.text(max_size=10),
)


def integer(value):
    return ctypes.c_int64((value or 0) & (1 << 64) - 1).value


def text(value):
    """What D reads of a string: its bytes to the first NUL, at most strsize - 1 of them; a record has no part of a character."""
    data = value if isinstance(value, bytes) else value.encode("utf-8", "replace")
    data = data.split(b"\0")[0]
    if len(data) < STRSIZE:
        return data
    data = data[: STRSIZE - 1]
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if error.end == len(data) and error.reason == "unexpected end of data":
            return data[: error.start]
    return data


def expected(row):
    integers, strings, tag = row
    return (
        [integer(each) for each in integers]
        + [0] * (4 - len(integers))
        + [text(each) for each in strings]
        + [b"absent"] * (4 - len(strings))
        + [text(tag)]
    )


def found(record):
    return [
        each.encode("utf-8", "surrogateescape") if isinstance(each, str) else each
        for each in record
    ]


def check(rows, engine):
    with pyusdt.trace(
        SCRIPT, os.getpid(), pid=os.getpid(), engine=engine, strsize=STRSIZE
    ) as tracing:
        for integers, strings, tag in rows:
            with pyusdt.tag(tag):
                assert pyusdt.p(*integers, *strings) is True
    records = list(tracing)
    assert [found(record) for record in records] == [expected(row) for row in rows]


@settings(deadline=None, max_examples=15, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(ROWS, min_size=1, max_size=25))
@example(
    rows=[([], [STRSIZE // 2 * "é", (STRSIZE - 2) // 2 * "é" + "€"], "")]
)  # cut inside a character
def test_through_the_embedded_engine(rows):
    check(rows, "embedded")


@settings(deadline=None, max_examples=2, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(ROWS, min_size=40, max_size=60))
def test_through_the_kernel(rows):
    if verifier.why_not_loadable():
        pytest.skip(f"host: {verifier.why_not_loadable()}")
    check(rows, "kernel")
