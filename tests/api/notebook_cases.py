"""Tracing in a notebook: tables with names, types and units, pictures, and the live page, in a real kernel (nbclient, ipykernel).

tests/api/test_notebook.py runs this where the packages are that it needs.
"""

import json
import os
import re
import sys

import pytest

import pyusdt
from pyusdt import vm
from pyusdt._core import vm_apply_demand

SCRIPT = """pyusdt*:::user_trace-i4s4 { printf("route=%s us=%d", copyinstr(arg6), arg2); @n[copyinstr(arg6)] = count();
    @lat[copyinstr(arg6), pid] = quantize(arg2); @fine[copyinstr(arg6)] = percentiles(arg2); @mean = avg(arg2); }"""
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def traced():
    with pyusdt.trace(SCRIPT, pid=os.getpid(), pyusdt=True) as t:
        assert repr(t).startswith(
            f"<pyusdt.Tracing of process {os.getpid()} by the embedded engine: running, "
        )
        for us, route in ((5, "/a"), (900, "/a"), (70, HOSTILE)):
            pyusdt.p(us, route)
    return t


def test_repr(traced):
    text = repr(traced)
    assert text.endswith("aggregations: @n, @lat, @fine, @mean, 0 lost>") and ": over, " in text
    assert (
        repr(pyusdt.trace("BEGIN", cmd=["true", "a b"]))
        == "<pyusdt.Tracing of the command true 'a b': not begun>"
    )
    assert repr(pyusdt.trace("BEGIN", all=True)) == "<pyusdt.Tracing of all processes: not begun>"


def test_aggregations_as_tables(traced):
    counts = traced.aggregations["n"].to_arrow(["route"])
    assert (
        counts.schema.names == ["route", "n", "value"]
        and str(counts.schema.field("value").type) == "int64"
    )
    assert {row["route"]: row["value"] for row in counts.to_pylist()} == {"/a": 2, HOSTILE: 1}
    buckets = traced.aggregations["lat"].to_arrow(unit="us")
    assert (
        buckets.schema.names == ["key1", "key2", "n", "low", "high", "count"]
        and str(buckets.schema.field("key2").type) == "int64"
    )
    assert (
        buckets.schema.field("low").metadata == {b"unit": b"us"}
        and buckets.schema.field("count").metadata is None
    )
    assert [row for row in buckets.to_pylist() if row["low"] == 512] == [
        {"key1": "/a", "key2": os.getpid(), "n": 2, "low": 512, "high": 1023, "count": 1}
    ]
    (row,) = [
        row for row in traced.aggregations["fine"].to_arrow().to_pylist() if row["key1"] == "/a"
    ]
    assert (row["p50"], row["max"]) == (5, 900)
    with pytest.raises(ValueError, match="has 1 keys, and 2 names"):
        traced.aggregations["n"].to_arrow(["a", "b"])


def test_records_as_a_table(traced):
    with pyusdt.trace(SCRIPT, pid=os.getpid(), pyusdt=True) as t:
        pyusdt.p(7, "/x")
    table = t.to_arrow()
    assert table.schema.names == [
        "time",
        "cpu",
        "pid",
        "tid",
        "provider",
        "module",
        "function",
        "name",
        "route",
        "us",
    ]
    assert table.schema.field("time").metadata == {b"unit": b"ns"}
    assert [(row["route"], row["us"]) for row in table.to_pylist()] == [("/x", 7)]
    assert t.to_arrow().num_rows == 0, "they were taken"


def test_pandas_and_polars(traced):
    frame = traced.aggregations["n"].to_pandas(["route"], unit="calls")
    assert (
        str(frame["value"].dtype) in ("Int64", "int64")
        and frame.set_index("route")["value"]["/a"] == 2
    )
    assert frame.attrs["units"] == {"value": "calls"}
    assert traced.aggregations["n"].to_polars(["route"]).filter(route="/a")["value"].to_list() == [
        2
    ]


def test_pictures(traced, tmp_path):
    import xml.dom.minidom

    for name in ("n", "lat", "fine", "mean"):
        picture = traced.aggregations[name].plot()
        xml.dom.minidom.parseString(picture.svg)
        assert HOSTILE not in picture.svg and picture._repr_html_() == picture.svg
    picture.save(str(tmp_path / "a.svg"))
    assert (tmp_path / "a.svg").read_text() == picture.svg
    assert "&lt;script&gt;" in traced.aggregations["n"].plot().svg


def test_without_the_packages(traced, monkeypatch):
    for name, call in (
        ("pyarrow", traced.aggregations["n"].to_arrow),
        ("pandas", traced.aggregations["n"].to_pandas),
        ("anywidget", traced.live),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, name, None)
            with pytest.raises(ImportError, match="pip install"):
                call()


class Shell:
    """What the magic wants of IPython's shell."""

    def __init__(self):
        self.magics, self.variables, self.cells = {}, {}, []

    def register_magic_function(self, function, kind, name):
        self.magics[kind, name] = function

    def push(self, variables):
        self.variables.update(variables)

    def run_cell(self, text):
        exec(text, {"pyusdt": pyusdt, "__name__": "__main__"})  # noqa: S102 - a cell of the test
        return self

    def raise_error(self):
        pass


