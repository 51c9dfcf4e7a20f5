"""Wheels get the extensions of the other wheels of their platform."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.support.paths import ROOT

RECORD = "pydtrace-1.dist-info/RECORD"


def make_wheel(folder, version: str, platform: str) -> str:
    tag = version.removesuffix("t")
    path = folder / f"pydtrace-1-cp{tag}-cp{version}-{platform}.whl"
    name = f"pyusdt/_core.cpython-{version}-x86_64-linux-gnu.so"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("pyusdt/__init__.py", "")
        wheel.writestr(name, version * 1000)
        wheel.writestr(RECORD, f"pyusdt/__init__.py,,\n{name},,\n{RECORD},,\n")
    return str(path)


def test_of_one_platform(tmp_path):
    linux = [make_wheel(tmp_path, each, "manylinux_2_28_x86_64") for each in ("310", "313", "313t")]
    other = make_wheel(tmp_path, "311", "musllinux_1_2_x86_64")
    before = Path(other).read_bytes()
    command = [sys.executable, os.path.join(ROOT, ".ci", "merge-extensions"), str(tmp_path)]
    for _ in range(2):  # again: nothing more
        subprocess.run(command, check=True, capture_output=True)
    assert Path(other).read_bytes() == before
    for path in linux:
        with zipfile.ZipFile(path) as wheel:
            names = wheel.namelist()
            rows = [row[0] for row in csv.reader(io.StringIO(wheel.read(RECORD).decode())) if row]
            assert sorted(names) == sorted(rows) and len(names) == len(set(names)) == 5
            assert wheel.testzip() is None
            assert wheel.read("pyusdt/_core.cpython-313t-x86_64-linux-gnu.so") == b"313t" * 1000
