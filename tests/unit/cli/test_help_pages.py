"""`pyusdt help`: topics, tags, links, the pager; every topic that a message names exists."""

import ast
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pydtrace.cli.commands import help_pages
from tests.support.harness import ROOT

PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")
NAMED = re.compile(r"pyusdt help ([\w/-]+)")


def run(*words, **more):
    return subprocess.run(
        [PYUSDT, "help", *words], capture_output=True, text=True, timeout=30, check=False, **more
    )


def test_list_names_every_page_by_section():
    listed = run().stdout
    assert listed.startswith("To start:\n") and "\nHow to:\n" in listed
    assert re.search(r"\n  profile +\S", listed)
    assert [topic for topic in help_pages.topics() if f"\n  {topic} " not in listed] == []


@pytest.mark.parametrize("topic", ["profile", "howto/profile", "docs/howto/profile.md"])
def test_page_by_each_of_its_names(topic):
    shown = run(topic)
    assert shown.returncode == 0 and shown.stdout.startswith("# ")


def test_every_page_is_shown():
    for topic in help_pages.topics():
        text = help_pages.page_text(help_pages.find_page(topic))
        assert text.startswith("# ") and "](" not in text and "<!--" not in text, topic


def test_link_names_the_topic():
    made = help_pages._plain_text(
        "<!-- x -->\n\nSee [profile.md](../howto/profile.md#a), [the list](profile.md),"
        " [that](../../examples/hello.py), [figures](../internals/hosts.md), [D](https://dtrace.org).\n\n![picture](x.png)\n"
    )
    assert made == (
        "See pyusdt help profile, the list (pyusdt help profile), that, figures, D (https://dtrace.org).\n\n"
    )


def test_misspelt_topic():
    failed = run("profiel")
    assert failed.returncode == 2 and failed.stdout == ""
    assert failed.stderr == (
        "pyusdt help: error: no page is called 'profiel'; `pyusdt help` lists the pages\n"
        "hint: did you mean profile?\n"
    )


def test_command_is_a_topic():
    assert run("doctor").stdout.startswith("usage: pyusdt doctor")


def test_same_name_in_two_sections(tmp_path, monkeypatch):
    for section in help_pages.SECTIONS:
        (tmp_path / section).mkdir()
        (tmp_path / section / "same.md").write_text(f"# {section}\n")
    monkeypatch.setattr(help_pages, "FOLDER", str(tmp_path))
    assert help_pages.topics() == ["start/same", "howto/same", "reference/same"]
    assert help_pages.find_page("howto/same") == "howto/same"
    with pytest.raises(help_pages.UnknownTopic, match="several pages"):
        help_pages.find_page("same")


def test_pager_shows_the_page_on_a_terminal(tmp_path):
    """The pager is $PAGER, with its options."""
    master, slave = pty.openpty()
    out = tmp_path / "paged"
    done = subprocess.run(
        [PYUSDT, "help", "profile"],
        stdin=slave,
        stdout=slave,
        env={**os.environ, "PAGER": f"dd of={out} status=none"},
        timeout=30,
        check=False,
    )
    os.close(master)
    os.close(slave)
    assert done.returncode == 0 and out.read_text().startswith("# ")


def message_texts(path: Path):
    """(line, text) of the string constants of a module that are not docstrings."""
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
        ):
            yield node.lineno, node.value


def sources():
    return [
        path
        for path in Path(ROOT, "src").rglob("*.py")
        if not {"scripts", "examples", "docs"} & set(path.relative_to(Path(ROOT, "src")).parts[:2])
    ]


def test_messages_name_topics_instead_of_files():
    """A user of a wheel has no docs/ to open."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {text[:80]}"
        for path in sources()
        if path.name != "help_pages.py"
        for line, text in message_texts(path)
        if re.search(r"docs/|\w\.md\b", text)
    ]
    assert wrong == []


def test_topics_that_are_named_exist():
    known = set(help_pages.topics()) | {"TOPIC", "D_TAG"}
    files = [
        *sources(),
        *(path for folder in ("c", "erlang_nif") for path in Path(ROOT, folder).rglob("*.[che]*")),
        *(path for folder in ("examples", "scripts") for path in Path(ROOT, folder).rglob("*.*")),
    ]
    wrong = [
        f"{path.relative_to(ROOT)}: {topic}"
        for path in files
        if path.suffix in (".py", ".c", ".h", ".erl", ".d", ".escript", ".pyx")
        for topic in NAMED.findall(path.read_text())
        if topic not in known and not topic.startswith("D_")
    ]
    assert wrong == []
