"""Which capabilities each way of attaching needs, and what is said where one is missing."""

import os
import shutil
import subprocess

import pytest

from tests.support.kernel_harness import PYDTRACE

pytestmark = pytest.mark.usefixtures("bpf")
# capabilities, way of attaching: the one that the error names, or None where it works
CASES = [
    ("bpf,perfmon", "multi", None),
    ("sys_admin", "multi", None),
    ("sys_admin", "perf", None),
    ("bpf,perfmon", "perf", "CAP_SYS_ADMIN"),
    ("bpf", "multi", "CAP_PERFMON"),
    ("perfmon", "multi", "CAP_BPF"),
    ("sys_ptrace", "multi", "CAP_BPF"),
]


@pytest.mark.parametrize("capabilities, way, missing", CASES)
def test_capabilities(target, capabilities, way, missing):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("host: only root can give up capabilities")
    bounds = "-all," + ",".join(f"+{name}" for name in capabilities.split(","))
    done = subprocess.run(
        [
            "setpriv",
            f"--bounding-set={bounds}",
            PYDTRACE,
            "-q",
            "-x",
            "engine=kernel",
            "-x",
            f"attach={way}",
            "-n",
            "target*:::plain-two { @[copyinstr(arg1)] = count(); }",
            "-c",
            f"{target} 8",
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    if missing is None:
        assert done.returncode == 0 and done.stdout.split()[-2:][1] == "2", done
    else:
        assert done.returncode == 1 and f"({missing}, or root, needed)" in done.stderr, done


def test_system_calls_need_no_more(target):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("host: only root can give up capabilities")
    done = subprocess.run(
        [
            "setpriv",
            "--bounding-set=-all,+bpf,+perfmon",
            PYDTRACE,
            "-q",
            "-x",
            "engine=kernel",
            "-n",
            'syscall::write:entry /pid == $target/ { @ = count(); } proc:::exit /pid == $target/ { printf("exit %d\\n", arg0); }',
            "-c",
            f"{target} 8",
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0 and "exit 1\n" in done.stdout, done
