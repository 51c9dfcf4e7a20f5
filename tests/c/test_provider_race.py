"""A provider that is made while another thread is on a slow path, on a machine that gives that one no time, is seen by
sessions as any other: it is made once, so it can not be left out."""

from __future__ import annotations

import os
import subprocess

from tests.support.core.programs import C_TESTS, ROOT
from tests.support.core.target_sources import target_sources


def test_a_provider_waits_for_a_slow_path(tmp_path):
    program = tmp_path / "main"
    subprocess.run(
        [
            "gcc",
            "-std=gnu11",
            "-Wall",
            "-Wextra",
            "-Werror",
            f"-I{ROOT}/include",
            f"-I{ROOT}/c",
            C_TESTS / "provider_race_main.c",
            *target_sources(),
            "-o",
            program,
            "-ldl",
            "-lpthread",
        ],
        check=True,
    )
    done = subprocess.run(
        [program],
        env={**os.environ, "PYUSDT_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "in the table\n"
