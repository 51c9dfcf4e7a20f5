"""Ticks of the kernel engine while pydtrace has no processor: none is lost, each has its time, and they are in order."""

import signal
import time

import pytest

from tests.support.kernel_harness import start_pydtrace

pytestmark = pytest.mark.usefixtures("bpf")
PERIOD, TICKS = 20_000_000, 75
SCRIPT = f"""
BEGIN {{ printf("%d\\n", timestamp); }}
tick-20ms {{ printf("%d\\n", timestamp); }}
tick-{PERIOD * TICKS // 1_000_000}ms {{ exit(0); }}
"""


def test_a_tracer_that_stood_still_makes_up_for_its_ticks():
    tracer = start_pydtrace("-q", "-n", SCRIPT)
    begun = int(tracer.stdout.readline())
    tracer.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    tracer.send_signal(signal.SIGCONT)
    shown, errors = tracer.communicate(timeout=60)
    ticks = [int(line) for line in shown.split()]
    assert (tracer.returncode, errors.strip()) == (0, "")
    assert TICKS - 1 <= len(ticks) <= TICKS and [begun, *ticks] == sorted([begun, *ticks])
    places = {tick % PERIOD for tick in ticks}
    assert len(places) < len(
        ticks
    )  # those that it made up for are a whole number of periods from one another
