"""How far a host's clock is off, and how sure that is."""

import pytest

from pydtrace.hosts.clock_offset import DRIFT, UNKNOWN_ERROR, ClockOffset

pytestmark = pytest.mark.own_processes
S = 1_000_000_000


def test_a_clock_is_known_to_half_the_way_there_and_back():
    """Whatever either way took, the true difference lies within the error; the best ping counts, and grows old."""
    offset = ClockOffset()
    assert offset.estimate(0) == (0, UNKNOWN_ERROR)
    true = -100_000 * S
    for sent, there, back in ((0, 900, 100), (10 * S, 10, 30), (20 * S, 5000, 1)):
        offset.add_sample(sent, sent + there - true, sent + there + back)
        found, error = offset.estimate(sent + there + back)
        assert abs(found - true) <= error
    assert (
        offset.estimate(20 * S + 5001)[1] == 2501
    )  # the better one of ten seconds before is not so sure any more
    assert offset.estimate(1000 * S)[1] >= 900 * S * DRIFT
