"""What holds for every test: the `long` mark, and the rule about skips.

Under CI (CI=true) a skip is a failure, since its machine is root and installs whatever a test needs. A test
that no installation could help (a kernel without the feature, say) starts its reason with "host:".
"""

import os

import pytest

UNDER_CI = os.environ.get("CI") == "true" or os.environ.get("PYUSDT_CI") == "1"


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes minutes or hours; only `make test-long` runs it")


def _fail_if_avoidable(report):
    """Turn the report of a skip that an installation would have avoided into a failure."""
    if not (UNDER_CI and report.skipped) or hasattr(report, "wasxfail"):
        return report
    reason = report.longrepr[2].removeprefix("Skipped: ")
    if not reason.startswith("host:"):
        report.outcome = "failed"
        report.longrepr = f"a skip under CI: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return _fail_if_avoidable((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return _fail_if_avoidable((yield))
