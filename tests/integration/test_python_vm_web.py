"""The provider `python` in web applications that know nothing of it, under their servers: counts against the applications' own.

Input: CPythons of this machine; Django, gunicorn, FastAPI and uvicorn from the registry, in an
environment of each.

- Servers of this test listen on 127.0.0.1 alone, and end with it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from tests.support import harness, python_builds

pytestmark = [pytest.mark.xdist_group("integration/test_python_vm_web"), pytest.mark.long]
REQUESTS = 60
SERVERS = {
    "django": "gunicorn --chdir {programs} -b 127.0.0.1:{port} -w 1 vm_django:application",
    "fastapi": "uvicorn --app-dir {programs} --host 127.0.0.1 --port {port} --loop asyncio --log-level warning vm_fastapi:application",
    "standard library": "python {programs}/vm_http.py {port}",
}
MODULES = {"django": "vm_django", "fastapi": "vm_fastapi", "standard library": "__main__"}


def version_of(python: str) -> tuple[int, ...]:
    return tuple(
        map(
            int,
            harness.run([python, "-c", "import sys; print(*sys.version_info[:2])"]).stdout.split(),
        )
    )


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@pytest.fixture(scope="module", params=["3.11", "3.12", "3.13", "3.14", "3.15"])
def environment(request, tmp_path_factory) -> str:
    """The folder of programs of a virtual environment with the servers; pyusdt is not in it."""
    python = python_builds.find(request.param)
    if python is None:
        pytest.skip(f"host: no CPython {request.param}")
    python_builds.build(python)
    folder = tmp_path_factory.mktemp("web")
    subprocess.run([python, "-m", "venv", folder], check=True)
    done = harness.run(
        [
            str(folder / "bin" / "pip"),
            "install",
            "-q",
            "--only-binary",
            ":all:",
            "--disable-pip-version-check",
            "django",
            "gunicorn",
            "fastapi",
            "uvicorn",
        ],
        timeout=300,
    )
    if done.status != 0:
        pytest.skip(
            f"host: no wheels of the servers for CPython {request.param}: {done.stderr[-200:]}"
        )
    return str(folder / "bin")


def get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5) as answer:
        return answer.read().decode()


def is_up(port: int) -> bool:
    with contextlib.suppress(OSError):
        get(port, "count")
        return True
    return False


def ask(port: int) -> int:
    """How often the application says that it was called."""
    for _ in range(REQUESTS):
        get(port, "work")
    return int(get(port, "count"))


def words(name: str, port: int) -> list[str]:
    """The command line of a server; its first word is a program of the environment."""
    return SERVERS[name].format(programs=harness.PROGRAMS, port=port).split()


def of_python(name: str, port: int) -> list[str]:
    """The same, as a Python has it behind its name."""
    first, *arguments = words(name, port)
    return arguments if first == "python" else ["-m", first, *arguments]


def tracing(name: str, *options: str, python: str = sys.executable) -> subprocess.Popen:
    """A tracer that counts work(), and says when it first sees count(): a process that runs learns of it some time after its start."""
    module = MODULES[name]
    script = (
        f"python*:{module}:work:function-entry {{ @ = count(); }}"
        f'python*:{module}:count:function-entry /!seen/ {{ seen = 1; printf("seen\\n"); }}'
    )
    return harness.start(
        [*python_builds.pydtrace(python), "-q", "-n", script, *options], start_new_session=True
    )


def check(tracer: subprocess.Popen, port: int) -> None:
    """The application and the tracer have counted the same."""
    harness.wait_until(lambda: is_up(port) and select.select([tracer.stdout], [], [], 0)[0], 60)
    assert tracer.stdout.readline() == "seen\n", harness.finish(tracer, 60)
    own = ask(port)
    tracer.send_signal(signal.SIGINT)
    run = harness.finish(tracer, 60)
    assert own == REQUESTS and run.stdout.split() == [str(own)], run


@contextlib.contextmanager
def ended(process: subprocess.Popen):
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def worker_of(pid: int) -> int:
    """The process that answers: gunicorn's is a child of the one that was started."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return int((file.read().split() or [pid])[0])


@contextlib.contextmanager
def serving(command: list[str], port: int, **surroundings: str):
    """The pid of a server that runs."""
    with ended(
        harness.start(command, start_new_session=True, env={**os.environ, **surroundings})
    ) as process:
        harness.wait_until(lambda: is_up(port), 60)
        yield process.pid


@pytest.mark.parametrize("name", SERVERS)
def test_by_c(environment, name):
    port = free_port()
    first, *arguments = words(name, port)
    with ended(tracing(name, "-c", " ".join([f"{environment}/{first}", *arguments]))) as tracer:
        check(tracer, port)


@pytest.mark.parametrize("name", SERVERS)
def test_by_p(environment, name):
    port = free_port()
    command = [f"{environment}/python", "-m", "pyusdt", *of_python(name, port)]
    with (
        serving(command, port, PYTHONPATH=python_builds.ROOM) as pid,
        ended(tracing(name, "-p", str(pid))) as tracer,
    ):
        check(tracer, port)


@pytest.mark.parametrize("name", SERVERS)
def test_by_attach(environment, name):
    """Nothing of pyusdt is in the server until its tracer comes."""
    python, port = f"{environment}/python", free_port()
    if version_of(python) < (3, 14):
        pytest.skip("host: this CPython lets nobody in (test_python_vm_injection.py, what it says)")
    with (
        serving([python, *of_python(name, port)], port) as pid,
        ended(tracing(name, "--attach", "-p", str(worker_of(pid)), python=python)) as tracer,
    ):
        check(tracer, port)
