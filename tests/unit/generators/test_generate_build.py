"""The text that says which build of pyusdt it is: version and commit, from git, from COMMIT, or unknown."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.support.harness import ROOT

GENERATOR = "c/generators/generate_build.py"


def build_text(tree) -> str:
    """What the generator writes in this tree."""
    subprocess.run([sys.executable, tree / GENERATOR], check=True)
    text = (tree / "c/generated/build.h").read_text()
    return re.search(r'PYUSDT_BUILD "(.*)"', text)[1]


@pytest.fixture
def tree(tmp_path):
    """A folder with the generator, beside no checkout."""
    for name in (GENERATOR, "c/generators/generated_file.py", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.join(ROOT, name), tmp_path / name)
    (tmp_path / "c/generated").mkdir()
    return tmp_path


def git(tree, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
    return subprocess.run(
        ["git", *identity, "-C", tree, *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_sources_of_no_checkout(tree):
    assert re.fullmatch(r"[\d.]+, commit unknown", build_text(tree))


def test_a_source_distribution_keeps_the_commit(tree):
    (tree / "COMMIT").write_text("0123abcd+\n")
    assert build_text(tree).endswith(", commit 0123abcd+")
    (tree / "COMMIT").write_text('x"; system("reboot\n')
    assert build_text(tree).endswith(", commit unknown")


@pytest.mark.skipif(shutil.which("git") is None, reason="host: no git")
def test_a_checkout_says_its_commit_and_whether_it_was_changed(tree):
    git(tree, "init", "-q")
    git(tree, "add", "pyproject.toml", "c/generators")
    git(tree, "commit", "-qm", "a")
    head = git(tree, "rev-parse", "--short=8", "HEAD")
    (tree / "COMMIT").write_text("0123abcd\n")  # of another time
    first = build_text(tree)
    assert first.endswith(f", commit {head}") and build_text(tree) == first
    with open(tree / "pyproject.toml", "a") as file:
        file.write("# changed\n")
    assert build_text(tree) == f"{first}+"
