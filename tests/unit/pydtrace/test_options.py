"""-x options: values, suffixes and errors as dtrace has them."""

import csv
import os
import subprocess
import sys

import pytest

import pyusdt
from pydtrace.dlang import buffer_limits
from pydtrace.dlang.compile import compile_program
from pydtrace.options import PARSERS, OptionError, Options
from tests.support.compiler import verifier
from tests.support.paths import TESTS

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
        ("iregs", "0"),
        ("iregs", "0x8"),
        ("iregs", "9"),
        ("iregs", "-1"),
        ("iregs", ""),
        ("iregs", None),
        ("tregs", ""),
        ("tregs", "0"),
        ("aggrate", "x"),
        ("aggrate", "-1"),
        ("cleanrate", "9999999999999999999999z"),
        ("amin", None),
        ("amin", "Evolving"),
        ("amin", "static/stable/common"),
        ("debugassert", "1"),
        ("debugassert", None),
        ("stackframes", ""),
        ("ustackframes", ""),
        ("jstackframes", ""),
        ("maxframes", ""),
        ("aggpercpu", "1"),
    ],
)
def test_values_that_dtrace_refuses(name, text):
    with pytest.raises(OptionError, match=BAD_VALUE):
        value(name, text)


@pytest.mark.parametrize("text", ["1", "7", "1z"])
def test_too_few_registers(text):
    with pytest.raises(OptionError, match="^Insufficient registers to generate code$"):
        value("iregs", text)


@pytest.mark.parametrize(
    "name, text, expected",
    [
        ("iregs", " 8", 8),
        ("iregs", "08", 8),
        ("tregs", "9", 9),
        ("tregs", "1z", 1),
        ("linknommap", "x", True),
        ("aggrate", "99999999999999999999", 2**63 - 1),
        ("cleanrate", "99999999999999999999hz", 0),
        ("amin", "Evolving/Evolving/Common", "evolving/evolving/common"),
        ("debugassert", "mutexes", "mutexes"),
    ],
)
def test_values_that_dtrace_takes_and_that_change_nothing(name, text, expected):
    assert value(name, text) == expected


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


# --- sizes, and what dtrace answers to them -----------------------------------------------------------------------
SCRIPT = 'BEGIN { trace("x"); self->a = 1; x[1] = 2; @ = count(); i = speculation(); printa("%@d", @); exit(0); }'
OURS = {
    (
        "strsize",
        "2147483648",
    ): "failed to set -x strsize: strings of more than 65536 bytes are not supported"
}
with open(
    os.path.join(TESTS, "unit", "dtrace_output", "sizes.tsv"),
    encoding="utf-8",
) as table:
    SIZES = list(csv.reader((line for line in table if not line.startswith("#")), delimiter="\t"))


def answer(name, text):
    """What pydtrace says of a size, "" where it traces."""
    options = Options()
    try:
        options.set(name, text)
    except OptionError as error:
        return f"failed to set -x {name}: {error}"
    words = buffer_limits.find_error(compile_program(SCRIPT, options=options))
    return f"could not enable tracing: {words}" if words else ""


@pytest.mark.parametrize("name, text, status, said", SIZES)
def test_a_size_has_dtrace_s_answer(name, text, status, said):
    assert (said == "") == (status == "0")
    assert answer(name, text) == OURS.get((name, text), said)


@pytest.mark.parametrize(
    "clause, least",
    [
        ("@ = count();", 28),
        ("@ = min(1);", 28),
        ("@ = avg(1);", 36),
        ("@ = stddev(1);", 52),
        ("@ = quantize(1);", 1036),
        ("@ = lquantize(1, 0, 10, 1);", 116),
        ("@ = llquantize(1, 10, 0, 2, 10);", 476),
        ("@[1] = count();", 32),
        ("@[1, 2] = count();", 36),
        ("@[1LL] = count();", 40),
        ("@[(char)1] = count();", 29),
        ('@["x"] = count();', 285),
        ('@["x", 1] = count();', 292),
        ("@[1] = quantize(1);", 1040),
        ("@[1] = avg(1);", 40),
    ],
)
def test_the_least_room_that_an_aggregation_needs(clause, least):
    """Asked of dtrace 2.0.7."""
    for aggsize, said in ((least, None), (least - 1, "Enabling exceeds size of buffer")):
        assert (
            buffer_limits.find_error(
                compile_program("BEGIN { " + clause + " }", options=Options({"aggsize": aggsize}))
            )
            == said
        )


