"""What an aggregation is as a metric: the lines that say so, and what is wrong with others."""

from decimal import Decimal
from types import SimpleNamespace

import pytest

from pydtrace.dlang.builtins.registry import AGGREGATIONS
from pydtrace.dlang.compile import Compiler, default_macros
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.options import Options
from pydtrace.sinks.metrics import metric_config
from pydtrace.sinks.metrics.metric_config import MetricConfigError


def definition(name, function="count", keys=1):
    return SimpleNamespace(name=name, row=AGGREGATIONS[function], keys=[None] * keys)


SCRIPT = [
    definition("calls"),
    definition("lat", "quantize"),
    definition("total", "sum"),
    definition("_", "max", 0),
]


def read(*lines):
    return metric_config.read_specs(
        [(f"file:{number}", line) for number, line in enumerate(lines, 1)], SCRIPT
    )


def test_a_whole_line():
    found = read(
        'lat name=shop_time unit=seconds multiplier=1e-9 labels=route sum=total buckets=1..1000 help="Time of a \\"request\\""'
    )["lat"]
    assert (found.name, found.unit, found.multiplier, found.labels) == (
        "shop_time",
        "seconds",
        Decimal("1e-9"),
        ["route"],
    )
    assert (found.sum, found.buckets, found.help) == ("total", (1, 1000), 'Time of a "request"')


def test_names():
    assert set(read("@calls name=a", "@ name=b", "total type=counter")) == {"calls", "_", "total"}
    assert read("calls name=shop_calls_total")["calls"].name == "shop_calls"


def test_what_is_left_open():
    made, unmapped = metric_config.complete_specs(
        read("lat unit=seconds sum=total"), SCRIPT, ["pydtrace"]
    )
    assert {name: (meaning.name, meaning.labels) for name, meaning in made.items()} == {
        "calls": ("dtrace_calls", ["key1"]),
        "lat": ("dtrace_lat_seconds", ["key1"]),
        "_": ("dtrace_aggregation", []),
    }
    assert unmapped == ["calls", "_"]
    assert made["calls"].help == "@calls = count() of a D script"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "a name of an aggregation is needed, and each quote twice"),
        ('calls help="', "a name of an aggregation is needed, and each quote twice"),
        ("call name=x", "the script has no @call, but @calls, @lat, @total, @_"),
        (
            "calls x",
            "'x': behind the aggregation stand name=…, help=…, unit=…, multiplier=…, labels=…, type=…, sum=…, buckets=…, exemplar=…",
        ),
        (
            "calls name=9x",
            "'9x' is not a metric name: letters, digits, _ and :, and the first is not a digit",
        ),
        (
            "calls name=x\u00e4",
            "'x\u00e4' is not a metric name: letters, digits, _ and :, and the first is not a digit",
        ),
        ("calls unit=s/s", "'s/s' is no unit: seconds, bytes, ratio … are"),
        *[
            (
                f"calls multiplier={bad}",
                f"multiplier={bad}: a number greater than 0 is needed, such as 1e-9",
            )
            for bad in ("x", "0", "-1", "nan", "inf", "1e999999999")
        ],
        *[
            (f"calls labels={bad}", f"'{bad}' is not a label name")
            for bad in ("le", "__x", "overflow", "a-b", "9")
        ],
        ("calls labels=a,a", "labels=a,a: a name is there twice"),
        ("calls labels=a,b", "@calls has 1 keys, and labels= names 2"),
        ("_ labels=a", "@_ has 0 keys, and labels= names 1"),
        ("calls type=counter", "type=counter is for a sum(), and @calls is a count()"),
        (
            "total type=gauge",
            "type=gauge: only a sum() that never falls needs a type, which is counter",
        ),
        ("calls sum=total", "sum= is for a distribution, and @calls is a count()"),
        ("lat sum=calls", "sum=@calls is no sum() of the script with the keys of @lat"),
        ("lat sum=none", "sum=@none is no sum() of the script with the keys of @lat"),
        ("calls buckets=1..2", "buckets= is for a histogram, and @calls is a count()"),
        (
            "lat buckets=2..1",
            "buckets=2..1: the least and the greatest value are needed, such as 1000..1000000000",
        ),
    ],
)
def test_what_is_wrong_with_a_line(line, why):
    with pytest.raises(MetricConfigError) as error:
        read("total name=first", line) if not line.startswith("total") else read("calls", line)
    assert str(error.value) == f"file:2: {why}"


