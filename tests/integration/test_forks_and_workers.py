"""Forks, raw clones, changed users, worker pools, threads, interpreters, tasks: every event arrives, from the right
process, and nobody is harmed.  The programs count what they fire; pydtrace counts what arrives."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import sys
import textwrap
import time

import pytest

import pyusdt
from tests.support import harness

pytestmark = pytest.mark.own_processes
SCRIPT = 'pyusdt*:::user_trace-i4s4 { @[pid, copyinstr(arg0)] = count(); } END { printa("%d %s %@d\\n", @); }'


def run(
    code: str, tmp_path, *options: str, timeout: float = 60, messages: str = ""
) -> tuple[list[tuple[int, str, int]], str]:
    """[(pid, who, events)] of a program and its children, and its output.  messages: a regular expression for what pydtrace says."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(code))
    shown = harness.run(
        [harness.PYDTRACE, "-q", "-n", SCRIPT, *options, "-c", f"{sys.executable} {path}"],
        timeout=timeout,
    )
    assert shown.status == 0 and re.fullmatch(messages, shown.stderr), shown
    found = re.findall(r"^(\d+) (<\d+\.\d+[^>]*>) (\d+)$", shown.stdout, re.MULTILINE)
    return [(int(pid), who, int(n)) for pid, who, n in found], shown.stdout


def check(found: list[tuple[int, str, int]], processes: int, events: int) -> None:
    """Each process said who it is, and all of its events arrived."""
    assert len({pid for pid, _, _ in found}) == processes, found
    assert all(who.startswith(f"<{pid}.") for pid, who, _ in found), found
    assert sum(n for _, _, n in found) == events, found


def test_fork(tmp_path):
    """Children and grandchildren, which fire at once and after a while."""
    found, _ = run(
        """
        import os, pyusdt
        pyusdt.p(1)
        for _ in range(4):
            if os.fork() == 0:
                for _ in range(100): pyusdt.p(2)
                if os.fork() == 0:
                    pyusdt.p(3); os._exit(0)
                os.wait(); pyusdt.p(4); os._exit(0)
        for _ in range(4): os.wait()
        pyusdt.p(5)
    """,
        tmp_path,
    )
    check(found, 9, 1 + 4 * 102 + 1)


@pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64",
    reason="host: the system call's number",
)
def test_raw_clone(tmp_path):
    """A child that no atfork handler has heard of."""
    found, _ = run(
        """
        import ctypes, os, signal, pyusdt
        pyusdt.p(1)
        libc = ctypes.CDLL(None)
        if libc.syscall(56, signal.SIGCHLD, 0, 0, 0, 0) == 0:
            for _ in range(50): pyusdt.p(2)
            os._exit(0)
        os.wait()
        pyusdt.p(3)
    """,
        tmp_path,
    )
    check(found, 2, 52)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method, tmp_path):
    found, said = run(
        f"""
        import multiprocessing, pyusdt
        def work(n):
            return pyusdt.p(n)
        if __name__ == "__main__":
            context = multiprocessing.get_context("{method}")
            with context.Pool(2) as pool:
                print("true", pool.map(work, range(20), chunksize=1).count(True))
    """,
        tmp_path,
    )
    assert sum(n for _, _, n in found) == 20 and "true 20" in said, (found, said)


def test_prefork_server(tmp_path):
    """As gunicorn does it: imported once, workers forked, one killed and replaced."""
    found, _ = run(
        """
        import os, signal, sys, pyusdt
        def worker():
            pid = os.fork()
            if pid: return pid
            for _ in range(200): pyusdt.p(1)
            sys.stdin.close(); os.kill(os.getpid(), signal.SIGKILL)
        workers = [worker() for _ in range(3)]
        for _ in range(3):
            os.wait(); worker()
        for _ in range(3): os.wait()
    """,
        tmp_path,
    )
    check(found, 6, 1200)


GUNICORN = """
import os, pyusdt
def application(environ, start_response):
    pyusdt.p(int(environ["PATH_INFO"][1:]), "request")
    body = str(os.getpid()).encode()
    start_response("200 OK", [("Content-Length", str(len(body))), ("Connection", "close")])
    return [body]
"""


