"""Attach to servers that know nothing of pyusdt, while they work: gunicorn's master and workers, uWSGI, Celery, gevent, a Jupyter kernel.

Input: gunicorn, gevent and Celery of .venv; ipykernel and pyuwsgi from the registry (attach_servers.txt).

- They answer all the time, and each call is counted; after detach they go on, and end as they would have.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from tests.support import harness, pip_packages

pytestmark = pytest.mark.xdist_group("integration/test_attach")
BIN = os.path.dirname(sys.executable)
APPLICATION = """
import os
def work(): return str(os.getpid()).encode()
def counted(): return work()
def application(environ, start_response):
    body = counted() if environ["PATH_INFO"] == "/counted" else work()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""
GEVENT = """
from gevent import monkey; monkey.patch_all()
import sys
from gevent.pywsgi import WSGIServer
from app import application
WSGIServer(("127.0.0.1", int(sys.argv[1])), application, log=None).serve_forever()
"""
REQUESTS, LEARNS = 30, 2.0  # s, in which processes that run learn of a tracer


@pytest.fixture(scope="module")
def packages() -> str:
    return pip_packages.folder_of(
        os.path.join(harness.INTEGRATION, "attach_servers.txt"), depends=True
    )


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ask(port: int, path: str = "") -> int:
    """The process that answered."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=20) as answer:
        return int(answer.read())


def is_up(port: int) -> bool:
    with contextlib.suppress(OSError):
        return ask(port) > 0
    return False


@contextlib.contextmanager
def asking(port: int):
    """Requests all the time; each is answered."""
    ended, failures = threading.Event(), []

    def repeat() -> None:
        while not ended.is_set():
            try:
                ask(port)
            except Exception as error:  # noqa: BLE001
                failures.append(repr(error))
            time.sleep(0.005)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    assert not failures, failures


def pyusdt(*arguments: object) -> None:
    run = harness.run([f"{BIN}/pyusdt", *map(str, arguments)], timeout=60)
    assert (run.status, run.stderr) == (0, ""), run


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def count_calls(port: int, workers: int) -> None:
    """What the tracer counts in all processes is what was asked.  A process that runs learns of it some time after its start."""
    script = """python*:app:work:function-entry /!seen[pid]/ { seen[pid] = 1; printf("seen\\n"); }
                python*:app:counted:function-entry { @ = count(); }"""
    with asking(port), harness.running([f"{BIN}/pydtrace", "-q", "-n", script]) as tracer:
        for _ in range(workers):
            assert tracer.stdout.readline() == "seen\n", tracer.stderr.read()
        for _ in range(REQUESTS):
            ask(port, "counted")
        tracer.send_signal(signal.SIGINT)
        run = harness.finish(tracer, 30)
    assert run.stdout.split() == [str(REQUESTS)], run


@contextlib.contextmanager
def serving(command: list[str], port: int, folder: Path, **environment: str):
    (folder / "app.py").write_text(APPLICATION)
    (folder / "serve_gevent.py").write_text(GEVENT)
    with harness.running(command, cwd=folder, env={**os.environ, **environment}) as process:
        harness.wait_until(lambda: is_up(port) or process.poll() is not None, 60)
        yield process
        process.terminate()
        run = harness.finish(process, 30)
    assert "Traceback" not in run.stderr, run


def attach_under_requests(pids: list[int], port: int, workers: int) -> None:
    """Before CPython 3.12 an idle event loop runs no request of a tracer."""
    with asking(port):
        for _ in range(2):
            pyusdt("attach", *pids)
            pyusdt("detach", *pids)
        pyusdt("attach", *pids)
    count_calls(port, workers)


def detach_under_requests(pids: list[int], port: int) -> None:
    with asking(port):
        pyusdt("detach", *pids)
    assert is_up(port)


def test_gunicorn(tmp_path):
    """Master and workers; a worker that the master forks afterwards has the provider."""
    port = free_port()
    command = [f"{BIN}/gunicorn", "-w", "2", "-b", f"127.0.0.1:{port}", "app:application"]
    with serving(command, port, tmp_path) as master:
        harness.wait_until(lambda: len(children_of(master.pid)) == 2)  # one may answer before
        workers = children_of(master.pid)
        attach_under_requests([master.pid, *workers], port, 2)
        os.kill(workers[0], signal.SIGTERM)
        harness.wait_until(
            lambda: len(children_of(master.pid)) == 2 and workers[0] not in children_of(master.pid)
        )
        count_calls(port, 2)
        detach_under_requests([master.pid, *children_of(master.pid)], port)


def test_uwsgi(tmp_path, packages):
    """Forked in C, without a call of Python's functions."""
    port = free_port()
    command = [
        f"{packages}/bin/uwsgi",
        "--http-socket",
        f"127.0.0.1:{port}",
        "--master",
        "--processes",
        "2",
    ]
    command += [
        "--enable-threads",
        "--module",
        "app:application",
        "--die-on-term",
        "--disable-logging",
    ]
    with serving(command, port, tmp_path, PYTHONPATH=packages) as master:
        attach_under_requests(children_of(master.pid)[:2], port, 2)
        detach_under_requests(children_of(master.pid), port)


