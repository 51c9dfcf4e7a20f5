"""pydtrace --json and --parquet."""

import json
import os
import subprocess
import sys

import pytest

PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")
SCRIPT = r"""
BEGIN { trace(1); printf("who=%s big=%d", "zw\303\266lf", -9007199254740993); @q["a", 2] = quantize(100); @c = count(); }
BEGIN { trace("\377"); printa("said %@d\n", @c); zero = 0; }
BEGIN { trace(1 / zero); }
BEGIN { @a = avg(7); exit(5); }
"""


def run(*arguments):
    done = subprocess.run([PYDTRACE, "-q", *arguments, "-n", SCRIPT], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 5, done.stderr
    return done


def test_json_has_everything_in_its_order():
    lines = [json.loads(line) for line in run("--json").stdout.splitlines()]
    assert [line["type"] for line in lines] == [
        "begin", "record", "record", "text", "error", "aggregation", "aggregation", "end"]
    begin, first, second, text, error, quantize, average, end = lines
    assert (begin["schema"], begin["engine"]) == (1, "embedded")
    assert first["probe"] == {"provider": "dtrace", "module": "", "function": "", "name": "BEGIN"}
    assert (first["names"], first["values"]) == (["1", "who", "big"], [1, "zwölf", -9007199254740993])
    assert second["values"] == [{"hex": "ff"}]
    assert text["text"] == "said 1\n"
    assert "divide-by-zero" in error["message"]
    assert (quantize["name"], quantize["keys"], quantize["buckets"]) == ("q", ["a", 2], [[64, 127, 1]])
    assert (average["function"], average["value"], average["n"]) == ("avg", 7, 1)
    assert end["status"] == 5


def test_stacks_and_names_in_both(tmp_path):
    script = "BEGIN { ustack(2); umod(ucaller); @[ustack(2)] = count(); exit(0); }"
    path = str(tmp_path / "t.parquet")
    for how in (["--json"], ["--parquet", path]):
        done = subprocess.run([PYDTRACE, "-q", *how, "-n", script], capture_output=True, text=True, timeout=30, check=True)
        if how == ["--json"]:
            _, record, aggregation, _ = map(json.loads, done.stdout.splitlines())
    stack, module = record["values"]
    assert [list(map(type, stack)), type(module)] == [[str, str], str]
    assert aggregation["keys"][0][0].partition("+")[0] == stack[0].partition("+")[0]
    parquet = pytest.importorskip("pyarrow.parquet")
    (shown,) = parquet.read_table(path)["ustack(2)"].to_pylist()
    assert [name.partition("`")[0] for name in json.loads(shown)] == [name.partition("`")[0] for name in stack]
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
    assert (str(table.schema.field("big").type), table["big"].to_pylist()) == ("int64", [-9007199254740993, None])
    assert set(table["name"].to_pylist()) == {"BEGIN"}
    rows = parquet.read_table(tmp_path / "t.aggregations.parquet").to_pylist()
    assert [(row["aggregation"], row["keys"], row["low"], row["high"], row["count"], row["value"]) for row in rows] == [
        ("q", ["a", "2"], 64, 127, 1, None), ("c", [], None, None, None, 1), ("a", [], None, None, None, 7)]


def test_without_pyarrow_parquet_says_what_to_install(tmp_path):
    (tmp_path / "pyarrow.py").write_text("raise ImportError")
    done = subprocess.run([PYDTRACE, "--parquet", str(tmp_path / "t"), "-n", "BEGIN { exit(0); }"], capture_output=True,
                          text=True, timeout=30, check=False, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert (done.returncode, "pip install pyusdt[parquet]" in done.stderr) == (1, True)
