"""The protocol's models (docs/internals/ring.md), every interleaving of them, checked by spin.

A model that accepts everything proves nothing: each MUTANT_ in its source breaks one rule of the protocol, and spin
has to show a run in which that goes wrong.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent

# Small enough for every test run; and what takes longer. Mutants are looked for from the last to the first.
RUNS = [
    ("session", ""),
    ("flight", ""),
    ("ending", ""),
    ("keep", ""),
    ("watch", ""),
    ("places", ""),
    ("count", ""),
    ("ring", "-DFIRST=1 -DSECOND=1 -DALONE"),
    ("ring", "-DFIRST=2 -DSECOND=0 -DCELLS=1 -DSPILLING -DGROWING"),
    ("ring", "-DFIRST=1 -DSECOND=1 -DGROWING"),
    ("ring", "-DFIRST=2 -DSECOND=1 -DRINGS=1"),
    ("ring", "-DFIRST=1 -DSECOND=1 -DRINGS=1 -DSKIPPING"),
]
LONG_RUNS = [
    ("ring", "-DFIRST=2 -DSECOND=2 -DRINGS=1"),
    ("ring", "-DFIRST=2 -DSECOND=1"),
    ("ring", "-DFIRST=2 -DSECOND=1 -DGROWING"),
    ("ring", "-DFIRST=2 -DSECOND=1 -DALONE"),
    ("ring", "-DFIRST=2 -DSECOND=1 -DCELLS=1 -DSPILLING"),
    ("ring", "-DFIRST=2 -DSECOND=1 -DCELLS=1 -DSPILLING -DGROWING"),
]


def mutants():
    for model in ("session", "ending", "keep", "ring", "flight", "watch", "places", "count"):
        source = (HERE / f"{model}.pml").read_text()
        for number, name in enumerate(sorted(set(re.findall(r"MUTANT_([A-Z]\w+)", source)))):
            yield pytest.param(
                model, name, marks=[pytest.mark.long] * (number > 0)
            )  # one a model shows that it can fail


def check(model, flags, tmp_path):
    """True where spin finds the model right in all of its states, else what it found."""
    assert shutil.which("spin"), "spin is not installed: see .ci/packages.txt"
    subprocess.run(
        ["spin", "-a", *flags.split(), HERE / f"{model}.pml"], cwd=tmp_path, check=True, timeout=60
    )
    subprocess.run(
        ["gcc", "-O1", "-w", "-DSAFETY", "-DMEMLIM=8000", "-o", "pan", "pan.c"],
        cwd=tmp_path,
        check=True,
    )
    run = subprocess.run(
        ["./pan", "-m1000000", "-w22"],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert "max search depth too small" not in run.stdout
    if "errors: 0" in run.stdout and "Search not completed" not in run.stdout:
        return True
    return re.search(r"pan:1: (.*)", run.stdout).group(1)


@pytest.mark.parametrize("model, flags", RUNS)
def test_every_interleaving(model, flags, tmp_path):
    assert check(model, flags, tmp_path) is True


@pytest.mark.long
@pytest.mark.parametrize("model, flags", LONG_RUNS)
def test_every_interleaving_of_more(model, flags, tmp_path):
    assert check(model, flags, tmp_path) is True


@pytest.mark.parametrize("model, mutant", list(mutants()))
def test_mutant_is_found(model, mutant, tmp_path):
    runs = [flags for name, flags in reversed(RUNS) if name == model]
    assert any(
        "violated" in str(check(model, f"{flags} -DMUTANT_{mutant}", tmp_path)) for flags in runs
    )
