"""printf formats: what dtrace accepts, and its words for what it does not."""

import pytest

from pydtrace.program import d_types as t
from pydtrace.program import printf_format as f
from tests.support.formatter.formatter_cases import type_of

MISMATCH = (
    "printf( ) argument #2 is incompatible with conversion #1 prototype:\n"
    "\tconversion: %{}\n\t prototype: {}\n\t  argument: {}"
)
STAR_MISMATCH = (
    "printf( ) argument #2 is incompatible with conversion #1 prototype:\n"
    "\tconversion: % * d\n\t prototype: int\n\t  argument: string"
)


def refusal(source, *types, **more):
    with pytest.raises(f.FormatError) as caught:
        f.check_format(
            f.parse_format(source),
            [type_of(name) if isinstance(name, str) else name for name in types],
            **more,
        )
    return caught.value.tag, caught.value.message


def test_a_format_is_conversions_with_the_text_between():
    parsed = f.parse_format(b"a%-5.3d b%%c%*.*s\n")
    assert [(c.prefix, c.row.name) for c in parsed.conversions] == [
        (b"a", "d"),
        (b" b", "%"),
        (b"c", "s"),
    ]
    assert (parsed.tail, parsed.argument_count) == (b"\n", 4)
    first, _, last = parsed.conversions
    assert (first.flags, first.width, first.precision) == (f.LEFT, 5, 3)
    assert (last.star_width, last.star_precision, last.width, last.precision) == (True, True, 0, 0)


@pytest.mark.parametrize(
    "source, flags, width, precision",
    [
        (b"%0d", f.ZERO, 0, 0),
        (b"%-0d", f.ZERO, 0, 0),
        (b"%0-d", f.LEFT, 0, 0),
        (b"%00005d", f.ZERO, 5, 0),
        (b"%50d", 0, 50, 0),
        (b"%.05d", 0, 0, 5),
        (b"%?x", 0, 16, 0),
        (b"%+ #'d", f.PLUS | f.SPACE | f.ALT | f.GROUP, 0, 0),
    ],
)
def test_flags_and_sizes_are_read_as_dtrace_reads_them(source, flags, width, precision):
    (conversion,) = f.parse_format(source).conversions
    assert (conversion.flags, conversion.width, conversion.precision) == (flags, width, precision)


@pytest.mark.parametrize(
    "source, message",
    [
        (b"%q", "format conversion #1 is undefined: %q"),
        (b"a%", "format conversion #1 name expected before end of format string"),
        (b"%d%5%", "format conversion #2 cannot be combined with other format flags: %%"),
        (b"%1$d", "format conversion #1 uses unsupported positional format (%n$)"),
        (b"%..d", "format conversion #1 has more than one '.' specified"),
        (b"%**d", "format conversion #1 has more than one '*' specified for the output width"),
        (b"%.**d", "format conversion #1 has more than one '*' specified for the output precision"),
        (b"%hhd", "format conversion #1 is undefined: %hhd"),
        (b"%zd", "format conversion #1 is undefined: %z"),
        (b"%lllllllllld", "format conversion #1 is undefined: %lllllld"),
    ],
)
def test_what_is_no_format_has_dtrace_s_words(source, message):
    assert refusal(source) == ("D_SYNTAX", message)


@pytest.mark.parametrize(
    "source, types, tag, message",
    [
        (b"", [], "D_PRINTF_FMT_EMPTY", "printf( ) format string is empty"),
        (b"%d %d", ["int"], "D_PRINTF_ARG_PROTO",
         "printf( ) prototype mismatch: conversion #2 (%d) is missing a corresponding value argument"),
        (b"%*.*d", ["int"], "D_PRINTF_DYN_PROTO",
         'printf( ) prototype mismatch: conversion #1 (%d) is missing a corresponding ".*" argument'),
        (b"%*d", [], "D_PRINTF_DYN_PROTO",
         'printf( ) prototype mismatch: conversion #1 (%d) is missing a corresponding "*" argument'),
        (b"%*d", ["string", "int"], "D_PRINTF_DYN_TYPE", STAR_MISMATCH),
        (b"a", ["int", "int"], "D_PRINTF_ARG_EXTRA",
         "printf( ) prototype mismatch: only 0 arguments required by this format string"),
        (b"%@d", ["int"], "D_PRINTF_AGG_CONV",
         "%@ conversion requires an aggregation and is not for use with printf( )"),
        (b"%s", ["int"], "D_PRINTF_ARG_TYPE", MISMATCH.format("s", "char [] or string (or use stringof)", "int")),
        (b"%c", ["long long"], "D_PRINTF_ARG_TYPE", MISMATCH.format("c", "char, short, or int", "long long")),
        (b"%Y", ["int"], "D_PRINTF_ARG_TYPE", MISMATCH.format("Y", "int64_t", "int")),
        (b"%hx", ["int"], "D_PRINTF_ARG_TYPE", MISMATCH.format("hx", "short", "int")),
        (b"%hx", ["char"], "D_PRINTF_ARG_TYPE", MISMATCH.format("hx", "short", "char")),
        (b"%lx", ["long long"], "D_PRINTF_ARG_TYPE", MISMATCH.format("lx", "long", "long long")),
        (b"%llx", ["long"], "D_PRINTF_ARG_TYPE", MISMATCH.format("llx", "long long", "long")),
        (b"%f", ["int"], "D_PRINTF_ARG_TYPE", MISMATCH.format("f", "float, double, or long double", "int")),
        (b"%k", ["int"], "D_PRINTF_ARG_TYPE", MISMATCH.format("k", "dt_stack_t", "int")),
        (b"%p", ["string"], "D_PRINTF_ARG_TYPE", MISMATCH.format("p", "pointer or integer", "string")),
        (b"%d", [t.Pointer(t.CHAR)], "D_PRINTF_ARG_TYPE",
         MISMATCH.format("d", "char, short, int, long, or long long", "char *")),
        (b"%99999999d", ["int"], "D_UNSUPPORTED", "a width or precision over 16777215 is not supported"),
    ],
)  # fmt: skip
def test_what_does_not_fit_has_dtrace_s_tag_and_words(source, types, tag, message):
    assert refusal(source, *types) == (tag, message)


@pytest.mark.parametrize(
    "source, type",
    [(b"%lx", "int64_t"), (b"%lld", "long"), (b"%llx", "uint64_t"), (b"%hu", "unsigned short"), (b"%ld", "int64_t"),
     (b"%Y", "uint64_t"), (b"%C", "short"), (b"%p", "char"), (b"%@d", "int")],
)  # fmt: skip
def test_what_fits(source, type):
    value_types = [t.INT64] if b"@" in source else None
    f.check_format(
        f.parse_format(source), [] if value_types else [type_of(type)], value_types=value_types
    )


def test_the_action_and_the_argument_s_number_are_named():
    _, message = refusal(b"%d", "string", function="printa", first=3)
    assert message.startswith("printa( ) argument #3 is incompatible")


def test_the_index_tells_which_argument_is_wrong():
    with pytest.raises(f.FormatError) as caught:
        f.check_format(f.parse_format(b"%d %*d"), [t.INT, t.INT, t.STRING])
    assert caught.value.index == 2
