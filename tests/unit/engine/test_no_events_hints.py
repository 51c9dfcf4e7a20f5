"""Hints at the end of a tracing in which no probe fired: what is known, and what is not any more."""

import subprocess
import sys
from collections import namedtuple

import pytest

from pydtrace.engine import no_events_hints

pytestmark = pytest.mark.own_processes

Description = namedtuple("Description", "provider module function name")
DONE = Description("http*", "", "", "request-done")


@pytest.mark.parametrize(
    ("some_ended", "said"),
    [
        (False, "no process had a provider http: "),
        (True, "http: no event came: "),  # its probes went with it
    ],
)
def test_a_framework_s_probe_that_did_not_fire(some_ended, said):
    (hint,) = no_events_hints.explain_silence([DONE], [(7, "shop")], [], set(), False, some_ended)
    assert hint.startswith(f"{said}the program must run under `pyusdt run`"), hint


def test_a_provider_that_the_processes_have_is_not_named():
    assert no_events_hints.explain_silence([DONE], [(7, "shop")], [], {"http"}, False) == []


def test_processes_that_have_ended_are_not_known():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert no_events_hints.find_known_providers([ended.pid]) == (set(), False)
    assert no_events_hints.find_known_providers([]) == (set(), True)
