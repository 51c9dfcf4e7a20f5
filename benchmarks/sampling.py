#!/usr/bin/env python3
"""What a Python program pays while it is sampled: `pyusdt profile` beside other profilers, in one run.

Input: sampling.py [ROUNDS [NAME …]]: 5 rounds of fib, richards, deltablue, jinja2 and gunicorn
(two workers under load), where nothing is said.
Output: a row a profiler for each: medians of the program's wall and processor time against the
program alone on the same CPython, and the processor time that the profiler itself took, a second
of wall time: it looks as often, however much of a processor the program gets.

- The profilers take turns in every round, at 97 looks a second, each starting the program; they
  are pinned in sampling.txt, in a virtual environment of their own. austin's program needs a
  newer libc than Debian 12 has: it runs with that of .ci/pythons' 3.15, which is also what has
  profiling.sampling; without it both are left out. memray, which follows allocations and takes no
  samples, is there for scale.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import subjects

HERE = os.path.dirname(os.path.abspath(__file__))
PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")
NEWEST = os.path.join(
    os.environ.get("PYUSDT_PYTHONS", os.path.expanduser("~/.cache/pyusdt-pythons")), "3.15", "usr"
)
PYTHON_15 = os.path.join(NEWEST, "bin", "python3.15")
TURNS = {
    "fib": 2000,
    "richards": 600,
    "deltablue": 700,
    "jinja2": 1000,
}  # more than a second of a processor
GUNICORN, REQUESTS = "gunicorn", 1200
ALONE = "alone", "alone, 3.15"


def tools() -> str:
    """The folder with their programs; installed where they are not yet."""
    folder = os.path.join(subjects.BUILD, "sampling")
    if not os.path.exists(os.path.join(folder, "bin", "austin")):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run(
            [
                os.path.join(folder, "bin", "pip"),
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "-r",
                os.path.join(HERE, "sampling.txt"),
            ],
            check=True,
        )
    return os.path.join(folder, "bin")


def commands(name: str, program: list[str]) -> dict[str, list[str]]:
    """{profiler: the command with which it runs the program}.  program: what follows an interpreter's name."""
    bin_, workers = tools(), name == GUNICORN
    python = os.path.join(bin_, "python")
    children = ["--subprocesses"] * workers
    py_spy = [
        os.path.join(bin_, "py-spy"),
        "record",
        "--rate",
        "97",
        "--format",
        "raw",
        "--output",
        "/dev/null",
        *children,
    ]
    profile = [PYUSDT, "profile", "--folded", *children]
    out = {name: os.path.join(subjects.BUILD, name) for name in ("sampled.txt", "memray.bin")}
    found = {
        "alone": [python, *program],
        "pyusdt profile": [*profile, "--", python, *program],
        "pyusdt profile --no-stop": [*profile, "--no-stop", "--", python, *program],
        "py-spy record": [*py_spy, "--", python, *program],
        "py-spy --nonblocking": [*py_spy, "--nonblocking", "--", python, *program],
    }
    if os.path.exists(PYTHON_15):
        loader = [
            os.path.join(NEWEST, "lib64", "ld-linux-x86-64.so.2"),
            "--library-path",
            os.path.join(NEWEST, "lib", "x86_64-linux-gnu"),
        ]
        found["austin"] = [
            *loader,
            os.path.join(bin_, "austin"),
            "-i",
            "10309",
            "-o",
            "/dev/null",
            *["-C"] * workers,
            python,
            *program,
        ]
        sampling = [
            PYTHON_15,
            "-m",
            "profiling.sampling",
            "run",
            "-r",
            "97",
            "--collapsed",
            "-o",
            out["sampled.txt"],
            *children,
        ]
        found["alone, 3.15"] = [PYTHON_15, *program]
        found["pyusdt profile, 3.15"] = [*profile, "--", PYTHON_15, *program]
        found["profiling.sampling, 3.15"] = [*sampling, *program]
        found["profiling.sampling --blocking, 3.15"] = [*sampling, "--blocking", *program]
    found["memray"] = [
        python,
        "-m",
        "memray",
        "run",
        "--quiet",
        "--force",
        "--output",
        out["memray.bin"],
        *["--follow-fork"] * workers,
        *program,
    ]
    return found


