"""--parquet, of made-up records."""

from __future__ import annotations

import pytest

from pydtrace.driver.sink import TraceInfo
from pydtrace.options import Options
from pydtrace.sinks.parquet_sink import ParquetSink
from tests.support.made_up.sink_feeder import TOLD, Acts, feed, record


def test_parquet(program, output, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    output_, notify, written, told = output
    feed(program, ParquetSink(output_, notify, str(tmp_path / "x.parquet")))
    assert [
        (row["who"], row["n"], row["7"])
        for row in parquet.read_table(tmp_path / "x.parquet").to_pylist()
    ] == [("me", 5, None), (None, None, 7)]
    (row,) = parquet.read_table(tmp_path / "x.aggregations.parquet").to_pylist()
    assert (row["aggregation"], row["keys"], row["value"]) == ("a", ["1"], 4)
    assert written() == b"<clear>"
    assert told == TOLD


def test_parquet_is_whole_where_tracing_breaks_off(program, output, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    sink = ParquetSink(*output[:2], str(tmp_path / "x.parquet"))
    sink.begin(TraceInfo(program, Options(), Acts(sink), lambda ident: ("", "", "", "x")))
    sink.records(record(program.clauses[0], b"me\0", 5))
    sink.close()
    assert parquet.read_table(tmp_path / "x.parquet")["n"].to_pylist() == [5]
