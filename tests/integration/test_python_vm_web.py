"""The provider `python` in web applications that know nothing of it, under their servers: counts against the applications' own.

In:      CPythons of this machine; Django, gunicorn, FastAPI and uvicorn from the registry, in an environment of each.
Always:  servers of this test listen on 127.0.0.1 alone, and end with it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import urllib.request

import builds
import harness
import pytest

pytestmark = [pytest.mark.xdist_group("integration/test_python_vm_web"), pytest.mark.long]
REQUESTS = 60
SERVERS = {"django": "gunicorn --chdir {programs} -b 127.0.0.1:{port} -w 1 vm_django:application",
           "fastapi": "uvicorn --app-dir {programs} --host 127.0.0.1 --port {port} --loop asyncio --log-level warning vm_fastapi:application"}
SCRIPT = 'python*:vm_{}:work:function-entry {{ @ = count(); }}'


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@pytest.fixture(scope="module", params=["3.11", "3.12", "3.13", "3.14", "3.15"])
def environment(request, tmp_path_factory) -> str:
    """The folder of programs of a virtual environment with the servers; pyusdt is not in it."""
    python = builds.find(request.param)
    if python is None:
        pytest.skip(f"host: no CPython {request.param}")
    builds.build(python)
    folder = tmp_path_factory.mktemp("web")
    subprocess.run([python, "-m", "venv", folder], check=True)
    done = harness.run([str(folder / "bin" / "pip"), "install", "-q", "--only-binary", ":all:", "--disable-pip-version-check", "django",
                        "gunicorn", "fastapi", "uvicorn"], timeout=300)
    if done.status != 0:
        pytest.skip(f"host: no wheels of the servers for CPython {request.param}: {done.stderr[-200:]}")
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
    harness.wait_until(lambda: is_up(port), 60)
    for _ in range(REQUESTS):
        get(port, "work")
    return int(get(port, "count"))


@contextlib.contextmanager
def ended(process: subprocess.Popen):
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize("name", SERVERS)
def test_by_c(environment, name):
    port = free_port()
    server = SERVERS[name].format(programs=harness.PROGRAMS, port=port)
    tracer = harness.start([*builds.pydtrace(), "-q", "-n", SCRIPT.format(name), "-c", f"{environment}/{server}"], start_new_session=True)
    with ended(tracer):
        own = ask(port)
        tracer.send_signal(signal.SIGINT)
        run = harness.finish(tracer, 60)
    assert own == REQUESTS and run.stdout.split() == [str(own)], run


@pytest.mark.parametrize("name", SERVERS)
def test_by_p(environment, name):
    port = free_port()
    program, *arguments = SERVERS[name].format(programs=harness.PROGRAMS, port=port).split()
    command = [f"{environment}/python", "-m", "pyusdt", "-m", program, *arguments]
    server = harness.start(command, start_new_session=True, env={**os.environ, "PYTHONPATH": builds.ROOM})
    with ended(server):
        harness.wait_until(lambda: is_up(port), 60)
        tracer = harness.start([*builds.pydtrace(), "-q", "--ready", "-n", SCRIPT.format(name), "-p", str(server.pid)], start_new_session=True)
        with ended(tracer):
            assert tracer.stderr.readline() == "dtrace: ready\n"
            own = ask(port)
            tracer.send_signal(signal.SIGINT)
            run = harness.finish(tracer, 60)
    assert own == REQUESTS and run.stdout.split() == [str(own)], run