@pytest.mark.parametrize("preload", [[], ["--preload"]])
def test_gunicorn(preload, tmp_path):
    """The real one, its workers forked after the import, too; one of them is killed and replaced."""
    gunicorn = os.path.join(os.path.dirname(sys.executable), "gunicorn")
    if not os.path.exists(gunicorn):
        pytest.skip("no gunicorn: it is in requirements-dev.txt")
    (tmp_path / "web.py").write_text(GUNICORN)
    address = str(tmp_path / "socket")
    script = 'pyusdt*:::user_trace-i4s4 { printf("%d %d\\n", pid, arg2); }'
    command = f"{gunicorn} --workers 2 --bind unix:{address} --chdir {tmp_path} {' '.join(preload)} web:application"
    tracer = harness.start([harness.PYDTRACE, "-Zq", "-n", script, "-c", command])
    harness.wait_until(lambda: os.path.exists(address))
    pids = [ask(address, n) for n in range(30)]
    os.kill(pids[-1], signal.SIGKILL)
    pids += [ask(address, n) for n in range(30, 60)]
    tracer.send_signal(signal.SIGINT)
    shown = harness.finish(tracer, 30)
    found = re.findall(r"^(\d+) (\d+)$", shown.stdout, re.MULTILINE)
    assert (
        sorted((int(n), int(pid)) for pid, n in found) == list(enumerate(pids))
        and len(set(pids)) >= 2
    ), shown


