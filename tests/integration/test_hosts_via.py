"""pydtrace --via for kubectl, docker and srun, and programs of many processes.

kubectl, docker and srun are STAND-INS here: scripts of these names, which take what the tools' manuals say that these take (kubectl exec
(POD | TYPE/NAME) [-c CONTAINER] [flags] -- COMMAND [args...]; docker exec [OPTIONS] CONTAINER COMMAND [ARG...]; srun [OPTIONS...] executable
[args...]), refuse all else, and run the command.  No cluster was seen.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.support import harness
from tests.support.host_namespaces import PATIENT

pytestmark = pytest.mark.own_processes
LOAD = "import pyusdt\nfor i in range(100): pyusdt.p(i)"
# name: what a call is to look like, as the tool's manual has it; the last group is the command
TOOLS = {
    "kubectl": r"exec(?: (?:-i|--stdin|-q|--quiet|-c \S+|-n \S+|--context=\S+))* (?P<host>[a-z0-9./-]+)(?: (?:-i|--stdin|-c \S+))* -- (?P<command>.+)",
    "docker": r"exec(?: (?:-i|--interactive|--privileged|-u \S+|-w \S+|-e \S+))* (?P<host>[A-Za-z0-9][A-Za-z0-9_.-]*) (?P<command>[^-].*)",
    "srun": r"(?:(?:-w (?P<host>[^-]\S*)|--overlap|-N ?1|-n ?1|--jobid=\d+) )+(?P<command>[^-].*)",
}
STAND_IN = """#!{python}
import os, re, sys
match = re.fullmatch({pattern!r}, " ".join(sys.argv[1:]))
if not match or not match["host"]:
    sys.exit("{name} (a stand-in): usage")
if "-i" not in sys.argv and {reads!r}:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # without -i it has no standard input
command = match["command"].split(" ")
os.environ["HOST"] = match["host"]
os.execvp(command[0], command)
"""


def templates():
    """Those of the user's page."""
    text = Path(harness.ROOT, "docs/howto/hosts.md").read_text()
    return {
        row.split()[0]: row for row in re.findall(r"\| `((?:kubectl|docker|srun) [^`]*)`", text)
    }


@pytest.mark.parametrize("name", TOOLS)
def test_a_template_is_what_its_tool_takes(name, tmp_path, pydtrace):
    """Each host is reached, its name stands where the tool has it, and the bytes go both ways."""
    stand_in = tmp_path / name
    stand_in.write_text(
        STAND_IN.format(python=sys.executable, pattern=TOOLS[name], name=name, reads=name != "srun")
    )
    stand_in.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.path.dirname(harness.PYDTRACE), os.environ["PATH"]])
    script = (
        'pyusdt$target:::user_trace-i4s4 { @[host] = count(); } END { printa("%s %@d\\n", @); }'
    )
    words = [
        "-q",
        *PATIENT,
        "-n",
        script,
        "-c",
        shlex.join([sys.executable, "-c", LOAD]),
        "--hosts",
        "web-1,web-2",
        "--via",
    ]
    done = pydtrace(*words, templates()[name], timeout=120, env={**os.environ, "PATH": path})
    assert done.status == 0 and sorted(done.stdout.split("\n"))[-2:] == [
        "web-1 100",
        "web-2 100",
    ], done
    broken = templates()[name].replace("{host}", "--no-such-option {host}")
    done = pydtrace(*words, broken, timeout=120, env={**os.environ, "PATH": path})
    assert done.status == 1 and f"{name} (a stand-in): usage" in done.stderr, done


POOL = """import multiprocessing, os, sys, pyusdt
def work(number):
    pyusdt.p(number, os.getpid(), 0, 0, os.environ["HOST"])
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(3) as pool:
            pool.map(work, range(100))
            pool.close()
            pool.join()
"""


def test_multiprocessing_needs_nothing(tmp_path, pydtrace):
    """Workers by each method, on two hosts: all that they fire, each once."""
    program = tmp_path / "pool.py"
    program.write_text(POOL)
    via = f"env HOST={{host}} {harness.PYDTRACE} --serve"
    script = """pyusdt*:::user_trace-i4s4 /copyinstr(arg6) == host/ { @[host] = count(); @s = sum(arg2); }
        END { printa("%s %@d\\n", @); printa("sum %@d\\n", @s); }"""
    done = pydtrace(
        "-q",
        *PATIENT,
        "-Z",
        "--hosts",
        "a,b",
        "--via",
        via,
        "-n",
        script,
        "-c",
        shlex.join([sys.executable, str(program)]),
        timeout=120,
    )
    lines = sorted(line for line in done.stdout.split("\n") if line)
    assert done.status == 0 and lines == ["a 300", "b 300", f"sum {6 * sum(range(100))}"], done


APPLICATION = """import os, pyusdt
def app(environ, start_response):
    pyusdt.p(int(environ["QUERY_STRING"]), os.getpid(), 0, 0, os.environ["HOST"])
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
"""
SERVED = """import os, signal, socket, subprocess, sys, time
folder = sys.argv[1]
path = f"{folder}/{os.environ['HOST']}"
server = subprocess.Popen([sys.executable, "-m", "gunicorn", "--chdir", folder, "-w", "3", "-b", f"unix:{path}", "--log-level", "error", "application:app"])
for i in range(60):
    while True:
        with socket.socket(socket.AF_UNIX) as line:
            try:
                line.connect(path)
            except OSError:  # it is not there yet
                time.sleep(0.02)
                continue
            line.sendall(f"GET /?{i} HTTP/1.0\\r\\n\\r\\n".encode())
            answer = b""
            while part := line.recv(4096):
                answer += part
        assert b" 200 OK" in answer, answer
        break
server.send_signal(signal.SIGTERM)
assert server.wait(60) == 0
"""


def test_gunicorn_needs_nothing(tmp_path, pydtrace):
    """Three workers that it forks, on two hosts: all requests, each once."""
    (tmp_path / "application.py").write_text(APPLICATION)
    program = tmp_path / "served.py"
    program.write_text(SERVED)
    via = f"env HOST={{host}} {harness.PYDTRACE} --serve"
    script = """pyusdt*:::user_trace-i4s4 /copyinstr(arg6) == host/ { @[host] = count(); @s = sum(arg2); }
        END { printa("%s %@d\\n", @); printa("sum %@d\\n", @s); }"""
    done = pydtrace(
        "-q",
        *PATIENT,
        "-Z",
        "--hosts",
        "a,b",
        "--via",
        via,
        "-n",
        script,
        "-c",
        shlex.join([sys.executable, str(program), str(tmp_path)]),
        timeout=120,
    )
    lines = sorted(line for line in done.stdout.split("\n") if line)
    assert done.status == 0 and lines == ["a 60", "b 60", f"sum {2 * sum(range(60))}"], done