def test_gevent(tmp_path):
    """Its own threads are no threads: the provider's is one."""
    port = free_port()
    with serving([sys.executable, "serve_gevent.py", str(port)], port, tmp_path) as server:
        attach_under_requests([server.pid], port, 1)
        detach_under_requests([server.pid], port)


@contextlib.contextmanager
def sending(program: str, environment: dict[str, str]):
    """Tasks all the time, as an idle worker of Celery waits in C (sem_wait) and runs no request of a tracer before 3.12."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.is_set():
            subprocess.run([sys.executable, program, "5"], env=environment, check=True)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_celery(tmp_path):
    """The parent and its pool: each task is counted."""
    environment = {**os.environ, "HOOKS_BROKER": str(tmp_path)}
    (tmp_path / "control").mkdir()
    program = os.path.join(harness.PROGRAMS, "instrument_celery.py")
    command = [f"{BIN}/celery", "-A", "instrument_celery", "worker", "-c", "2", "-l", "CRITICAL"]
    with harness.running(command, cwd=harness.PROGRAMS, env=environment) as parent:
        harness.wait_until(lambda: len(children_of(parent.pid)) == 2, 60)

        def wait_for_tasks() -> None:
            harness.wait_until(lambda: not list(tmp_path.glob("*.celery.msg")), 60)
            time.sleep(1)

        with sending(program, environment):
            for how in ("attach", "detach", "attach"):
                pyusdt(how, "--timeout", "30", "--subprocesses", parent.pid)
        wait_for_tasks()
        script = 'python*:instrument_celery:order:function-entry { @ = count(); } tick-100ms { printf("on\\n"); }'
        with harness.running([f"{BIN}/pydtrace", "-q", "-n", script]) as tracer:
            assert tracer.stdout.readline() == "on\n", tracer.stderr.read()
            time.sleep(LEARNS)
            subprocess.run([sys.executable, program, "20"], env=environment, check=True)
            wait_for_tasks()
            tracer.send_signal(signal.SIGINT)
            run = harness.finish(tracer, 30)
        assert run.stdout.replace("on\n", "").split() == ["20"], run
        with sending(program, environment):
            pyusdt("detach", "--timeout", "30", "--subprocesses", parent.pid)
        parent.terminate()
        ended = harness.finish(parent, 60)
        assert ended.status == 0, ended


KERNEL = """
import sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel()
print(manager.provisioner.pid, flush=True)
for line in sys.stdin:
    answer = client.execute_interactive(line, timeout=60, output_hook=lambda m: m["msg_type"] == "stream" and print(m["content"]["text"].strip(), flush=True))
    assert answer["content"]["status"] == "ok", answer
manager.shutdown_kernel()
print("END", flush=True)
"""


def test_jupyter_kernel(packages):
    """While a cell runs; the next cell is as before."""
    cell = "import time; end = time.monotonic() + 3\\nwhile time.monotonic() < end: time.sleep(0.01)\\nprint(6 * 7)"
    environment = {**os.environ, "PYTHONPATH": packages}
    with harness.running(
        [sys.executable, "-c", KERNEL], stdin=subprocess.PIPE, env=environment
    ) as process:
        pid = int(process.stdout.readline())
        print(f'exec("{cell}")', file=process.stdin, flush=True)
        time.sleep(0.5)
        pyusdt("attach", pid)
        pyusdt("detach", pid)
        assert process.stdout.readline() == "42\n"
        print("print(6 * 8)", file=process.stdin, flush=True)
        assert process.stdout.readline() == "48\n"
        process.stdin.close()
        assert process.stdout.readline() == "END\n"
        process.wait(30)