def test_two_lines_and_two_names():
    with pytest.raises(MetricConfigError, match="^file:2: @calls has a line already$"):
        read("calls name=a", "@calls name=b")
    for names in (("x", "x"), ("x", "x_count"), ("x_sum", "x")):
        told = read(f"calls name={names[0]}", f"lat name={names[1]}")
        with pytest.raises(
            MetricConfigError, match=f"^@lat: there is a metric {names[1]}, or one of that name"
        ):
            metric_config.complete_specs(told, SCRIPT, [])
    with pytest.raises(MetricConfigError, match="^@calls: there is a metric pydtrace_lost"):
        metric_config.complete_specs(read("calls name=pydtrace_lost"), SCRIPT, ["pydtrace_lost"])


@pytest.mark.parametrize(
    "lines",
    [
        ("lat sum=total", "total name=x"),
        ("total name=x", "lat sum=total"),
        ("lat sum=total", "late sum=total"),
    ],
)
def test_a_sum_is_of_one_distribution(lines):
    """It has the series of that one."""
    script = [*SCRIPT, definition("late", "quantize")]
    with pytest.raises(
        MetricConfigError, match="^2: @total is the sum of one distribution, and nothing else$"
    ):
        metric_config.read_specs(
            [(str(number), line) for number, line in enumerate(lines, 1)], script
        )


def test_a_file(tmp_path):
    path = tmp_path / "m"
    path.write_text("# what it is\n\ncalls name=a\n  # more\nlat name=b\n")
    assert metric_config.read_lines(str(path)) == [
        (f"{path}:3", "calls name=a"),
        (f"{path}:5", "lat name=b"),
    ]
    path.write_bytes(b"\xff")
    with pytest.raises(MetricConfigError, match="m: it is no UTF-8$"):
        metric_config.read_lines(str(path))
    with pytest.raises(MetricConfigError, match="none: No such file or directory$"):
        metric_config.read_lines(str(tmp_path / "none"))


def compiled(text):
    options = Options()
    compiler = Compiler(options, default_macros(0))
    compiler.compile_text(text.encode(), None)
    compiler.generate_program()
    return options


def test_the_pragma():
    """The rest of the line, as it stands there."""
    options = compiled(
        '#pragma D metric calls name=a help="Größe  of \\"x\\""\n#pragma\tD metric @ name=b \nBEGIN { @calls = count(); }'
    )
    assert options["metric"] == ['calls name=a help="Größe  of \\"x\\""', "@ name=b"]


@pytest.mark.parametrize(
    "text",
    [
        "#pragma D metric\nBEGIN { }",
        "#pragma metric calls name=a\nBEGIN { @calls = count(); exit(0); }",
    ],
)
def test_no_metric(text):
    if "D metric" in text:
        with pytest.raises(CompileError) as error:
            compiled(text)
        assert error.value.tag == "D_PRAGMA_MALFORM"
    else:
        assert "metric" not in compiled(text)


@pytest.mark.parametrize("name", ["metrics", "metricstoken", "metricscert"])
def test_a_script_names_no_file(name):
    """What is wrong with it would be shown, a line of anybody's file with it."""
    with pytest.raises(CompileError, match="Option cannot be used from within a D program"):
        compiled(f"#pragma D option {name}=/etc/passwd\nBEGIN {{ }}")
