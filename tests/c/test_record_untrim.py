"""Records that the kernel's programs cut are made whole again, and damaged ones do no harm."""

import subprocess

import pytest


@pytest.mark.parametrize("variant", ["plain", "asan"])
def test_cut_records_are_made_whole(build, variant):
    run = subprocess.run(
        [build.program("record_untrim_main", variant), "3000"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.stdout, run.returncode) == ("rounds 3000\n", 0), run.stderr