def environment() -> dict[str, str]:
    """Programs find jinja2 and gunicorn, which are written in Python, whatever their version is."""
    packages = glob.glob(
        os.path.join(os.path.dirname(tools()), "lib", "python3.*", "site-packages")
    )
    return {**os.environ, "PYTHONPATH": os.pathsep.join([HERE, *packages])}


def measured(command: list[str]) -> tuple[float, float, float]:
    """(wall, processor time of the program, processor time beside it), in seconds."""
    before = os.times()
    printed = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment()
    ).stdout
    after = os.times()
    wall, cpu = json.loads(next(line for line in printed.splitlines() if line.startswith("[")))
    return wall, cpu, sum(after[2:4]) - sum(before[2:4]) - cpu


def asked(address: str) -> list[float]:
    with urllib.request.urlopen(address, timeout=30) as answer:
        return json.load(answer)


def ready(address: str) -> list[float]:
    """What it answers at first."""
    until = time.monotonic() + 60
    while True:
        try:
            return asked(address)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def load(address: str) -> tuple[float, float, int]:
    """(wall, processor time of the workers in the requests, the process above the workers)."""
    ready(address)
    answers: list[list[float]] = []
    clients = [
        threading.Thread(
            target=lambda: answers.extend(asked(address) for _ in range(REQUESTS // 4))
        )
        for _ in range(4)
    ]
    for _ in range(20):  # both workers have rendered
        asked(address)
    began = time.perf_counter()
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    wall, times = (
        time.perf_counter() - began,
        {pid: [cpu for each, _, cpu in answers if each == pid] for pid, _, _ in answers},
    )
    return wall, sum(max(each) - min(each) for each in times.values()), int(answers[0][1])


def under_load(command: list[str], port: int) -> tuple[float, float, float]:
    """As measured()."""
    before = os.times()
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, stdout=said, stderr=said, env=environment()) as process,
    ):
        master = process.pid
        try:
            wall, cpu, master = load(f"http://127.0.0.1:{port}/")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(master, signal.SIGTERM)
            process.wait(60)
    after = os.times()
    return wall, cpu, sum(after[2:4]) - sum(before[2:4]) - cpu


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def once(name: str, profiler: str) -> tuple[float, float, float]:
    if name != GUNICORN:
        return measured(
            commands(name, [os.path.join(HERE, "sampling_program.py"), name, str(TURNS[name])])[
                profiler
            ]
        )
    port = free_port()
    server = [
        "-m",
        "gunicorn",
        "--workers",
        "2",
        "--bind",
        f"127.0.0.1:{port}",
        "sampling_program:application",
    ]
    return under_load(commands(name, server)[profiler], port)


def show(name: str, rounds: int) -> None:
    runs: dict[str, list[tuple[float, float, float]]] = {
        profiler: [] for profiler in commands(name, [])
    }
    for _ in range(rounds):
        for profiler, rows in runs.items():
            try:
                rows.append(once(name, profiler))
            except (OSError, subprocess.SubprocessError, StopIteration, IndexError) as error:
                print(f"{name}: {profiler}: {error!r}"[:200])
    medians = {
        profiler: [statistics.median(column) for column in zip(*rows, strict=True)]
        for profiler, rows in runs.items()
        if rows
    }
    for profiler, (wall, cpu, beside) in medians.items():
        alone = medians[ALONE["3.15" in profiler]]
        print(
            f"{name:10} {profiler:36} wall {wall / alone[0]:.3f}  processor {cpu / alone[1]:.3f}  "
            f"beside it {(beside - alone[2]) / wall:.3f} of a processor",
            flush=True,
        )


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for name in sys.argv[2:] or [*TURNS, GUNICORN]:
        show(name, rounds)


if __name__ == "__main__":
    main()