def ask(address, n):
    """The process that answers a request; a worker that dies with it is asked again."""
    for _ in range(100):
        with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(OSError):
            client.settimeout(20)
            client.connect(address)
            client.sendall(f"GET /{n} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
            answer = b"".join(iter(lambda: client.recv(4096), b""))
            if b"\r\n\r\n" in answer:
                return int(answer.rsplit(b"\r\n", 1)[1])
        time.sleep(0.05)
    raise AssertionError("gunicorn does not answer")


def test_threads(tmp_path):
    """Fifty at once."""
    found, _ = run(
        """
        import threading, pyusdt
        def work():
            for _ in range(200): pyusdt.p(1, "text")
        threads = [threading.Thread(target=work) for _ in range(50)]
        for each in threads: each.start()
        for each in threads: each.join()
    """,
        tmp_path,
        "-b",
        "4m",
    )
    check(found, 1, 10_000)
    assert len(found) >= 40  # a thread id may be used twice


def test_threads_that_do_everything_at_once(tmp_path):
    """What threads share in the extension (asyncio looked for, strictness, an own provider's table) while fifty of them
    fire: each event arrives, with its thread's tag.  It counts most where there is no GIL."""
    path = tmp_path / "shared.py"
    path.write_text(
        textwrap.dedent("""
        import threading, pyusdt
        together = threading.Barrier(50)
        text = bytearray(b"changes")
        def work(n):
            together.wait()
            pyusdt.put_tag(f"tag-{n}")
            own = pyusdt.Provider("shared").probe(f"of-{n % 5}", int)
            for i in range(40):
                if n == 0: import asyncio
                if n == 1: pyusdt.strict(i % 2)
                if n == 2: text[0] = 32 + i
                pyusdt.p(i, text), pyusdt.probe("user_trace-n7").lazy(lambda: (i, "lazy")), own(i)
        threads = [threading.Thread(target=work, args=[n]) for n in range(50)]
        for each in threads: each.start()
        for each in threads: each.join()
    """)
    )
    script = """pyusdt*:::user_trace-i4s4, pyusdt*:::user_trace-n7 { @[probename, copyinstr(arg1)] = sum(arg2); }
                shared*:::of-* { @own = count(); }
                END { printa("%s %s %@d\\n", @); printa("%@d own\\n", @own); }"""
    shown = harness.run(
        [harness.PYDTRACE, "-Zq", "-b", "4m", "-n", script, "-c", f"{sys.executable} {path}"],
        timeout=60,
    )
    sums = dict(re.findall(r"^(user_trace-\S+ tag-\d+) (\d+)$", shown.stdout, re.MULTILINE))
    tagged = [
        f"{probe} tag-{n}" for probe in ("user_trace-i4s4", "user_trace-n7") for n in range(50)
    ]
    assert sums == dict.fromkeys(tagged, str(sum(range(40)))), shown
    assert "2000 own" in shown.stdout and shown.stderr == "", shown


def test_tasks_of_asyncio(tmp_path):
    """Who fires is the task; a thousand of them interleaved, each with its own tag."""
    path = tmp_path / "tasks.py"
    path.write_text(
        textwrap.dedent("""
        import asyncio, pyusdt
        async def work(n):
            pyusdt.put_tag(f"task-{n}")
            for _ in range(3):
                await asyncio.sleep(0)
                pyusdt.p(n)
        async def main():
            await asyncio.gather(*(asyncio.create_task(work(n), name=f"task-{n}") for n in range(1000)))
        asyncio.run(main())
    """)
    )
    script = """pyusdt*:::user_trace-i4s4 { printf("%d %s %s\\n", arg2, copyinstr(arg0), copyinstr(arg1)); }"""
    shown = harness.run(
        [harness.PYDTRACE, "-q", "-b", "4m", "-n", script, "-c", f"{sys.executable} {path}"]
    )
    found = re.findall(r"^(\d+) <\d+\.\d+\.(.*)> (.*)$", shown.stdout, re.MULTILINE)
    assert len(found) == 3000 and all(
        task.partition(".")[2] == tag == f"task-{n}" for n, task, tag in found
    ), shown.stdout[:500]


@pytest.mark.skipif(os.geteuid() != 0, reason="host: not root")
def test_setuid(tmp_path):
    """A child that has become somebody else leaves its parent's session alone, which goes on and counts what the child fires."""
    lost = r"dtrace: what a process that \d+ has forked fires is lost: it cannot make its control file: Permission denied\n"
    found, said = run(
        """
        import os, pyusdt
        pyusdt.p(1)
        pid = os.fork()
        if pid == 0:
            os.setgid(65534); os.setuid(65534)
            print("fired", pyusdt.p(2), flush=True)   # it has no control file of its own in another user's run directory
            os._exit(0)
        os.wait()
        pyusdt.p(3)
    """,
        tmp_path,
        messages=f"{lost}dtrace: 1 drop\n",
    )
    assert "fired True" in said
    check(found, 1, 2)


# For a program: interpreters, and what they run to have pyusdt.
INTERPRETERS = f"import sys; sys.path.append({harness.PROGRAMS!r}); from interpreters import create"
INSIDE = f"import sys; sys.path[:0] = {sys.path!r}; import pyusdt; "


def test_sub_interpreters(tmp_path):
    """Several in one process: each fires, one's end does not end the others' probes."""
    found, _ = run(
        f"""
        {INTERPRETERS}
        import pyusdt
        code = {INSIDE + "[pyusdt.p(i, 'sub') for i in range(10)]"!r}
        for _ in range(3):
            one, other = create(), create()
            for each in (one, other, one):
                each.exec(code)
            one.close()
            pyusdt.p(1)
            other.exec(code)
            other.close()
        pyusdt.p(1)
    """,
        tmp_path,
    )
    check(found, 1, 3 * 41 + 1)


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="host: all interpreters have one GIL before 3.12"
)
def test_interpreters_at_the_same_time(tmp_path):
    """Each in a thread, with a GIL of its own: they load the extension, make the same provider, and fire."""
    fire = (
        "own = pyusdt.Provider('both').probe('one', int); "
        "[(pyusdt.put_tag(i), pyusdt.p(i), own(i)) for i in range(500)]"
    )
    found, _ = run(
        f"""
        {INTERPRETERS}
        import threading
        threads = [threading.Thread(target=create().exec, args=[{INSIDE + fire!r}]) for _ in range(4)]
        for each in threads: each.start()
        for each in threads: each.join()
    """,
        tmp_path,
        "-b",
        "4m",
    )
    check(found, 1, 4 * 500)


