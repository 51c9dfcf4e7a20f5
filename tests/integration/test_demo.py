"""The demo, as root and as somebody who is not: 2,000 requests, and every count exact."""

import os
import sys

import pytest

from tests.support import harness

DEMO = os.path.join(harness.ROOT, "examples")
sys.path.insert(0, DEMO)
import demo

pytestmark = pytest.mark.xdist_group("own_tree")


def check(run: harness.Run) -> None:
    assert run.status == 0, run
    traced = demo.read_histograms(run.stdout)
    assert (sum(traced.paths.values()), sum(traced.statuses.values())) == (2000, 2000), run
    assert set(traced.paths) == set(demo.PATHS) and set(traced.statuses) == {200, 404}
    assert "drop" not in run.stderr


def test_demo():
    check(harness.run([sys.executable, os.path.join(DEMO, "demo.py")], timeout=120))


def test_whole_demo_without_root(unprivileged):
    """`make demo` in a checkout and with a .venv of his own."""
    check(unprivileged.run("make", "--no-print-directory", "demo", timeout=300))


@pytest.mark.parametrize(
    "wrong", [lambda text: text.replace("@ 1", "@ 2", 1), lambda text: text.rsplit("\n", 3)[0]]
)
def test_a_wrong_count_is_seen(wrong):
    """read_histograms counts what is printed: another count, or a missing row, changes what it finds."""
    text = """
  latency, microseconds                               /LICENSE
           value  ------------- Distribution ------------- count
              16 |                                         0
              32 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 1
              64 |                                         0

  answers with status                                             404              333
  answers with status                                             200             1667
"""
    right = demo.read_histograms(text)
    assert (right.paths, right.statuses) == ({"/LICENSE": 1}, {404: 333, 200: 1667})
    assert demo.read_histograms(wrong(text)) != right
