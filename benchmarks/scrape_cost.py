"""What a scrape of `pydtrace --metrics` costs the traced program, in instructions of it (callgrind): they do not depend on the machine's load.

Input: nothing; needs valgrind.
Output: a line "SCRAPES INSTRUCTIONS" for a program that fires 20,000 times, first with nobody who
asks, then with somebody who asks all the time.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = os.path.dirname(sys.executable)
PROGRAM = (
    "import pyusdt, sys\nsys.stdin.readline()\nfor i in range(20000):\n    pyusdt.p(1, i, '/a')"
)
SCRIPT = "#pragma D metric n name=n\n#pragma D metric q name=q\npyusdt*:::user_trace-i4s4 { @n[copyinstr(arg6)] = count(); @q = quantize(arg3); }"


def main() -> None:
    for asked in (False, True):
        with tempfile.TemporaryDirectory(prefix="pyusdt-scrape-", dir="/dev/shm") as rundir:
            print(
                *measured(
                    asked, {**os.environ, "PYUSDT_RUNDIR": rundir, "PYTHONHASHSEED": "0"}, rundir
                )
            )


def measured(asked: bool, environment: dict[str, str], rundir: str) -> tuple[int, int]:
    """(scrapes, instructions of the program)"""
    command = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        sys.executable,
        "-c",
        PROGRAM,
    ]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        while not any(str(program.pid) in name for name in os.listdir(rundir)):
            time.sleep(0.1)
        tracing = [
            os.path.join(HERE, "pydtrace"),
            "-q",
            "--metrics=0",
            "--ready",
            "-p",
            str(program.pid),
            "-n",
            SCRIPT,
        ]
        with subprocess.Popen(
            tracing, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as tracer:
            address = re.search(r"http://\S+", tracer.stderr.readline() if tracer.stderr else "")
            assert address and tracer.stderr and tracer.stderr.readline() == "dtrace: ready\n"
            over, scrapes = threading.Event(), [0]
            asking = threading.Thread(target=ask, args=(address[0], over, scrapes))
            if asked:
                asking.start()
            _, told = program.communicate("\n")
            over.set()
            tracer.terminate()
            if asked:
                asking.join()
    found = re.search(r"Collected : (\d+)", told)
    assert found, told
    return scrapes[0], int(found[1])


def ask(address: str, over: threading.Event, scrapes: list[int]) -> None:
    while not over.wait(0.02):
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                answer.read()
        except OSError:  # the tracing is over
            return
        scrapes[0] += 1


if __name__ == "__main__":
    main()
