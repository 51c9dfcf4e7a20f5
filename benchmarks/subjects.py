"""What is measured: processes that do an operation n times when told to, and say how many nanoseconds it took.

Subject is the whole interface: `ask(operation, n) -> nanoseconds` and `close()`. Python subjects run worker.py,
alone or under pydtrace; C subjects read n from their standard input and print the nanoseconds.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
from glob import glob

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUFSIZE = 16 << 20  # of each ring, in bytes
RINGS = 64 << 20  # of all rings that one thread fills, in bytes (docs/internals/ring.md)
BUILD = os.path.join(ROOT, "build", "benchmarks")
PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")

# Set, pydtrace would compile its modules at each start; who has installed it has them compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def build(target: str, sources: list[str], *options: str) -> str:
    """Compile sources of benchmarks/ to build/benchmarks/target; returns its path."""
    os.makedirs(BUILD, exist_ok=True)
    output = os.path.join(BUILD, target)
    paths = [os.path.join(HERE, source) for source in sources]
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-o", output, *paths, *options], check=True)
    return output


def build_empty() -> None:
    """The extension module with the empty builtin."""
    include = sysconfig.get_paths()["include"]
    build(
        "empty" + sysconfig.get_config_var("EXT_SUFFIX"),
        ["peers/empty.c"],
        "-shared",
        "-fPIC",
        f"-I{include}",
    )


def peers() -> list[str]:
    """Of PyPI's stapsdt and usdt, those that this Python can import: neither is installed by `make`, stapsdt needs a
    libstapsdt.so that no package has, and usdt on Linux is a function that does nothing."""
    return [
        name
        for name in ("stapsdt", "usdt")
        if subprocess.run(
            [sys.executable, "-c", f"import {name}"], check=False, stderr=subprocess.DEVNULL
        ).returncode
        == 0
    ]


class CSubject:
    """A C program that fires: threads.h says what it reads and prints. An operation is the number of threads."""

    def __init__(self, command: list[str], environment: dict[str, str] | None = None):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )

    def ask(self, operation: str, n: int) -> int:
        print(operation, n, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=30)


class PythonSubject:
    """worker.py by itself: pyusdt loaded, nobody tracing."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="pyusdt-bench-", dir="/dev/shm")
        path = os.path.join(self.folder, "orders")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(1)
        listener.settimeout(30)
        self.process = self.start(self.worker(path))
        try:
            self.connection, _ = listener.accept()
        except TimeoutError:
            raise RuntimeError(f"{self.process.args} does not start {self.said()}") from None
        finally:
            listener.close()
        self.stream = self.connection.makefile("rw")

    def worker(self, path: str) -> str:
        return f"{sys.executable} {HERE}/worker.py {path}"

    def said(self) -> str:
        return ""

    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYUSDT_BENCH_BUILD": BUILD}

    def start(self, command: str) -> subprocess.Popen:
        return subprocess.Popen(command.split(), env=self.environment())

    def ask(self, operation: str, n: int) -> int:
        print(operation, n, file=self.stream, flush=True)
        return int(self.stream.readline())

    def end(self) -> None:
        self.stream.close()
        self.connection.close()
        self.process.wait(timeout=30)

    def close(self) -> None:
        self.end()
        shutil.rmtree(self.folder)


# CPU time: an import waits for nothing, and in a new process a busy machine's scheduler would be most of what is measured
START = """import time
start = time.process_time_ns()
import {module}
took = time.process_time_ns() - start
with open("/proc/self/smaps_rollup") as file:
    print(took, next(int(line.split()[1]) for line in file if line.startswith("Private_Dirty")))
"""


def start_folder() -> str:
    """A folder with pyusdt and the empty extension in it: first on the path, it makes finding either cost the same."""
    folder = os.path.join(BUILD, "start")
    os.makedirs(folder, exist_ok=True)
    for path in (
        *glob(os.path.join(ROOT, "src", "py*", "")),
        *glob(os.path.join(BUILD, "empty.*.so")),
    ):
        link = os.path.join(folder, os.path.basename(path.rstrip("/")))
        if not os.path.lexists(link):
            os.symlink(path, link)
    return folder


