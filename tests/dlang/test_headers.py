"""System headers that a script includes with -C: pydtrace takes and refuses those that the real dtrace does, with its words."""

import os
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ORACLE = os.path.join(ROOT, "tests", "oracle", "oracle")
COUNT = 200  # of the 1,500 that gcc takes by themselves, in an order that is the same each time


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="host: not root")
def test_headers_that_gcc_takes(tmp_path):
    pydtrace = os.path.join(ROOT, ".venv", "bin", "pydtrace")
    script = os.path.join(HERE, "headers.sh")
    environment = {**os.environ, "ORACLE_BINDS": str(tmp_path)}
    done = subprocess.run([ORACLE, "run", "bash", script, pydtrace, str(COUNT), tmp_path], env=environment, stdout=subprocess.PIPE,
                          text=True, timeout=3600 * 3, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    print(len(rows), "headers;", sum(theirs == "exit 0" for _, theirs, _ in rows), "are taken by dtrace,",
          sum(ours == "exit 0" for _, _, ours in rows), "by pydtrace")
    assert len(rows) == COUNT
    assert [row for row in rows if row[1] != row[2]] == []
