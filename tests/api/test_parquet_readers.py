"""What pandas and DuckDB find in the files of pydtrace --parquet: the types and the values, of records and of aggregations.

Both, and what they need, are installed into .venv/parquet-readers once, where nothing else sees them (parquet_readers.txt).
R's arrow is no Debian package, so R reads nothing here.
"""

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time

import pytest

from pydtrace.sinks import atomic_file
from tests.support import pip_packages

HERE = os.path.dirname(os.path.abspath(__file__))
PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")
SCRIPT = r"""
BEGIN { printf("who=%s big=%d all=%u real=%f", "zw\303\266lf", -9007199254740993, (uint64_t)-1, 2.5); ustack(2); }
BEGIN { trace("\377"); printf("big=%d", 7); }
BEGIN { @calls["get", 1] = sum(5); @calls["get", 2] = sum(-9007199254740993); @calls["put \303\244", 1] = sum(3); }
BEGIN { @size = quantize(100); @size = quantize(-1); @line["x"] = lquantize(99, 0, 10, 5); @p = percentiles(5000); @mean = avg(2.25); exit(0); }
"""
STR = "str" if sys.version_info >= (3, 11) else "object"  # by the pandas of parquet_readers.txt
TYPES = {  # of the columns of records: {name: (pandas', DuckDB's)}; pandas' own integers may be missing, NumPy's would be floats
    "time": ("UInt64", "UBIGINT"),
    "cpu": ("UInt32", "UINTEGER"),
    "pid": ("UInt32", "UINTEGER"),
    "tid": ("UInt32", "UINTEGER"),
    "provider": (STR, "VARCHAR"),
    "name": (STR, "VARCHAR"),
    "who": (STR, "VARCHAR"),
    "big": ("Int64", "BIGINT"),
    "all": ("UInt64", "UBIGINT"),
    "real": ("float64", "DOUBLE"),
    "ustack(2)": (STR, "VARCHAR"),
}
AGGREGATION_TYPES = {
    "aggregation": (STR, "VARCHAR"),
    "function": (STR, "VARCHAR"),
    "keys": ("object", "VARCHAR[]"),
    "n": ("Int64", "BIGINT"),
    "value": ("Int64", "BIGINT"),
    "real": ("float64", "DOUBLE"),
    "low": ("Int64", "BIGINT"),
    "high": ("Int64", "BIGINT"),
    "count": ("Int64", "BIGINT"),
    "percent": ("float64", "DOUBLE"),
}


@pytest.fixture(scope="module")
def readers():
    """The folder that pandas and DuckDB are in."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("host: DuckDB has no wheel for a CPython without the GIL")
    if sys.version_info >= (3, 15):
        pytest.skip("host: the pandas of parquet_readers.txt has no wheel for CPython 3.15")
    return pip_packages.folder_of(os.path.join(HERE, "parquet_readers.txt"))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("parquet") / "t.parquet")
    subprocess.run(
        [PYDTRACE, "-q", "-x", "pyusdt", "--parquet", path, "-n", SCRIPT], check=True, timeout=30
    )
    return path


@pytest.mark.parametrize("which, reader", enumerate(["pandas", "duckdb"]))
def test_reads_types_and_values(readers, files, which, reader):
    done = subprocess.run(
        [sys.executable, os.path.join(HERE, "parquet_readers.py"), reader, files],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": readers},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for table, wanted in (("records", TYPES), ("aggregations", AGGREGATION_TYPES)):
        assert {name: found[table]["types"][name] for name in wanted} == {
            name: types[which] for name, types in wanted.items()
        }

    first, second = found["records"]["rows"]
    assert (first["who"], first["all"], first["real"], second["who"]) == (
        "zwölf",
        2**64 - 1,
        2.5,
        None,
    )
    assert (first["provider"], first["name"]) == ("dtrace", "BEGIN")
    assert first["big"] == -9007199254740993
    assert second["big"] == 7
    assert first["time"] <= second["time"]
    assert len(json.loads(first["ustack(2)"])) == 2

    rows = {
        (row["aggregation"], *row["keys"], row["low"]): row for row in found["aggregations"]["rows"]
    }
    assert rows["mean", None]["real"] == 2.25
    assert {key: row["value"] for key, row in rows.items() if row["aggregation"] == "calls"} == {
        ("calls", "get", "1", None): 5,
        ("calls", "get", "2", None): -9007199254740993,
        ("calls", "put ä", "1", None): 3,
    }
    assert [
        (rows["size", low]["high"], rows["size", low]["count"], rows["size", low]["n"])
        for low in (-1, 64)
    ] == [(-1, 1, 2), (127, 1, 2)]
    assert (rows["line", "x", 10]["high"], rows["line", "x", 10]["count"]) == (None, 1)
    assert {
        row["percent"]: row["value"]
        for row in found["aggregations"]["rows"]
        if row["aggregation"] == "p" and row["low"] is None
    } == {50: 5000, 90: 5000, 99: 5000, 99.9: 5000, 100: 5000}
    assert (rows["p", 4992]["high"], rows["p", 4992]["count"]) == (5055, 1)
    assert found["asked"] == {"get": -9007199254740988, "put ä": 3}


def parquet(tmp_path, *scripts):
    """What pydtrace --parquet did, and the columns of the file, where it succeeded."""
    path = tmp_path / "t.parquet"
    words = [word for script in scripts for word in ("-n", script)]
    done = subprocess.run(
        [PYDTRACE, "-q", "--parquet", str(path), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    pq = pytest.importorskip("pyarrow.parquet")
    return done, pq.read_table(path).to_pydict() if done.returncode == 0 else None


def test_values_whose_names_repeat(tmp_path):
    """Of a record, with those of the fixed columns, and with a name that looks like a number's."""
    done, found = parquet(
        tmp_path,
        'BEGIN { printf("a=%d a=%d a_2=%d name=%s pid=%d", 1, 2, 3, "x", -5); }',
        'BEGIN { printf("a=%d a=%d", 7, 8); exit(0); }',
    )
    assert done.returncode == 0, done.stderr
    assert [found[name] for name in ("a", "a_3", "a_2", "name_2", "pid_2")] == [
        [1, 7],
        [2, None],
        [3, 8],
        ["x", None],
        [-5, None],
    ]
    assert found["name"] == ["BEGIN", "BEGIN"] and all(pid > 0 for pid in found["pid"])


