"""Programs whose calls leave Python's own frames and come back, whose code is freed, whose threads and children end while they are sampled.

Input: programs/unusual_calls.py.
Output: samples of its stacks.

- A stack is one that the program can have, or is marked; the program goes on; nothing fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import time
from collections import Counter

import pytest

from pydtrace.profile.sampler import Sampler
from pydtrace.profile.sampler_options import RUNNING, SamplerOptions
from pydtrace.profile.stack_profile import Profile
from tests.support import stacks_harness as harness

WANTED = 30  # samples that are in innermost()
# What may stand where, outermost first; "?" is what was gone before its name was known to be right.  A greenlet has a stack of its own, which
# begins with its own function.
POSSIBLE = {
    "generator_in_c": "<module>;generator_in_c;generator;innermost",
    "called_back": r"<module>;called_back;(compare|<lambda>|\?);innermost",
    "freed_code": r"<module>;freed_code;(<module>|\?);(made_\d+|\?);innermost",
    "switches": r"(ping|pong|\?);innermost",
    "gevents": r"(green|(_bootstrap;_bootstrap_inner;)?run|\?);innermost",
    "cython": "<module>;cython;action;innermost",
    "cython_generator": "<module>;cython_generator;innermost",
    "deep": "(deep;){999}innermost",  # 1,000 are looked at
    "threads_that_end": "_bootstrap;_bootstrap_inner;run;innermost",
    "forks": r"(<module>|\?);(forks|\?);innermost",  # a child that ends
}
# Their outer frame changes with each turn.  Until a name was confirmed once, a frame that is gone when its code is read is "?": it is not known
# whose code that is.  A confirmed name stays, so these are the first few samples of each name.
TAKES_TURNS = {"called_back", "switches", "gevents"}
OF_THIS_PYTHON = {
    "switches",
    "cython",
    "cython_generator",
}  # the others have no greenlet and no Cython
GENERATOR = """def each(call, n):
    for _ in range(n):
        yield call()
"""


def cases() -> list:
    return [
        pytest.param(
            python,
            kind,
            id=f"{harness.name_of(python)}-{kind}",
            marks=() if python == sys.executable else pytest.mark.long,
        )
        for python in harness.INTERPRETERS
        for kind in POSSIBLE
        if kind != "gevents" and (python == sys.executable or kind not in OF_THIS_PYTHON)
    ]


def inside(profile: Profile) -> Counter[str]:
    """{names of a stack: its samples} of those in innermost().  (Only from 3.11 on are names those with their classes.)"""
    found: Counter[str] = Counter()
    for (_, stack), n in profile.stacks.items():
        if stack[-1].function == "innermost":
            found[";".join(place.function.rpartition(".")[2] for place in stack)] += n
    return found


@pytest.fixture(scope="module")
def in_cython(tmp_path_factory) -> str:
    """The folder of a module that has a generator of Cython's."""
    folder = tmp_path_factory.mktemp("cython")
    (folder / "in_cython.pyx").write_text(GENERATOR)
    subprocess.run([sys.executable, "-m", "cython", folder / "in_cython.pyx"], check=True)
    subprocess.run(
        [
            "gcc",
            "-O0",
            "-w",
            "-shared",
            "-fPIC",
            f"-I{sysconfig.get_paths()['include']}",
            folder / "in_cython.c",
            "-o",
            folder / f"in_cython{sysconfig.get_config_var('EXT_SUFFIX')}",
        ],
        check=True,
    )
    return str(folder)


@pytest.mark.parametrize(("python", "kind"), cases())
def test_stacks_are_possible(python, kind, request, monkeypatch):
    if kind == "cython_generator":
        monkeypatch.setenv("PYTHONPATH", request.getfixturevalue("in_cython"))
    possible(python, kind)


@pytest.mark.long
@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
def test_gevent(python, tmp_path):
    subprocess.run([python, "-m", "venv", tmp_path], check=True)
    own = str(tmp_path / "bin" / "python")
    done = subprocess.run(
        [
            own,
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--only-binary",
            ":all:",
            "gevent",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(
            f"host: no wheel of gevent for {harness.name_of(python)}: {done.stderr.strip().splitlines()[-1:]}"
        )
    possible(own, "gevents")


def possible(python: str, kind: str) -> None:
    with harness.running(python, "unusual_calls.py", kind) as subject:
        profile = Profile(100, "running threads")
        sampler, until = (
            Sampler(profile, SamplerOptions(RUNNING), lambda: None),
            time.monotonic() + 60,
        )
        sampler.add_process(subject.pid)
        sampler.retry_waiting()
        while inside(profile).total() < WANTED * (10 if kind == "freed_code" else 1):
            assert sampler.sample_processes() and time.monotonic() < until, (
                sampler.no_python_reason,
                profile.stacks,
            )
            sampler.add_children()
            sampler.retry_waiting()
            time.sleep(0.002)
        sampler.close()
        assert subject.process.poll() is None
    assert bool(profile.counts["cut"]) == (kind == "deep"), profile.counts
    wrong = Counter(
        {
            names: n
            for names, n in inside(profile).items()
            if not re.fullmatch(POSSIBLE[kind], names)
        }
    )
    if kind in TAKES_TURNS:
        unconfirmed = sum(n for names, n in inside(profile).items() if "?" in names)
        assert unconfirmed <= WANTED / 2, profile.stacks
    if (
        kind == "freed_code"
    ):  # one may take the place of another just before its name is read, and stay there
        assert doubtful(profile) <= inside(profile).total() / 50, (wrong, profile.stacks)
    else:
        assert not wrong


def doubtful(profile: Profile) -> int:
    """Samples in innermost() with names where they can not be, or of two pieces of code of which one was gone when the other came."""
    return sum(
        n
        for (_, stack), n in profile.stacks.items()
        if stack[-1].function == "innermost"
        and not (
            re.fullmatch(POSSIBLE["freed_code"], ";".join(place.function for place in stack))
            and len({place.file for place in stack if place.file.startswith("<made_")}) < 2
        )
    )
