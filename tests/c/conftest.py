"""Every test program of the C core runs in child processes, with a run directory of its own.

`--sanitize` builds all of them with ASan and UBSan instead of plainly; the tests of TSan are always what they are.
"""

import pytest
from ring_world import Build, World


@pytest.fixture(scope="session")
def build(request, tmp_path_factory):
    return Build(tmp_path_factory.mktemp("core"), request.config.getoption("--sanitize"))


@pytest.fixture
def world(build, tmp_path):
    made = World(build, tmp_path)
    yield made
    made.end()