def test_bytes_that_are_no_utf_8(tmp_path):
    """Two strings are two, in a value and in a key; what is UTF-8 stays as it is."""
    done, found = parquet(
        tmp_path,
        r'BEGIN { printf("s=%s", "\377"); @[ "\377" ] = count(); @[ "\376" ] = count(); }',
        r'BEGIN { printf("s=%s", "\376"); printf("t=%s", "z\303\266lf"); exit(0); }',
    )
    assert (
        done.returncode == 0
        and found["s"] == ['{"hex": "ff"}', '{"hex": "fe"}']
        and found["t"] == [None, "zölf"]
    ), (done, found)
    keys = (
        pytest.importorskip("pyarrow.parquet")
        .read_table(tmp_path / "t.aggregations.parquet")
        .to_pydict()["keys"]
    )
    assert sorted(keys) == [['{"hex": "fe"}'], ['{"hex": "ff"}']]


RUNS = 'tick-20ms { @ = count(); printf("n=%d", ++n); }'


def test_the_file_comes_to_its_place_when_it_is_whole(tmp_path):
    """One that was there stays while it is written, and where pydtrace is killed; a link goes on to be one."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "old").write_text("old")
    (tmp_path / "t.parquet").symlink_to("other/old")
    for end in ("kill", "interrupt"):
        process = subprocess.Popen(
            [PYDTRACE, "-q", "--parquet", str(tmp_path / "t.parquet"), "-n", RUNS]
        )
        while not list((tmp_path / "other").glob(f"old.{process.pid}.*.part")):
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.1)
        assert (tmp_path / "t.parquet").read_text() == "old"
        process.send_signal(signal.SIGKILL if end == "kill" else signal.SIGINT)
        process.wait(timeout=30)
    assert (tmp_path / "t.parquet").is_symlink()
    assert pytest.importorskip("pyarrow.parquet").read_table(
        tmp_path / "other" / "old"
    ).to_pydict()["n"][:2] == [1, 2]
    assert not list((tmp_path / "other").glob(f"old.{process.pid}.*.part"))


@pytest.mark.parametrize(
    "path, why",
    [("/dev/full", "No space left on device"), ("/nonexistent/x", "No such file or directory")],
)
def test_a_file_that_can_not_be_written_is_named(path, why):
    done = subprocess.run(
        [PYDTRACE, "-q", "--parquet", path, "-n", "BEGIN { trace(1); exit(0); }"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, f"dtrace: failed to write to {path}: {why}\n")
    assert os.path.exists(path) == (path == "/dev/full") and not os.path.isfile(path)


def test_a_full_disk(tmp_path):
    """Nothing of the file stays, and the one that was there is as it was."""
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], check=True)
    try:
        (tmp_path / "t.parquet").write_text("old")
        wide = " ".join(f"v{n}=%s" for n in range(30))
        values = ", ".join(["strjoin(probename, lltostr(rand()))"] * 30)
        done, _ = parquet(
            tmp_path,
            f'tick-1ms {{ printf("{wide}", {values}); }} tick-1ms /++n > 300/ {{ exit(0); }}',
        )
        assert (done.returncode, done.stderr) == (
            1,
            f"dtrace: failed to write to {tmp_path}/t.parquet: No space left on device\n",
        )
        assert not list(tmp_path.glob("*.part")) and (tmp_path / "t.parquet").read_text() == "old"
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


def test_what_it_is_written_to_meanwhile_can_not_be_foreseen(tmp_path):
    """In a folder that others may write in, a link of theirs would be followed."""
    place = tmp_path / "t.parquet"
    ours = {atomic_file.AtomicFile(str(place)).create_file() for _ in range(3)}
    assert len(ours) == 3 and all(os.path.isfile(each) for each in ours)


def test_a_link_in_its_place_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic_file.secrets, "token_hex", lambda size: "0" * (2 * size))
    (tmp_path / f"t.parquet.{os.getpid()}.00000000.part").symlink_to(tmp_path / "others")
    with pytest.raises(FileExistsError):
        atomic_file.AtomicFile(str(tmp_path / "t.parquet")).create_file()
    assert not (tmp_path / "others").exists()
