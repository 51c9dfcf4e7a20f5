"""-x options: values, suffixes and errors as dtrace has them."""

import pytest

from pyusdt.options import PARSERS, OptionError, Options

BAD_VALUE = "Invalid value for specified option"


def value(name, text=None):
    options = Options()
    options.set(name, text)
    return options[name]


@pytest.mark.parametrize(
    "name, text, expected",
    [
        ("bufsize", "4096", 4096),
        ("bufsize", "4k", 4096),
        ("bufsize", "2M", 2 << 20),
        ("bufsize", "1g", 1 << 30),
        ("bufsize", "1T", 1 << 40),
        ("bufsize", "0x10", 16),
        ("bufsize", "010", 8),
        ("bufsize", " +5", 5),
        ("bufsize", "", 0),
        ("bufsize", "k", 0),
        ("bufsize", None, 0),
        ("strsize", "2", 2),
        ("switchrate", "10hz", 100_000_000),
        ("switchrate", "0hz", 0),
        ("switchrate", "5ms", 5_000_000),
        ("switchrate", "5MSEC", 5_000_000),
        ("switchrate", "2min", 120_000_000_000),
        ("switchrate", "1d", 86_400_000_000_000),
        ("switchrate", "7", 7),
        ("orderlag", "50us", 50_000),
        ("quiet", None, True),
        ("quiet", "", False),
        ("quiet", "NO", False),
        ("quiet", "unset", False),
        ("quiet", "yes", True),
        ("quiet", "0", True),
        ("aggsortkeypos", "2", 2),
        ("errtags", None, True),
        ("droptags", "5", True),
    ],
)
def test_values(name, text, expected):
    assert value(name, text) == expected


@pytest.mark.parametrize(
    "name, text",
    [
        ("bufsize", "abc"),
        ("bufsize", "4q"),
        ("bufsize", "4kk"),
        ("bufsize", "-1"),
        ("bufsize", "99999999999999999999"),
        ("strsize", "1"),
        ("strsize", "0"),
        ("switchrate", "10foo"),
        ("switchrate", "-5ms"),
        ("quiet", "abc"),
        ("quiet", "5x"),
        ("aggsortkeypos", "one"),
        ("errtags", "1"),
        ("zdefs", ""),
    ],
)
def test_values_that_dtrace_refuses(name, text):
    with pytest.raises(OptionError, match=BAD_VALUE):
        value(name, text)


def test_an_unknown_name_is_refused():
    with pytest.raises(OptionError, match="Invalid option name"):
        value("nosuch")


def test_every_option_takes_its_value_or_says_why_not():
    for name in PARSERS:
        try:
            Options().set(name)
        except OptionError as error:
            assert str(error), name


def test_the_environment_sets_options_and_what_is_wrong_there_is_passed_over():
    options = Options()
    options.read_environment(
        {"DTRACE_OPT_QUIET": "", "DTRACE_OPT_STRSIZE": "64", "DTRACE_OPT_BUFSIZE": "x", "DTRACE_OPT_NOSUCH": "1",
         "DTRACE_OPT_flowindent": "1", "STRSIZE": "8"}
    )  # fmt: skip
    assert options == {"quiet": False, "strsize": 64}
