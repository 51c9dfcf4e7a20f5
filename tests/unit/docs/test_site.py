"""The site: mkdocs makes it of docs/ as it is, strictly, with a tab for each folder."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.harness import ROOT

HOOKS = runpy.run_path(os.path.join(ROOT, "docs", "site_hooks.py"))


def build_site(top: Path | str, target: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", target],
        cwd=top,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path):
    """mkdocs.yml and docs/, to be changed."""
    shutil.copytree(os.path.join(ROOT, "docs"), tmp_path / "docs")
    shutil.copy(os.path.join(ROOT, "mkdocs.yml"), tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site of docs/ as it is."""
    folder = tmp_path_factory.mktemp("site")
    done = build_site(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_on_the_site_and_can_be_searched(site):
    pages = {
        str(path.relative_to(Path(ROOT, "docs")).with_suffix(".html"))
        for path in Path(ROOT, "docs").rglob("*.md")
    }
    assert len(pages) > 30
    for page in pages:
        assert (site / page.replace("README", "index")).exists(), page
    found = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    assert {entry["location"].split("#")[0] for entry in found} >= {
        page.replace("README", "index") for page in pages
    }
    start = (site / "index.html").read_text()
    assert [tab for tab in HOOKS["TABS"] if not re.search(rf">\s*{tab}\s*<", start)] == []


def test_code_and_lists_are_what_they_are_on_github(site):
    """A fence or list that Python-Markdown does not know would be text."""
    for page in site.rglob("*.html"):
        text = re.sub(r"<(pre|code).*?</\1>", "", page.read_text(), flags=re.DOTALL)
        assert "```" not in text, page
        assert not re.search(r"^(?:<p>.*\n)?- \w", text, re.MULTILINE), page


@pytest.mark.parametrize("link", ["nowhere.md", "tutorial.md#no-such-heading"])
def test_a_dead_link_is_an_error(copy, link):
    with open(copy / "docs" / "start" / "cheat-sheet.md", "a") as page:
        page.write(f"\n[x]({link})\n")
    done = build_site(copy, copy / "site")
    assert done.returncode != 0 and link.split("#")[-1] in done.stderr, done.stderr


def test_links_out_of_docs(monkeypatch):
    link_outside = HOOKS["link_outside"]
    text = (
        "[a](../../examples/hello.py) [b](api.md#x) [c](https://example.com) ![d](../images/d.svg)"
    )
    for url, first in (
        ("", "a"),
        (
            "https://example.com/blob/main",
            "[a](https://example.com/blob/main/examples/hello.py)",
        ),
    ):
        monkeypatch.setitem(link_outside.__globals__, "URL", url)
        assert link_outside(text, "howto") == f"{first} {text.partition(' ')[2]}"


def test_anchors_are_githubs():
    assert HOOKS["github_anchor"]("What `-p` takes: “x”, y & z") == "what--p-takes-x-y--z"