def load_magic():
    shell = Shell()
    pyusdt.load_ipython_extension(shell)
    return shell, shell.magics["cell", "pydtrace"]


def test_the_magic_traces_a_cell(capsys):
    shell, run = load_magic()
    script = "pyusdt$target:::user_trace-i4s4 { @n[copyinstr(arg6)] = count(); }"
    found = run(f"-n '{script}' -o kept --pandas", 'pyusdt.p(5, "/a")\npyusdt.p(6, "/a")')
    assert shell.variables == {"kept": found}
    assert {key: int(value) for key, value in found.aggregations["n"].items()} == {("/a",): 2}
    assert "@n" in capsys.readouterr().out


def test_the_magic_runs_a_script(capsys):
    _, run = load_magic()
    found = run("-s 30 -x strsize=64", 'BEGIN { @ = count(); printf("begun\\n"); exit(0); }')
    assert found.aggregations[""].function == "count"
    assert "@ = count()" in capsys.readouterr().out
    found = run("-c true", "BEGIN { @ran = count(); }")
    assert len(found.aggregations["ran"]) == 1


@pytest.mark.parametrize("line", ["-n x -p 1", "-z", "-p x", "--pandas --polars"])
def test_wrong_options_of_the_magic(line):
    _, run = load_magic()
    with pytest.raises(ValueError, match="%%pydtrace .*the cell is a script in D|(?s:%%pydtrace)"):
        run(line, "BEGIN { x = 1; }")


CALLS = """
def price(goods, factor):
    return goods * factor

price(2, 3)
try:
    price([], {})
except TypeError:
    pass
"""


def test_the_calls_of_a_cell(capsys):
    """From the first one on, though the provider was not enabled in this kernel; it is not afterwards."""
    shell, _ = load_magic()
    run = shell.magics["line_cell", "pyusdt"]
    kept = run("watch price -o kept", CALLS)
    first, second = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"price\(goods=2, factor=3\) = 6  \d+ us", first), first
    assert re.fullmatch(
        r"price\(goods=\[\], factor=\{\}\) raised TypeError\(.*\)  \d+ us", second
    ), second
    assert shell.variables == {"kept": kept} and not vm.is_enabled()
    run("watch price --where 'local.factor == 3' --calls", CALLS)
    assert capsys.readouterr().out == "price(goods=2, factor=3)\n"


def test_a_provider_that_was_switched_off_stays_off(capsys):
    """For trace() of this process, and after a cell that has needed it."""
    shell, _ = load_magic()
    vm.enable(sites=False)
    vm.disable()
    try:
        with pyusdt.trace("python$target:::function-entry { @ = count(); }", pid=os.getpid()) as t:
            exec(CALLS, {"__name__": "__main__"})  # noqa: S102 - a cell of the test
            t.flush()
        assert not t.aggregations[""]
        shell.magics["line_cell", "pyusdt"]("watch price", CALLS)
        assert capsys.readouterr().out.count("price(") == 2 and not vm_apply_demand()
    finally:
        vm.withdraw()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("watch", "required: function"),
        ("look price", "invalid choice: 'look'"),
        ("watch 'a b' -p 1", "'a b'"),
        ("watch price", "a line needs -p PID"),
        ("watch price -p 1 --calls --where 'retval == 1'", "--calls prints"),
    ],
)
def test_wrong_options_of_watch(line, message):
    shell, _ = load_magic()
    with pytest.raises(ValueError, match="%pyusdt watch") as caught:
        shell.magics["line_cell", "pyusdt"](line, None)
    assert message in str(caught.value)


NOTEBOOK = f"""
import os, time
import pyusdt
t = pyusdt.trace({SCRIPT!r}, pid=os.getpid(), pyusdt=True).__enter__()
pyusdt.p(5, "/a")
widget = t.live(0.1)
widget
---
end = time.monotonic() + 30
while "/a" not in widget.state:
    assert time.monotonic() < end, widget.state
    time.sleep(0.05)
print("seen")
---
t.aggregations["n"].plot()
---
t.aggregations["lat"]
---
t.__exit__(None, None, None)
while '"ended":true' not in widget.state:
    assert time.monotonic() < end, widget.state
    time.sleep(0.05)
print(repr(t))
"""


def test_in_a_notebook(tmp_path):
    import nbclient
    import nbformat

    cells = [nbformat.v4.new_code_cell(cell.strip()) for cell in NOTEBOOK.split("---\n")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata.kernelspec = {
        "name": "python3",
        "display_name": "python3",
        "language": "python",
    }
    nbclient.NotebookClient(
        notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown, seen, plot, table, over = (cell.outputs for cell in notebook.cells)
    assert "application/vnd.jupyter.widget-view+json" in shown[0]["data"], shown
    assert seen[0]["text"] == "seen\n"
    assert (
        plot[0]["data"]["text/html"].startswith("<svg")
        and "<table>" in table[0]["data"]["text/html"]
    )
    assert over[-1]["text"].startswith("<pyusdt.Tracing of process ")
    (model,) = [
        each
        for each in notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"][
            "state"
        ].values()
        if "state" in each.get("state", {})
    ]
    assert json.loads(model["state"]["state"])["panels"][0]["name"] == "n"
    assert "sandbox" in model["state"]["_esm"] and "<canvas" not in model["state"]["page"]
