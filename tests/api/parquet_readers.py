"""Reads what `pydtrace --parquet FILE` wrote, by pandas or by DuckDB, and prints what it found as JSON.

    python parquet_readers.py pandas|duckdb FILE

Output: {"records": {"types": {column: type}, "rows": [...]}, "aggregations": ..., "asked": the
answer to a question that the reader itself has worked out}.

- Rows are in the files' order, values as the reader has them, empty ones null.
"""

import json
import os
import sys


def by_pandas(records, aggregations):
    import pandas

    found = [pandas.read_parquet(path) for path in (records, aggregations)]
    tables = []
    for frame in found:
        shown = frame.astype(object).where(frame.notna(), None)
        rows = [
            {
                name: list(value)
                if hasattr(value, "tolist") and value.__class__.__name__ == "ndarray"
                else value
                for name, value in row.items()
            }
            for row in shown.to_dict("records")
        ]
        tables.append(
            {"types": {name: str(type) for name, type in frame.dtypes.items()}, "rows": rows}
        )
    counts = found[1][found[1]["aggregation"] == "calls"]
    asked = {key: int(rows["value"].sum()) for key, rows in counts.groupby(counts["keys"].str[0])}
    return *tables, asked


def by_duckdb(records, aggregations):
    import duckdb

    tables = []
    for path in (records, aggregations):
        types = {
            row[0]: row[1] for row in duckdb.sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
        }
        rows = [dict(zip(types, row)) for row in duckdb.sql(f"SELECT * FROM '{path}'").fetchall()]
        tables.append({"types": types, "rows": rows})
    asked = duckdb.sql(
        f"SELECT keys[1], sum(value) FROM '{aggregations}' WHERE aggregation = 'calls' GROUP BY keys[1]"
    ).fetchall()
    return *tables, {key: int(total) for key, total in asked}


def main():
    reader, path = sys.argv[1:]
    base, ending = os.path.splitext(path)
    records, aggregations, asked = {"pandas": by_pandas, "duckdb": by_duckdb}[reader](
        path, f"{base}.aggregations{ending}"
    )
    print(
        json.dumps({"records": records, "aggregations": aggregations, "asked": asked}, default=int)
    )


if __name__ == "__main__":
    main()