def start_cost(module: str) -> tuple[int, int]:
    """What the import of a module costs a new process: nanoseconds of CPU time, and KiB of memory that it has to itself then."""
    done = subprocess.run(
        [sys.executable, "-c", START.format(module=module)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": start_folder(), "PYTHONDONTWRITEBYTECODE": ""},
    )
    nanoseconds, kibibytes = map(int, done.stdout.split())
    return nanoseconds, kibibytes


def provider_cost(n: int) -> float:
    """Nanoseconds of CPU time that a new probe of one's own takes in a process that makes n of them, its file being in the cache."""
    code = (
        f"import time, pyusdt; shop = pyusdt.Provider('bench_made'); start = time.process_time_ns()\n"
        f"for i in range({n}): shop.probe(f'probe-{{i}}', int, str)\nprint((time.process_time_ns() - start) / {n})"
    )
    return float(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
    )


def cpu_nanoseconds(pid: int) -> int:
    """CPU time that a process has used so far, in all its threads."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total


def delivered(said: str) -> int:
    """Events that a script saw: `delivered N` is what it says at its END."""
    found = re.search(r"^delivered (\d+)$", said, re.MULTILINE)
    return int(found[1]) if found else 0


class TracedSubject(PythonSubject):
    """worker.py under pydtrace. The script's output and the drops that pydtrace reports are kept."""

    def __init__(self, script: str):
        self.script = script
        self.asked = 0
        super().__init__()

    def start(self, command: str) -> subprocess.Popen:
        command_line = [
            PYDTRACE,
            "-Zq",
            "-x",
            f"bufsize={BUFSIZE}",
            "-n",
            self.script,
            "-c",
            command,
        ]
        with open(self.path("output"), "w") as output, open(self.path("errors"), "w") as errors:
            return subprocess.Popen(
                command_line, env=self.environment(), stdout=output, stderr=errors
            )

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def said(self) -> str:
        """All that pydtrace has printed."""
        text = ""
        for name in ("output", "errors"):
            with open(self.path(name)) as file:
                text += file.read()
        return text

    def ask(self, operation: str, n: int) -> int:
        self.asked += n
        return super().ask(operation, n)

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "PYUSDT_RUNDIR": self.path("run")}

    def shared_bytes(self) -> int:
        """Memory that the files of the session and of the traced process take."""
        return sum(
            os.stat(os.path.join(self.path("run"), name)).st_blocks * 512
            for name in os.listdir(self.path("run"))
        )

    def consumer_nanoseconds(self) -> int:
        """CPU time that pydtrace has used so far."""
        return cpu_nanoseconds(self.process.pid)

    def accounted(self, said: str) -> int:
        """Events that the script saw, or that it says were lost."""
        return delivered(said)

    def close(self) -> None:
        """Ends, and raises unless every event is accounted for."""
        self.end()
        said = self.said()
        shutil.rmtree(self.folder)
        if self.process.returncode or self.accounted(said) != self.asked:
            raise RuntimeError(f"{self.asked} events asked for, pydtrace said: {said[-500:]}")