@pytest.mark.parametrize(
    "clause, least",
    [
        ("s[1] = 1;", 20),
        ("s[(char)1] = (char)1;", 14),
        ("s[(short)1, (short)2] = (short)1;", 18),
        ('s["x", 1, 2] = 1;', 44),
        ('s[1] = "x";', 32),
        ("self->a[1] = 1;", 20),
        ("self->x = 1LL;", 8),
        ("self->c = (char)1;", 1),
        ('self->s = "x";', 16),
        ("s[1] = 1; self->l = 1LL;", 24),
        ("self->x = 1; @ = count();", 16),
        ("self->x = 1; @[(char)1] = count();", 17),
        ("self->x = 1; @[1, 2] = count();", 24),
        ('self->s = "x"; @ = count();', 28),
        ("@[1] = count();", 0),
    ],
)
def test_the_least_room_that_a_variable_needs(clause, least):
    """Asked of dtrace 2.0.7; the largest variable of several decides, and the largest key, of aggregations, too."""
    for dynvarsize, said in ((least, None), (least - 1, "Enabling exceeds size of buffer"))[
        : 1 + bool(least)
    ]:
        options = Options({"dynvarsize": dynvarsize, "strsize": 16})
        assert (
            buffer_limits.find_error(compile_program("BEGIN { " + clause + " }", options=options))
            == said
        )


@pytest.mark.parametrize(
    "option, said",
    [
        ("bufsize=3", ["bufsize increased to 4096"]),
        ("bufsize=4096", []),
        ("bufsize=4097", ["bufsize increased to 8192"]),
        ("bufsize=12k", ["bufsize increased to 16384"]),
        ("aggsize=7", ["aggregation size lowered to 7 "]),
        ("aggsize=8", []),
        ("specsize=1", ["speculation size lowered to 1 "]),
        ("specsize=0", []),
        ("dynvarsize=5", ["dynamic variable size lowered to 5 "]),
    ],
)
def test_sizes_that_dtrace_changes(option, said):
    """Asked of dtrace 2.0.7 with BEGIN { exit(0); }."""
    options = Options()
    options.set(*option.split("="))
    assert buffer_limits.find_changes(options) == said
    assert buffer_limits.find_changes(options, for_comparison=True) == [
        words for words in said if "lowered" not in words
    ]  # under _DTRACE_TESTING


def test_changed_sizes_are_told_in_dtrace_s_order():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from pydtrace.cli.pydtrace.main import main; main()",
            "-qx",
            "dynvarsize=1",
            "-x",
            "specsize=2",
            "-x",
            "aggsize=3",
            "-x",
            "bufsize=5000",
            "-n",
            "BEGIN { exit(0); }",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "\n")
    assert done.stderr == (
        "dtrace: bufsize increased to 8192\ndtrace: aggregation size lowered to 3 \n"
        "dtrace: speculation size lowered to 2 \ndtrace: dynamic variable size lowered to 1 \n"
    )


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
@pytest.mark.parametrize("size", ["3g", "140737488355328", "9223372036854775807"])
def test_a_buffer_without_end_is_told(engine, size):
    """It was an OverflowError, "bug in pydtrace"."""
    if engine == "kernel" and verifier.why_not_loadable():
        pytest.skip(f"host: {verifier.why_not_loadable()}")
    script = f"#pragma D option bufsize={size}\n#pragma D option engine={engine}\n{SCRIPT}"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from pydtrace.cli.pydtrace.main import main; main()",
            "-qn",
            script,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "dtrace: could not enable tracing: Memory allocation failure\nhint: -b takes 1g at most\n"
    )


def test_the_api_tells_it_too():
    with (
        pytest.raises(
            pyusdt.EngineError, match="could not enable tracing: Memory allocation failure"
        ),
        pyusdt.trace(SCRIPT, pid=os.getpid(), bufsize="3g"),
    ):
        pass
