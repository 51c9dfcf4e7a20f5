"""The offsets in CPython's objects, against the headers of every CPython that is here."""

from __future__ import annotations

import os

import pytest

from pydtrace.remote_python.object_layout import ObjectLayout
from pydtrace.remote_python.remote_python import RemotePython
from tests.support import stacks_harness as harness
from tests.support.python_headers import compiled

SOURCE = os.path.join(harness.STACKS, "object_layout_main.c")
MEMBER_SIZE = 40  # of remote_types.py


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_the_offsets_are_what_the_headers_say(python, tmp_path):
    wanted = compiled(python, tmp_path, SOURCE)
    with harness.running(python, "waits.py") as subject:
        layout = ObjectLayout(RemotePython(subject.pid).layout)
    assert wanted.pop("member_size") == MEMBER_SIZE
    assert layout.is_known
    assert {name: getattr(layout, name) for name in wanted} == wanted


def test_a_version_that_was_not_compared_is_not_known():
    old = {"object_type": 8, "frame_locals": 72, "unicode_data": 56}
    without_gil = {**old, "object_type": 24}
    assert ObjectLayout({**old, "minor": 15}).is_known
    assert not ObjectLayout({**old, "minor": 16}).is_known
    assert ObjectLayout({**without_gil, "minor": 13}).is_known
    assert not ObjectLayout({**without_gil, "minor": 14}).is_known
    assert not ObjectLayout({**old, "object_type": 4096, "minor": 13}).is_known