class StoppedSubject(TracedSubject):
    """worker.py under a pydtrace that can be stopped: what it misses meanwhile is dropped, and counted."""

    def stop(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def accounted(self, said: str) -> int:
        return super().accounted(said) + sum(
            map(int, re.findall(r"^dtrace: (\d+) drops?\b", said, re.MULTILINE))
        )


class TracedCoreSubject(TracedSubject):
    """core_worker.c under pydtrace: the C core's files that a traced process needs, as in setup.py.

    An operation is the number of threads; each of them fires n times.
    """

    def ask(self, operation: str, n: int) -> int:
        self.asked += n * (int(operation) - 1)
        return super().ask(operation, n)

    def worker(self, path: str) -> str:
        sources = [
            "core_worker.c",
            *sorted(
                path for folder in ("target", "shared") for path in glob(f"{ROOT}/c/{folder}/*.c")
            ),
        ]
        includes = [f"-I{ROOT}/{folder}" for folder in ("include", "c", "c/generated")]
        program = build(
            "core_worker",
            sources,
            "-std=gnu11",
            "-fvisibility=hidden",
            "-DPYUSDT_NO_SITES=1",
            *includes,
            "-pthread",
        )
        return f"{program} {path}"


class FamilySubject(TracedSubject):
    """family.py under pydtrace: each of its processes fires n times."""

    def __init__(self, script: str, size: int):
        self.size = size
        super().__init__(script)

    def ask(self, operation: str, n: int) -> int:
        self.asked += n * (self.size - 1)
        return super().ask(operation, n)

    def worker(self, path: str) -> str:
        return f"{sys.executable} {HERE}/family.py {path} {self.size}"


class SharedSubject(PythonSubject):
    """worker.py with a run directory of its own, and as many tracers of it, which all see each event."""

    def __init__(self, script: str, size: int):
        self.script, self.asked = script, 0
        super().__init__()
        self.tracers = [self.tracer() for _ in range(size)]
        for tracer in self.tracers:
            tracer.stdout.readline()  # BEGIN's: it traces

    def environment(self) -> dict[str, str]:
        """CPU time: with that many tracers the process waits for a processor most of the time."""
        return {
            **super().environment(),
            "PYUSDT_RUNDIR": os.path.join(self.folder, "run"),
            "PYUSDT_BENCH_CPU": "1",
        }

    def tracer(self) -> subprocess.Popen:
        command = [
            PYDTRACE,
            "-q",
            "-n",
            'BEGIN { printf("ready\\n"); } ' + self.script,
            "-p",
            str(self.process.pid),
        ]
        return subprocess.Popen(command, env=self.environment(), stdout=subprocess.PIPE, text=True)

    def ask(self, operation: str, n: int) -> int:
        self.asked += n
        return super().ask(operation, n)

    def consumer_nanoseconds(self) -> int:
        return sum(cpu_nanoseconds(tracer.pid) for tracer in self.tracers)

    def close(self) -> None:
        """Ends, and raises unless every tracer has seen every event."""
        self.end()
        outputs = [tracer.communicate(timeout=60)[0] for tracer in self.tracers]
        shutil.rmtree(self.folder)
        for said in outputs:
            if delivered(said) != self.asked:
                raise RuntimeError(
                    f"{self.asked} events asked for, one of {len(self.tracers)} tracers said: {said[-500:]}"
                )


class LttngSession:
    """A session of LTTng-UST in snapshot mode (memory only, the oldest overwritten) that enables our tracepoint.

    Uses the user's own session daemon; one that had to be started is ended with the session.
    """

    NAME = "pyusdt-bench"

    def __init__(self):
        self.daemon = None
        self.pid_file = os.path.join(tempfile.mkdtemp(prefix="pyusdt-lttng-"), "pid")
        if self.lttng("list", check=False):
            subprocess.run(
                ["lttng-sessiond", "--daemonize", "--no-kernel", "--pidfile", self.pid_file],
                check=True,
                timeout=30,
            )
            with open(self.pid_file) as file:
                self.daemon = int(file.read())
        self.lttng("destroy", self.NAME, check=False)
        self.lttng("create", self.NAME, "--snapshot")
        self.lttng("enable-channel", "--userspace", "bench", "--subbuf-size=1M", "--num-subbuf=8")
        self.lttng("enable-event", "--userspace", "--channel=bench", "pyusdt_bench:i4s4")
        self.lttng("start")

    @staticmethod
    def lttng(*arguments: str, check: bool = True) -> int:
        command = ["lttng", "--no-sessiond", *arguments]
        done = subprocess.run(
            command,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stdout}")
        return done.returncode

    def close(self) -> None:
        self.lttng("destroy", self.NAME)
        if self.daemon:
            os.kill(self.daemon, signal.SIGTERM)
        shutil.rmtree(os.path.dirname(self.pid_file))
