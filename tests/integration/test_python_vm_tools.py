"""The provider `python` beside packages that change how Python runs, and tools that look into it: what the program prints, what these
tools report, and what it counts itself are as untraced.

Input: programs/vm_tools/ and vm_guests/counting.py; CPythons of this machine; the packages from
the registry, in an environment of each CPython.

- A package that has no wheel for a CPython is a skip that says so.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys

import pytest

from tests.support import harness, python_builds

pytestmark = pytest.mark.xdist_group(
    "integration/test_python_vm_injection"
)  # who builds for other versions, too
FOLDER, COUNTING = (
    os.path.join(harness.PROGRAMS, "vm_tools"),
    os.path.join(harness.PROGRAMS, "vm_guests"),
)
OWN = f"3.{sys.version_info[1]}"
EVERYTHING = "python$target::: { this->all = 1; }"
STEPS = "python$target:counting:step:function-entry { @ = count(); }"


def surroundings(*folders: object) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([COUNTING, *map(str, folders)]),
        "PYTHONHASHSEED": "0",
    }


def said(run: harness.Run) -> list[str]:
    """On the standard error; a build without the GIL says of a package that does not know it that it has it again."""
    return [
        line
        for line in run.stderr.splitlines()
        if "The global interpreter lock (GIL) has been enabled" not in line
    ]


def same(command: list[str], steps: bool = True, **options) -> None:
    """All probes on, then each call of one function counted."""
    alone = harness.run(command, timeout=120, **options)
    traced = harness.run(
        [*python_builds.pydtrace(), "-q", "-n", EVERYTHING, "-c", " ".join(command)],
        timeout=120,
        **options,
    )
    assert alone.status == traced.status == 0 and alone.stdout, (alone, traced)
    assert traced.stdout.startswith(alone.stdout), (alone, traced)
    assert [line for line in said(traced) if not line.endswith("drops")] == said(alone) == [], (
        alone,
        traced,
    )
    if steps:
        counted = harness.run(
            [*python_builds.pydtrace(), "-q", "-n", STEPS, "-c", " ".join(command)],
            timeout=120,
            **options,
        )
        assert (counted.status, said(counted)) == (0, []) and re.search(
            r"^steps (\d+)\n\n +\1\n", counted.stdout, re.MULTILINE
        ), counted


# --- Cython and greenlet, which are in .venv -----------------------------------------------------


@pytest.fixture(scope="module")
def cythonized(tmp_path_factory):
    """cythonized(PYTHON) -> the folder with the modules `plain` and `profiled` for it"""

    def make(python: str):
        folder = tmp_path_factory.mktemp("cython")
        asked = harness.run(
            [
                python,
                "-c",
                "import sysconfig as s; print(s.get_paths()['include'], s.get_config_var('EXT_SUFFIX'))",
            ]
        )
        include, suffix = asked.stdout.split()
        for name, options, define in (
            ("plain", [], []),
            ("profiled", ["-X", "profile=True", "-X", "linetrace=True"], ["-DCYTHON_TRACE=1"]),
        ):
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "cython",
                    *options,
                    "--module-name",
                    name,
                    os.path.join(FOLDER, "in_cython.pyx"),
                    "-o",
                    folder / f"{name}.c",
                ],
                check=True,
            )
            subprocess.run(
                [
                    "gcc",
                    "-O1",
                    "-shared",
                    "-fPIC",
                    "-w",
                    *define,
                    f"-I{include}",
                    folder / f"{name}.c",
                    "-o",
                    folder / f"{name}{suffix}",
                ],
                check=True,
            )
        return folder

    return make


@pytest.mark.parametrize(
    "version",
    [
        version if version == OWN else pytest.param(version, marks=pytest.mark.long)
        for version in harness.VERSIONS
    ],
)
def test_functions_of_cython(other, cythonized, version):
    """Those that profile themselves call what a profiler or a monitoring tool has set, with code objects that never run."""
    python = other(version)
    folder = cythonized(python)
    for name in ("plain", "profiled"):
        same([python, os.path.join(FOLDER, "cythonized.py"), name], env=surroundings(folder))


def test_greenlets():
    same([sys.executable, os.path.join(FOLDER, "greenlets.py")], env=surroundings())


# --- packages of an environment ------------------------------------------------------------------


@pytest.fixture(scope="module", params=harness.VERSIONS)
def environment(request, other, tmp_path_factory):
    """environment(PACKAGE …) -> the Python of a virtual environment that has these; pyusdt is not in it"""
    folder = tmp_path_factory.mktemp("tools")
    subprocess.run([other(request.param), "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")

    def install(*names: str) -> str:
        done = harness.run(
            [
                python,
                "-m",
                "pip",
                "install",
                "-q",
                "--disable-pip-version-check",
                "--only-binary",
                ":all:",
                *names,
            ],
            timeout=300,
        )
        if done.status != 0:
            pytest.skip(
                f"host: no wheel of {', '.join(names)} for CPython {request.param}: {done.stderr.strip().splitlines()[-1:]}"
            )
        return python

    return install


@pytest.mark.long
@pytest.mark.parametrize(
    ("program", "package"),
    [("greenlets", "greenlet"), ("gevents", "gevent"), ("numbers_in_c", "numpy")],
)
def test_programs_of(environment, program, package):
    same([environment(package), os.path.join(FOLDER, f"{program}.py")], env=surroundings())


def covered(python: str, folder, core: str, options: list[str], trace: bool) -> tuple[str, dict]:
    """(what the program printed, what coverage reports of each file)"""
    env = {**surroundings(), "COVERAGE_CORE": core}
    guests = ["odd_code", "own_tracers"] if core != "pytrace" else ["odd_code"]
    printed = ""
    report: dict = {}
    for guest in guests:
        command = [
            python,
            "-m",
            "coverage",
            "run",
            *options,
            f"--source={COUNTING}",
            os.path.join(COUNTING, f"{guest}.py"),
        ]
        if trace:
            command = [*python_builds.pydtrace(), "-q", "-n", EVERYTHING, "-c", " ".join(command)]
        run = harness.run(command, env=env, cwd=folder, timeout=120)
        assert run.status == 0, run
        harness.run([python, "-m", "coverage", "json", "-q", "-o", "covered.json"], cwd=folder)
        printed += run.stdout.strip() + "\n"
        with open(folder / "covered.json") as file:
            report[guest] = {
                name: {
                    key: of_file.get(key)
                    for key in (
                        "executed_lines",
                        "missing_lines",
                        "executed_branches",
                        "missing_branches",
                    )
                }
                for name, of_file in json.load(file)["files"].items()
            }
    return printed, report


@pytest.mark.long
@pytest.mark.parametrize("options", [[], ["--branch"]], ids=["lines", "branches"])
@pytest.mark.parametrize("core", ["ctrace", "pytrace", "sysmon"])
def test_coverage(environment, core, options, tmp_path):
    """Its report is the untraced one's, by each way in which it can measure."""
    python = environment("coverage")
    if core == "sysmon" and harness.run([python, "-c", "import sys; sys.monitoring"]).status:
        pytest.skip("host: CPython before 3.12 has no sys.monitoring")
    if core == "ctrace" and harness.run([python, "-c", "import coverage.tracer"]).status:
        pytest.skip("host: coverage has no tracer in C for this CPython")
    alone, traced = (covered(python, tmp_path, core, options, trace) for trace in (False, True))
    assert traced == alone and any(
        of_file["executed_lines"] for of_file in alone[1]["odd_code"].values()
    ), (alone, traced)


