"""pyusdt scripts, show and trace: the scripts that are installed with the package, by their names."""

import os
import re
import signal
import subprocess
import sys

import pytest

from pydtrace.cli.commands import scripts

HERE = os.path.dirname(os.path.abspath(__file__))
PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")
PROGRAM = """
import pyusdt, sys
web = pyusdt.Provider(sys.argv[1])
done = web.probe(sys.argv[2], status=int, duration=int, **{sys.argv[3]: str})
query = pyusdt.Provider("db").probe("query-done", statement=str, rows=int, duration=int)
print("there", flush=True)
for line in sys.stdin:
    for route, status, ms in (("/fast", 200, 2), ("/slow", 500, 40), ("/slow", 200, 40)):
        done(status, ms * 1000000, route)
        query("select " + route, 1, ms * 1000)
    print("fired", flush=True)
"""


def pyusdt(*arguments):
    return subprocess.run(
        [PYUSDT, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_every_one_is_listed_and_shown():
    lines = pyusdt("scripts").stdout.splitlines()
    groups = [line for line in lines[1:] if line.startswith("for ")]
    listed = [line.split()[0] for line in lines[1:] if line and line not in groups]
    assert sorted(listed) == scripts.names() and len(listed) > 40
    assert len(groups) == 5 and lines.index(groups[0]) < lines.index(groups[1])
    first = lines[lines.index(groups[0]) + 1 : lines.index(groups[1]) - 1]
    assert groups[0].startswith("for any Python program")
    assert [line.split()[0] for line in first] == [n for n in scripts.names() if n[:3] == "py-"]
    for name in ("latency", "who"):
        with open(
            os.path.join(HERE, os.pardir, os.pardir, "scripts", f"{name}.d"), encoding="utf-8"
        ) as file:
            assert pyusdt("show", name).stdout == file.read()


@pytest.mark.parametrize("name", scripts.names())
def test_its_options_are_its_arguments(name):
    """As many as it reads, $1 on; numbers where it does not say $$1, nor names a part of a description by it (:$2:)."""
    script = scripts.Script(name)
    body = script.text.partition("*/")[2]
    used = {
        int(number): dollars == "$" and not colon
        for colon, dollars, number in re.findall(r"(:?)(\$+)([0-9])", body)
    }
    assert used == {number: option.integer for number, option in enumerate(script.options, 1)}
    assert "?" in script.question


def test_help_and_errors():
    shown = pyusdt("trace", "slow-calls", "--help")
    assert (
        shown.returncode == 0
        and "--ms N" in shown.stdout
        and "how many milliseconds are long; 20 if" in shown.stdout
    )
    for arguments, status, message in [
        (
            ["latenci"],
            2,
            "no script is called 'latenci': `pyusdt scripts` lists the scripts\nhint: did you mean latency?",
        ),
        (["slow-calls", "--ms", "x"], 2, "invalid int value: 'x'"),
        (["py-flow"], 2, "required: --function"),
        (["latency", "--name", "x=y"], 1, "latency names no probe and no argument x"),
        (["latency", "--name", "x"], 2, "'x' is not OLD=NEW"),
        (["latency", "--provider", "a*:::,b"], 2, "is not a name"),
        (["latency", "--name", "route=x; exit(0)"], 2, "is not a name"),
        (["who", "-p"], 2, "option requires an argument"),
    ]:
        got = pyusdt("trace", *arguments)
        assert got.returncode == status and message in got.stderr, got


def test_a_script_with_its_option():
    """As tests/scripts/test_scripts.py runs it with pydtrace."""
    got = pyusdt(
        "trace", "slow-calls", "--ms", "20", "-c", f"{sys.executable} {HERE}/shop.py operations"
    )
    assert (
        got.returncode == 0
        and len(re.findall(r"^ +\d\d+ ms  /slow  order 1[012]$", got.stdout, re.MULTILINE)) == 3
    ), got
    got = pyusdt(
        "trace", "slow-calls", "--ms=100000", "-c", f"{sys.executable} {HERE}/shop.py operations"
    )
    assert got.returncode == 0 and "ms" not in got.stdout, got


def test_the_copy_where_there_is_no_memory_file(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    *_, path = scripts.build_command_line(scripts.Script("failures"), ["--provider", "shop"])[:3]
    with open(path, encoding="utf-8") as file:
        assert "\nshop*:::request-done\n" in file.read()


NAMED = ["--provider", "named_shop", "--name", "request-done=order-placed", "--name", "route=item"]


@pytest.mark.parametrize(
    ("script", "probe", "more", "wanted"),
    [
        (
            "latency",
            ["http", "request-done", "route"],
            [],
            r"/slow +\n.*\n +16 \|  +0 *\n +32 \|@+ 2",
        ),
        (
            "latency",
            ["named_shop", "order-placed", "item"],
            NAMED,
            r"/slow +\n.*\n +16 \|  +0 *\n +32 \|@+ 2",
        ),
        (
            "latency-percentiles",
            ["http", "request-done", "route"],
            [],
            r"\ndurations in microseconds, each percentile .*\n(.*\n)*  /slow +p50=40000 .* max=40000\n",
        ),
        (
            "failures",
            ["http", "request-done", "route"],
            [],
            r"/slow +500 +1\nrequests: 3, failed: 1",
        ),
        (
            "failures",
            ["http", "request-done", "route"],
            ["--status", "200"],
            r"requests: 3, failed: 3",
        ),
        (
            "queries",
            ["http", "request-done", "route"],
            [],
            r"\ntime in the database, by statement\n +2 us  select /fast\n +80 us  select /slow",
        ),
    ],
)
def test_whatever_has_probes_with_these_names(script, probe, more, wanted):
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *probe],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout.readline() == "there\n"
        ready, told = os.pipe()
        with (
            subprocess.Popen(
                [PYUSDT, "trace", script, *more, "-p", str(program.pid), f"--ready={told}"],
                pass_fds=[told],
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            ) as tracer,
            open(ready, "rb") as waiting,
        ):
            os.close(told)
            assert waiting.read(1), tracer.communicate()[1]
            program.stdin.write("\n")
            program.stdin.flush()
            assert program.stdout.readline() == "fired\n"
            tracer.send_signal(signal.SIGINT)
            printed, errors = tracer.communicate(timeout=60)
        program.stdin.close()
    assert re.search(wanted, printed) and (tracer.returncode, errors) == (0, ""), printed + errors
