"""What holds for every test: the `long` mark, the run directory, the rule about skips.

The tests have a run directory of their own, so that nobody's tracing on the same machine enables their probes.
Under CI (CI=true) a skip is a failure, since its machine is root and installs whatever a test needs. A test
that no installation could help (a kernel without the feature, say) starts its reason with "host:".

Three workers share the tests (`make test`: pytest-xdist, --dist loadgroup), a file at a time. A uprobe belongs to the file of
the module, not to a process: who attaches without a pid turns the probes on in the other workers' processes as well. So
what does that, and what asserts that a probe is off, is one group, which one worker runs from first to last.
"""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile

import pytest

pytest.register_assert_rewrite("tests.support")  # so that its asserts show values, too

from tests.support.paths import TESTS
from tests.support.slow_files import SLOW_FILES

os.environ["PYUSDT_RUNDIR"] = tempfile.mkdtemp(prefix="pyusdt-tests-", dir="/dev/shm")
atexit.register(shutil.rmtree, os.environ["PYUSDT_RUNDIR"], ignore_errors=True)

# Set, a program would write each part of a line by itself into the pipe that it shares with its tracer.
os.environ.pop("PYTHONUNBUFFERED", None)
# Set, every pydtrace that the tests start would compile all its modules anew, which takes it three times as long as the rest.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tests that a shell starts in the background ignore SIGINT; those that nohup starts ignore SIGHUP. All programs that they start would
# ignore these signals, too, as dtrace does.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

UNDER_CI = os.environ.get("CI") == "true" or os.environ.get("PYUSDT_CI") == "1"

# Folders of tests that attach to the built probes in all processes, or hold only while nobody does. A file of theirs that does
# neither is marked own_processes, or has an xdist_group that it shares with others ("users": root looks for all users' processes).
EVERYWHERE = {"dtrace", "erlang", "integration", "kernel", "scripts", "unit"}


def pytest_addoption(parser):
    parser.addoption(
        "--sanitize", action="store_true", help="the C core's tests under ASan and UBSan"
    )


def _mount_tracefs():
    """Where a fresh machine has not mounted it yet: perf, stap and the kernel engine's `syscall:::` look there."""
    place = "/sys/kernel/tracing"
    if os.geteuid() == 0 and os.path.isdir(place) and not os.listdir(place):
        subprocess.run(["mount", "-t", "tracefs", "tracefs", place], check=False)


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "long: takes minutes or hours; only `make test-long` runs it"
    )
    config.addinivalue_line(
        "markers", "more: slow, and rarely fails (support/slow_files.py); `make test-more` runs it"
    )
    if absent := [str(path) for path in SLOW_FILES if not path.exists()]:
        raise pytest.UsageError(
            f"tests/support/slow_files.py names files that are not there: {absent}"
        )
    config.addinivalue_line(
        "markers",
        "own_processes: traces processes of its own run directory, by the embedded engine, or none;"
        " it minds no other tracer",
    )
    _mount_tracefs()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path in SLOW_FILES:
            item.add_marker(pytest.mark.more)
        if not item.get_closest_marker("xdist_group"):
            file = item.path.relative_to(TESTS).with_suffix("")
            everywhere = file.parts[0] in EVERYWHERE and not item.get_closest_marker(
                "own_processes"
            )
            group = "everywhere" if everywhere else file.as_posix()
            item.add_marker(pytest.mark.xdist_group(group))


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
