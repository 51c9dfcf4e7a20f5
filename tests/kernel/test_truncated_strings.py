"""Strings that are longer than strsize are counted and reported, on both engines; those that just fit are not."""

import os
import warnings

import pytest

import pyusdt
from tests.support.kernel_harness import DATA, compile_c, pydtrace

FITS = 15  # of strsize=16


@pytest.fixture(params=["embedded", "kernel"])
def engine(request):
    if request.param == "kernel":
        request.getfixturevalue("bpf")
    return request.param


def warnings_of(engine, script, *texts, strsize=FITS + 1):
    """(values of the records, what was reported)"""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pyusdt.trace(script, pid=os.getpid(), engine=engine, strsize=strsize) as t:
            for text in texts:
                pyusdt.p(1, text)
    return [rec.values for rec in t], [str(each.message) for each in caught]


@pytest.mark.parametrize("read", ["copyinstr(arg6)", "stringof(arg6)", "copyinstr(arg6, 99)"])
@pytest.mark.parametrize(
    "length, cut", [(FITS - 1, False), (FITS, False), (FITS + 1, True), (900, True)]
)
def test_a_string_that_goes_on_is_reported(engine, read, length, cut):
    values, told = warnings_of(
        engine, f"pyusdt*:::user_trace-i4s4 {{ trace({read}); }}", "x" * length
    )
    assert values == [("x" * min(length, FITS),)]
    assert told == ["1 string was cut to 15 bytes: -x strsize=32 has room for more"] * cut


def test_keys_count_as_well(engine):
    _, told = warnings_of(
        engine,
        "pyusdt*:::user_trace-i4s4 { @[copyinstr(arg6)] = count(); }",
        "x" * 16,
        "x" * 15,
        "y" * 17,
    )
    assert told == ["2 strings were cut to 15 bytes: -x strsize=32 has room for more"]


@pytest.mark.parametrize(
    "behind, cut", [("y" * (FITS - 4), False), ("y" * (FITS - 3), True), ("", False)]
)
def test_strings_that_are_joined(engine, behind, cut):
    script = f'pyusdt*:::user_trace-i4s4 {{ trace(strjoin(copyinstr(arg6), "{behind}")); }}'
    values, told = warnings_of(engine, script, "four")
    assert values == [(("four" + behind)[:FITS],)]
    assert told == ["1 string was cut to 15 bytes: -x strsize=32 has room for more"] * cut


def test_a_bound_of_the_script_cuts_nothing(engine):
    assert warnings_of(
        engine, "pyusdt*:::user_trace-i4s4 { trace(copyinstr(arg6, 8)); }", "x" * 30
    ) == ([("x" * 7,)], [])


def test_a_string_as_long_as_an_event_holds_may_be_cut(engine):
    """The process has cut it.  The kernel engine says nothing: most strings that long are foreign programs', whole."""
    values, told = warnings_of(
        engine,
        "pyusdt*:::user_trace-i4s4 { trace(strlen(copyinstr(arg6))); }",
        "x" * 1019,
        "x" * 5000,
        strsize=2048,
    )
    assert values == [(1019,), (1023,)]
    assert told == [
        "1 string has the 1023 bytes that an event holds at most, or up to 3 less, and may be cut"
    ] * (engine == "embedded")


@pytest.mark.parametrize(
    "clause, wanted",
    [
        ('printf("%s|%s", copyinstr(arg6), stringof(arg6))', 2),
        ("self->a = copyinstr(arg6); this->b = self->a; trace(this->b)", 1),
        ("@[copyinstr(arg6)] = count()", None),
    ],
)
def test_the_largest_strsize(engine, clause, wanted):
    """What a clause keeps of such strings is more than a per-CPU map's value may be, and more than the offsets of loads reach."""
    text = "x" * 1000
    with pyusdt.trace(
        f"pyusdt*:::user_trace-i4s4 {{ {clause}; }}",
        pid=os.getpid(),
        engine=engine,
        strsize="64k",
        aggsize="16m",
    ) as t:
        pyusdt.p(1, text)
    if wanted:
        assert [rec.values for rec in t] == [(text,) * wanted]
    else:
        assert dict(t.aggregations["_"].items()) == {(text,): 1}


def test_long_strings_of_a_foreign_program(bpf, tmp_path):
    program = compile_c(os.path.join(DATA, "long_text.c"), tmp_path / "long_text")
    for length in (60_000, 65_535):
        out, err, status = pydtrace(
            "-q",
            "-x",
            "strsize=64k",
            "-n",
            'long$target:::text { printf("%s", copyinstr(arg0)); }',
            "-c",
            f"{program} {length}",
        )
        assert (out.strip(), err, status) == ("x" * length, "", 0)
    out, err, status = pydtrace(
        "-q",
        "-x",
        "strsize=64k",
        "-n",
        'long$target:::text { printf("%s", copyinstr(arg0)); }',
        "-c",
        f"{program} 70000",
    )
    assert (len(out.strip()), err, status) == (
        65_535,
        "dtrace: 1 string was cut to 65535 bytes\n",
        0,
    )


def test_lengths_and_parts_of_long_strings(bpf, tmp_path):
    """A loop over each byte of such a string is more than the kernel's verifier looks at."""
    program = compile_c(os.path.join(DATA, "long_text.c"), tmp_path / "long_text")
    script = """long$target:::text { this->a = copyinstr(arg0);
        printf("%d %d %s", strlen(this->a), strlen(strjoin(this->a, "abc")), substr(this->a, 59990, 20)); }"""
    assert pydtrace("-q", "-x", "strsize=64k", "-n", script, "-c", f"{program} 60000") == (
        "60000 60003 " + 10 * "x" + "\n",
        "",
        0,
    )
