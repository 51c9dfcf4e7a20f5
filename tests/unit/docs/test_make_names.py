"""One table of the probes in frameworks: what docs/make_names.py makes of it, for readers and for Erlang."""

import os
import runpy

from tests.support.paths import ROOT

MADE = runpy.run_path(os.path.join(ROOT, "docs", "make_names.py"))


def text(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def test_the_page():
    page = text("docs", "reference", "frameworks.md")
    assert MADE["with_table"](page) == page, "run docs/make_names.py"


def test_erlangs_table():
    assert text("erlang_nif", "src", "pyusdt_framework_probes.hrl") == MADE["header"](), (
        "run docs/make_names.py"
    )


def test_each_probe_is_explained():
    assert [name for name, _ in MADE["rows"]()] == list(MADE["FIRES"])
