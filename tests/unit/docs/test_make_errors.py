"""docs/reference/errors.md is what docs/make_errors.py makes of the tags, and `pyusdt help TAG` shows each entry."""

import os
import runpy

import pytest

from pydtrace.cli.commands import help_pages
from pydtrace.dlang.compile_errors import TAGS
from tests.support.harness import ROOT

ENTRIES = runpy.run_path(os.path.join(ROOT, "docs", "error_entries.py"))


def test_page_is_made_of_the_tags():
    made = runpy.run_path(os.path.join(ROOT, "docs", "make_errors.py"))
    with open(made["PAGE"], encoding="utf-8") as file:
        assert file.read() == made["page"](), "run docs/make_errors.py"


def test_every_tag_has_what_to_do():
    assert ENTRIES["ADVICE"].keys() == TAGS.keys()
    others = {*ENTRIES["EXAMPLES"], *ENTRIES["PROBES"], *ENTRIES["ARGUMENTS"]}
    assert others <= TAGS.keys()


def test_help_shows_the_entry_of_every_tag():
    for tag in TAGS:
        text = help_pages.tag_text(tag)
        assert text.startswith(f"## {tag}\n") and ENTRIES["ADVICE"][tag].partition("[")[0] in text


@pytest.mark.parametrize("written", ["D_SYNTAX", "[D_SYNTAX]"])
def test_tag_as_a_message_has_it(written):
    assert help_pages.tag_in(written) == "D_SYNTAX"


def test_unknown_tag():
    with pytest.raises(help_pages.UnknownTopic, match="no error has the tag D_NOSUCH"):
        help_pages.tag_text("D_NOSUCH")
