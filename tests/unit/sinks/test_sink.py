"""What every sink has."""

from __future__ import annotations

import pytest

from pydtrace.driver.sink import Sink


def test_a_sink_without_a_file_says_that_there_is_none():
    with pytest.raises(OSError, match="there is no output file"):
        Sink().reopen(b"x")
    assert Sink().truncate() is None
