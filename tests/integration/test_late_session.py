"""A session that joins while an event is being made: it is not shown arguments that nobody had asked for."""

from __future__ import annotations

import re
import sys

import pytest

from tests.support import harness

PROGRAM = """
import pyusdt, subprocess, time

class Late:
    def __str__(self):
        global late
        late = subprocess.Popen({second!r}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        while late.stdout.readline() != "begun\\n":
            pass
        time.sleep(0.5)  # it joins right after BEGIN
        return "text"

pyusdt.p(1, 2, Late())
pyusdt.p(3, 4, "more")
time.sleep(0.2)
late.send_signal(2)
print(late.communicate()[0], flush=True)
"""
SECOND = 'BEGIN {{ printf("begun\\n"); }} pyusdt*:::user_trace-i4s4 {{ trace({wants}); n++; }} END {{ printf("\\nsaw %d\\n", n); }}'


@pytest.mark.parametrize("wants, lost", [("arg3", 1), ("copyinstr(arg6)", 0)])
def test_session_that_comes_while_an_event_is_made(pydtrace, tmp_path, wants, lost):
    """The first wants the text alone, whose making waits for the second. That one wants it, too, and has both events; or
    wants something else, and has lost one."""
    script = tmp_path / "late.py"
    script.write_text(PROGRAM.format(second=[harness.PYDTRACE, "-qn", SECOND.format(wants=wants)]))
    got = pydtrace(
        "-qn",
        "pyusdt$target:::user_trace-i4s4 { trace(copyinstr(arg6)); }",
        "-c",
        f"{sys.executable} {script}",
    )
    assert f"saw {2 - lost}" in got.stdout and len(re.findall("1 drop", got.stdout)) == lost, got