def test_own_provider_in_a_fork(tmp_path):
    """Made before the fork, and in the child."""
    path = tmp_path / "forked.py"
    path.write_text(
        textwrap.dedent("""
        import os, pyusdt
        shop = pyusdt.Provider("forked")
        before = shop.probe("before", int)
        before(1)
        if os.fork() == 0:
            before(2)
            shop.probe("in-child", int)(3)
            if os.fork() == 0:
                shop.probe("in-grandchild", int)(4)
                os._exit(0)
            os.wait()
            os._exit(0)
        os.wait()
        shop.probe("after", int)(5)
    """)
    )
    script = 'forked*:::* { printf("%s %d\\n", probename, arg0); }'
    shown = harness.run([harness.PYDTRACE, "-Zq", "-n", script, "-c", f"{sys.executable} {path}"])
    assert shown.stdout.split("\n")[:5] == [
        "before 1",
        "before 2",
        "in-child 3",
        "in-grandchild 4",
        "after 5",
    ], shown


def test_two_threads_make_the_same_provider():
    import threading

    paths = []

    def make():
        paths.append(pyusdt.Provider("racing").probe("one", int).path)

    threads = [threading.Thread(target=make) for _ in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(paths) == 20 and len(set(paths)) == 1


VALGRIND_LOOP = """
import pyusdt, pyusdt._core
probe = pyusdt.probe("user_trace-i4s4")
own = pyusdt.Provider("leaks").probe("one", int, str, float)
class Thing:
    def __str__(self): return "thing" * 10
thing = Thing()
def loop(n):
    fired = 0
    for i in range(n):
        fired += pyusdt.p(i, "text", "zwölf", thing)
        fired += probe(i, thing)
        fired += own(i, thing, 1.5)
        pyusdt.put_tag(str(i))
    return fired
"""


def test_no_leak(tmp_path):
    """A hundred thousand events, traced: the memory does not grow (valgrind's check is the long test's)."""
    path = tmp_path / "leak.py"
    path.write_text(
        VALGRIND_LOOP
        + textwrap.dedent("""
        def pages():
            with open("/proc/self/smaps_rollup") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("Anonymous"))  # not what the tracer maps
        loop(5000)
        before = pages()
        loop(70000)
        print("grown", pages() - before)
    """)
    )
    script = 'pyusdt*:::user_trace-i4s4,leaks*:::one { @ = sum(strlen(copyinstr(probename == "one" ? arg1 : arg7))); }'
    shown = harness.run(
        [harness.PYDTRACE, "-Zq", "-n", script, "-c", f"{sys.executable} {path}"], timeout=60
    )
    assert int(re.search(r"grown (-?\d+)", shown.stdout)[1]) < 1024, shown


def left_behind(tmp_path, code: str) -> tuple[int, int]:
    """(blocks that nobody points to, bytes not given back) at a program's end, by valgrind."""
    path = tmp_path / "leak.py"
    path.write_text(VALGRIND_LOOP + code)
    shown = harness.run(
        ["valgrind", "--leak-check=full", "--show-leak-kinds=definite", sys.executable, str(path)],
        timeout=7200,
        env={**os.environ, "PYTHONMALLOC": "malloc"},
    )
    assert shown.status == 0, shown
    lost = re.search(r"definitely lost: [\d,]+ bytes in ([\d,]+) blocks", shown.stderr)
    kept = re.search(r"in use at exit: ([\d,]+) bytes", shown.stderr)
    return int(lost[1].replace(",", "")), int(kept[1].replace(",", ""))


@pytest.mark.long
@pytest.mark.parametrize("traced", [True, False])
def test_no_leak_for_valgrind(traced, tmp_path):
    """Of a million firings no block is lost, and none is kept; tests/results/long-tests.md has the figures."""
    if lacking := harness.tools("valgrind"):
        pytest.skip(f"no {lacking}")
    code = "assert loop({0}) == 0"
    if traced:
        script = "pyusdt*:::user_trace-i4s4,leaks*:::one {{ @ = count(); }}"
        code = f"import os\nwith pyusdt.trace('{script}', pid=os.getpid()): assert loop({{0}}) == 3 * {{0}}"
    few, many = (left_behind(tmp_path, code.format(n)) for n in (3_334, 333_334))
    print(
        f"valgrind, traced {traced}: (blocks lost, bytes in use) {few} after 10,000 firings, {many} after a million"
    )
    assert many[0] <= few[0] and many[1] < few[1] + (64 << 10), (few, many)
    lost = left_behind(
        tmp_path, "import ctypes\nfor _ in range(100): ctypes.CDLL(None).malloc(3000)\n"
    )
    assert lost[0] >= 90, "valgrind does not see what is lost"
