"""The API's types: what the manual shows passes mypy --strict, and mistakes are type errors."""

import os
import re
import subprocess
import sys
from typing import get_type_hints

import pytest

from pydtrace import options
from pydtrace.consumer import trace_keywords
from tests.support.paths import ROOT

pytest.importorskip("mypy", reason="mypy is not here")
WRONG = """
import pyusdt
pyusdt.trace("x", pid=1, bufsise="4m")
pyusdt.trace("x", pid=1, buffer="4m")
pyusdt.watch("x", pidd=1)
pyusdt.atrace("x", al=True)
with pyusdt.trace("x", pid=1) as t:
    t.nope
    for rec in t:
        rec.nope
"""
RIGHT = """
from typing import assert_type
import pyusdt

async def main() -> None:
    async with pyusdt.awatch("user_trace-i4s4", pid=1, where="arg2 > 1", engine="embedded") as t:
        assert_type(t, pyusdt.AsyncTracing)
        async for record in t:
            assert_type(record, pyusdt.Record)
            assert_type(record.time, int)

with pyusdt.trace("x", 1, "b", all=True, zdefs=True, bufsize="4m", strsize=64, keep="k", on_record=print) as t:
    assert_type(t, pyusdt.Tracing)
    assert_type(next(t), pyusdt.Record)
    assert_type(t.aggregations["x"], pyusdt.Aggregation)
    histogram: pyusdt.Histogram = t.aggregations["x"]["k"]
    assert_type(histogram.n, int)

@pyusdt.tag("x")
def function(a: int) -> str:
    return str(a)

assert_type(function(1), str)
order = pyusdt.Provider("shop").probe("order", number=int)
order(number=1)
"""


def check(folder, **texts):
    """mypy's lines about these modules, in one run: it reads the package once."""
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    environment = {**os.environ, "MYPYPATH": os.path.join(ROOT, "src")}
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--no-error-summary",
            "--cache-dir",
            str(folder / "cache"),
            "--follow-imports",
            "silent",
            "--ignore-missing-imports",
            *(f"{name}.py" for name in texts),
        ],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    ).stdout


def examples():
    with open(os.path.join(ROOT, "docs", "reference", "api.md"), encoding="utf-8") as file:
        return re.findall(r"^```python[^\n]*\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)


def test_what_is_right_has_no_errors_and_what_is_wrong_has(tmp_path):
    assert len(examples()) >= 3
    shown = [
        f"def example_{i}() -> None:\n" + "".join(f"    {line}\n" for line in text.splitlines())
        for i, text in enumerate(examples())
    ]
    found = check(tmp_path, right=RIGHT + "\n\n" + "\n\n".join(shown), wrong=WRONG)
    wrong = {
        (name, int(line))
        for name, line in re.findall(r"^(\w+)\.py:(\d+): error", found, re.MULTILINE)
    }
    assert wrong == {("wrong", line) for line in (3, 4, 5, 6, 8, 10)}, found


def test_the_options_are_those_that_there_are():
    refused = {name for names in options._REFUSED.values() for name in names.split()}
    assert set(trace_keywords.OptionKeywords.__annotations__) == set(options.PARSERS) - refused - {
        "engine"
    }
    assert get_type_hints(trace_keywords.OptionKeywords)