@contextlib.contextmanager
def sampled(python: str):
    """pydtrace and the process that it traces, which goes on until something is written to it."""
    command = [
        *python_builds.pydtrace(),
        "-q",
        "-n",
        STEPS,
        "-c",
        f"{python} {os.path.join(FOLDER, 'sampled.py')}",
    ]
    with harness.running(command, stdin=subprocess.PIPE, env=surroundings()) as tracer:
        yield tracer, tracer.stdout.readline().strip()


@pytest.mark.long
def test_py_spy(environment, tmp_path):
    """It samples a traced process, and dumps its stacks; each call is counted meanwhile."""
    python = environment("py-spy")
    spy = os.path.join(os.path.dirname(python), "py-spy")
    with sampled(python) as (tracer, pid):
        recorded = harness.run(
            [
                spy,
                "record",
                "-d",
                "2",
                "-r",
                "100",
                "-f",
                "raw",
                "-o",
                str(tmp_path / "raw"),
                "-p",
                pid,
            ]
        )
        dumped = harness.run([spy, "dump", "-p", pid])
        tracer.stdin.write("\n")
        tracer.stdin.flush()
        run = harness.finish(tracer, 60)
    if "Failed to" in recorded.stderr + dumped.stderr or recorded.status != 0:
        with harness.running(
            [python, os.path.join(FOLDER, "sampled.py")], stdin=subprocess.PIPE, env=surroundings()
        ) as alone:
            untraced = harness.run([spy, "dump", "-p", alone.stdout.readline().strip()])
        assert untraced.status != 0, (recorded, dumped)
        pytest.skip(
            f"host: this py-spy does not know this CPython, untraced neither: {untraced.stderr.strip().splitlines()[:1]}"
        )
    assert (
        "busy (" in (tmp_path / "raw").read_text()
        and "MainThread" in dumped.stdout
        and "busy (" in dumped.stdout
    ), (recorded, dumped)
    assert (run.status, run.stderr) == (0, "") and re.search(
        r"^steps (\d+)\n\n +\1\n", run.stdout, re.MULTILINE
    ), run
