"""pydtrace --json and --parquet."""

import json
import os
import subprocess
import sys

import pytest

from pydtrace.results import arrow_tables

PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")
SCRIPT = r"""
BEGIN { trace(1); printf("who=%s big=%d", "zw\303\266lf", -9007199254740993); @q["a", 2] = quantize(100); @c = count(); }
BEGIN { trace("\377"); printa("said %@d\n", @c); zero = 0; }
BEGIN { trace(1 / zero); }
BEGIN { @a = avg(7); exit(5); }
"""


def run(*arguments):
    done = subprocess.run(
        [PYDTRACE, "-q", *arguments, "-n", SCRIPT],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 5, done.stderr
    return done


def test_json_has_everything_in_its_order():
    lines = [json.loads(line) for line in run("--json").stdout.splitlines()]
    assert [line["type"] for line in lines] == [
        "begin",
        "record",
        "record",
        "text",
        "error",
        "aggregation",
        "aggregation",
        "end",
    ]
    begin, first, second, text, error, quantize, average, end = lines
    assert (begin["schema"], begin["engine"]) == (1, "embedded")
    assert first["probe"] == {"provider": "dtrace", "module": "", "function": "", "name": "BEGIN"}
    assert (first["names"], first["values"]) == (
        ["1", "who", "big"],
        [1, "zwölf", -9007199254740993],
    )
    assert second["values"] == [{"hex": "ff"}]
    assert text["text"] == "said 1\n"
    assert "divide-by-zero" in error["message"]
    assert (quantize["name"], quantize["keys"], quantize["buckets"]) == (
        "q",
        ["a", 2],
        [[64, 127, 1]],
    )
    assert (average["function"], average["value"], average["n"]) == ("avg", 7, 1)
    assert end["status"] == 5


def test_stacks_and_names_in_both(tmp_path):
    script = "BEGIN { ustack(2); umod(ucaller); @[ustack(2)] = count(); exit(0); }"
    path = str(tmp_path / "t.parquet")
    for how in (["--json"], ["--parquet", path]):
        done = subprocess.run(
            [PYDTRACE, "-q", *how, "-n", script],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        if how == ["--json"]:
            _, record, aggregation, _ = map(json.loads, done.stdout.splitlines())
    stack, module = record["values"]
    assert [list(map(type, stack)), type(module)] == [[str, str], str]
    assert aggregation["keys"][0][0].partition("+")[0] == stack[0].partition("+")[0]
    parquet = pytest.importorskip("pyarrow.parquet")
    (shown,) = parquet.read_table(path)["ustack(2)"].to_pylist()
    assert [name.partition("`")[0] for name in json.loads(shown)] == [
        name.partition("`")[0] for name in stack
    ]
    (row,) = parquet.read_table(tmp_path / "t.aggregations.parquet").to_pylist()
    assert len(json.loads(row["keys"][0])) == 2


def test_json_goes_where_o_says(tmp_path):
    run("--json", "-o", str(tmp_path / "out"))
    assert json.loads((tmp_path / "out").read_text().splitlines()[-1])["type"] == "end"


def test_parquet_has_typed_columns(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    run("--parquet", str(tmp_path / "t.parquet"))
    table = parquet.read_table(tmp_path / "t.parquet")
    assert table["who"].to_pylist() == ["zwölf", None]
    assert (str(table.schema.field("big").type), table["big"].to_pylist()) == (
        "int64",
        [-9007199254740993, None],
    )
    assert set(table["name"].to_pylist()) == {"BEGIN"}
    rows = parquet.read_table(tmp_path / "t.aggregations.parquet").to_pylist()
    assert [
        (row["aggregation"], row["keys"], row["low"], row["high"], row["count"], row["value"])
        for row in rows
    ] == [
        ("q", ["a", "2"], 64, 127, 1, None),
        ("c", [], None, None, None, 1),
        ("a", [], None, None, None, 7),
    ]


def test_without_pyarrow_parquet_says_what_to_install(tmp_path):
    (tmp_path / "pyarrow.py").write_text("raise ImportError")
    done = subprocess.run(
        [PYDTRACE, "--parquet", str(tmp_path / "t"), "-n", "BEGIN { exit(0); }"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert (done.returncode, "pip install 'pydtrace[parquet]'" in done.stderr) == (1, True)


ODD = r"""
struct s { double a; int b[2]; double c; };
pyusdt$target:::user_trace-s1 { this->s = (struct s *)alloca(sizeof (struct s)); bcopy(copyin(arg0, 8), this->s, 8); print(this->s);
trace(this->s->a); @[copyinstr(arg0)] = max(this->s->a); }
BEGIN { @least = stddev((int64_t)0x8000000000000000); @least = stddev((int64_t)0x8000000000000000); }
BEGIN { @ends = quantize((int64_t)0x8000000000000000); @ends = quantize(0x7fffffffffffffff); printa("%@d", @least); }
"""
FIRES = r"import pyusdt; pyusdt.user_trace_s1(b'\1\1\1\1\1\1\xf8\x7f')"  # as a double: not a number


def odd(tmp_path, *arguments):
    (tmp_path / "odd.d").write_text(ODD)
    (tmp_path / "fires.py").write_text(FIRES)
    done = subprocess.run(
        [
            PYDTRACE,
            "-q",
            *arguments,
            "-x",
            "pyusdt",
            "-s",
            str(tmp_path / "odd.d"),
            "-c",
            f"{sys.executable} {tmp_path / 'fires.py'}",
        ],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def no_constant(name):
    pytest.fail(f"{name} is no JSON")


def test_odd_values_are_json(tmp_path):
    """What is no number, bytes as a key, the least of all numbers."""
    lines = [
        json.loads(line, parse_constant=no_constant)
        for line in odd(tmp_path, "--json").splitlines()
    ]
    assert [line["text"] for line in lines if line["type"] == "text"] == [str(-(1 << 63))]
    assert [line["values"] for line in lines if line["type"] == "record"] == [
        [{"a": None, "b": [0, 0], "c": 0.0}, None]
    ]
    found = {line["name"]: line for line in lines if line["type"] == "aggregation"}
    assert (found["_"]["keys"], found["_"]["value"]) == ([{"hex": "010101010101f87f"}], None)
    assert found["ends"]["buckets"] == [[-(1 << 63), -(1 << 62), 1], [1 << 62, (1 << 63) - 1, 1]]


def test_odd_values_are_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    odd(tmp_path, "--parquet", str(tmp_path / "t.parquet"))
    (shown,) = parquet.read_table(tmp_path / "t.parquet")["this->s"].to_pylist()
    assert json.loads(shown, parse_constant=no_constant) == {"a": None, "b": [0, 0], "c": 0.0}
    rows = parquet.read_table(tmp_path / "t.aggregations.parquet").to_pylist()
    assert [row["value"] for row in rows if row["aggregation"] == "least"] == [-(1 << 63)]


def test_names_that_are_not_utf8_are_text_in_parquet():
    """As those of stacks may be: files are called by bytes."""
    assert arrow_tables.to_text("lib\udcff.so`f") == r"lib\udcff.so`f"
    assert arrow_tables.to_text(("lib\udcff.so`f", b"\xff")) == r'["lib\udcff.so`f", {"hex": "ff"}]'
