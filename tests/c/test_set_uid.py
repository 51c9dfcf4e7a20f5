"""A program with the set-uid bit takes no code from the cache, though the cache is its effective user's own and safe: who
starts it may choose another one. The same program without the bit does."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.support.core.programs import C_TESTS, ROOT
from tests.support.core.target_sources import target_sources

NOBODY = 65534


@pytest.fixture
def folder():
    """Where nobody may look, and set-uid bits count."""
    path = Path(tempfile.mkdtemp(prefix="pyusdt-set-uid-"))
    if os.geteuid() != 0 or os.statvfs(path).f_flag & os.ST_NOSUID:
        shutil.rmtree(path)
        pytest.skip("host: not root, or no set-uid programs in the temporary directory")
    path.chmod(0o755)
    for name in ("cache", "run"):
        (path / name).mkdir(mode=0o700)
        os.chown(path / name, NOBODY, NOBODY)
    yield path
    shutil.rmtree(path)


def test_a_set_uid_program_has_no_cache(folder):
    program = folder / "main"
    subprocess.run(
        [
            "gcc",
            "-std=gnu11",
            f"-I{ROOT}/include",
            f"-I{ROOT}/c",
            C_TESTS / "provider_main.c",
            *target_sources(),
            "-o",
            program,
            "-ldl",
            "-lpthread",
        ],
        check=True,
    )
    options = {
        "env": {"PYUSDT_CACHE": str(folder / "cache"), "PYUSDT_RUNDIR": str(folder / "run")},
        "capture_output": True,
        "text": True,
    }
    plain = subprocess.run(
        [program], check=False, user=NOBODY, group=NOBODY, extra_groups=[], **options
    )
    assert plain.returncode == 0 and plain.stdout.startswith(f"{folder}/cache/cross-"), plain

    os.chown(program, NOBODY, NOBODY)
    program.chmod(0o4755)
    raised = subprocess.run(
        [program], check=False, **options
    )  # root starts it: it has nobody's rights, and root is its real user
    assert raised.returncode == 1 and raised.stderr == (
        "publish 0, define 0: no cache in a process with more rights than its user\n"
    ), raised
