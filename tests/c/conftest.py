"""Every test program of the C core runs in child processes, with a run directory of its own.

`--sanitize` (`make sanitize`) builds all of them with ASan and UBSan instead of plainly, and only with it the tests are run that are
of a sanitizer themselves, those of TSan and of libFuzzer's corpora among them.
"""

import re

import pytest

from tests.support.core.programs import C_TESTS, Build, World

# A sanitizer needs more addresses, memory and stack than these leave.
NOT_SANITIZED = r"^test_(few|no)_addresses|^test_a_memory_cgroup|^test_each_way_to_fire|^test_a_tracer_that_is_killed$|\[as[-\]]"


def pytest_collection_modifyitems(config, items):
    other = NOT_SANITIZED if config.getoption("--sanitize") else "[at]san|sanitizer|^test_corpus"
    left_out = [
        item for item in items if item.path.parent == C_TESTS and re.search(other, item.name)
    ]
    config.hook.pytest_deselected(items=left_out)
    left = set(items) - set(left_out)
    items[:] = [item for item in items if item in left]


@pytest.fixture(scope="session")
def build(request, tmp_path_factory):
    return Build(tmp_path_factory.mktemp("core"), request.config.getoption("--sanitize"))


@pytest.fixture
def world(build, tmp_path):
    made = World(build, tmp_path)
    yield made
    made.end()
