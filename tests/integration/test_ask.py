"""pyusdt ask and pyusdt mcp: the same answers, nothing that changes a program, every call on record.  The second is asked by the protocol's
own client."""

import json
import os
import re
import subprocess
import sys
import textwrap

import pytest

from pydtrace.ask import PERMISSIONS
from pydtrace.ask.audit_log import AuditLog
from pydtrace.ask.script_check import Refused, check_script
from pydtrace.ask.tools import TOOLS, Door
from pydtrace.installed_scripts import script_names, script_text
from tests.support import harness, pip_packages

pytestmark = pytest.mark.own_processes

PYUSDT = os.path.join(os.path.dirname(harness.PYDTRACE), "pyusdt")
SCRIPT = "pyusdt$target:::user_trace-i4s4 { @calls[copyinstr(arg6)] = count(); }"
PROGRAM = textwrap.dedent("""
    import pyusdt, time
    print("there", flush=True)
    while True:
        pyusdt.p(1, 2, "/a")
        time.sleep(0.01)
""")

WATCHED = textwrap.dedent("""
    import pyusdt.vm, time
    def price(cart, factor):
        return 4 * factor
    pyusdt.vm.enable()
    print("there", flush=True)
    while True:
        price(["tea"], 2)
        price(["tea"], 3)
        time.sleep(0.01)
""")


@pytest.fixture(scope="module")
def program():
    with harness.running([sys.executable, "-c", PROGRAM]) as process:
        assert process.stdout.readline() == "there\n"
        yield process.pid


def ask(*words, status=0):
    got = harness.run([PYUSDT, "ask", "--json", *words], timeout=90)
    assert got.status == status, got
    return json.loads(got.stdout) if status == 0 else got.stderr


def test_processes_and_probes(program):
    found = ask("list_processes")
    (process,) = [each for each in found["processes"] if each["pid"] == program]
    assert process["providers"] and found["cut"] == []
    found = ask("list_probes", f"pid={program}", "pattern=user_trace-i4s4")
    assert [(row["provider"], row["name"]) for row in found["probes"]] == [
        ("pyusdt", "user_trace-i4s4")
    ]


def test_a_script_runs_for_its_time(program):
    found = ask("run_script", f"pid={program}", "seconds=2", f"script={SCRIPT}")
    ((row,),) = found["aggregations"].values()
    assert row["keys"] == ["/a"] and row["function"] == "count" and row["value"] == row["n"] > 10
    assert (found["errors"], found["drops"], found["cut"]) == ([], {}, [])


def test_a_dry_run_counts_for_a_second(program):
    found = ask("check_script", f"pid={program}", f"script={SCRIPT} tick-9s {{ x = 1; }}")
    first, clock = found["probes"]
    assert found["valid"] and 10 < first["events_per_second"] < 200
    assert clock == {"description": ":::tick-9s", "events_per_second": None}
    found = ask("check_script", f"pid={program}", "script=BEGIN { trace(nothing); }")
    assert found["valid"] is False and "nothing" in found["problem"]


def test_stacks_profiles_pages(program):
    (process,) = ask("dump", f"pid={program}")["processes"]
    assert process["threads"][0]["frames"][-1]["function"] == "<module>"
    found = ask("profile", f"pid={program}", "seconds=1")
    assert all(row["with_calls"] >= row["alone"] for row in found["functions"])
    page = ask("read_manual", "topic=language")
    (rest,) = page["cut"]
    more = ask("read_manual", "topic=language", f"offset={len(page['text'])}")
    assert rest.endswith(f"offset {len(page['text'])}") and page["text"] != more["text"]
    assert "latency" in ask("list_scripts")["scripts"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "there is no tool nothing: list_processes, "),
        (["dump"], "dump needs pid: the process"),
        (["dump", "pid=x"], "pid has to be an integer"),
        (["dump", "pid=-1"], "pid has to be from 1 to"),
        (["run_script", "script=BEGIN { x = 1; }", "seconds=61"], "seconds has to be from 1 to 60"),
        (["dump", "pid=1", "secrets=1"], "dump has no argument secrets"),
        (["heap", "pid=1"], "heap has to be allowed by the person who started this: --allow attach"),
        (["attach", "pid=1"], "attach has to be allowed by the person who started this: --allow attach"),
        (["dump_locals", "pid=1"], "--allow values"),
        (["watch", "pid=1", "function=f"], "--allow values"),
        (["run_script", "script=python*:::function-entry { @[repr(local.x)] = count(); }"], "local shows values of the program"),
        (["run_script", "script=python*:::function-return /retval > 1/ { @ = count(); }"], "retval shows values of the program"),
        (["check_script", "script=python*:::line { trace(global.x); }"], "--allow values"),
        (["watch", "pid=1", "function=--help x", "--allow", "values"], "--help x is no function"),
        (["watch", "pid=1", "function=f", 'where=1/ { system("id"); } BEGIN / 1', "--allow", "values"], "system() is not allowed here"),
        (["run_installed_script", "name=../x"], "no script is called ../x"),
        (["read_manual", "topic=--json"], "--json is no topic"),
        (["dump", "pid"], "pid is not NAME=VALUE"),
    ],
)  # fmt: skip
def test_refusals(words, message):
    assert message in ask(*words, status=1)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ('BEGIN { system("id"); }', "system() is not allowed here"),
        ('BEGIN { x = 1 ? (int)setopt("destructive") : 0; }', "setopt() is not allowed here"),
        ('BEGIN { freopen("/tmp/x"); }', "freopen() is not allowed"),
        ("BEGIN { raise(9); }", "raise() is not allowed"),
        ("BEGIN { copyout(0, 0, 1); }", "copyout() is not allowed"),
        ("#pragma D option destructive\nBEGIN { x = 1; }", "#pragma D option destructive"),
        ("#pragma D option secrets\nBEGIN { x = 1; }", "#pragma D option secrets"),
        ('#pragma D option otlp="http://127.0.0.1:1"\nBEGIN { x = 1; }', "the script is no D"),
        ("#pragma D option cpp\nBEGIN { x = 1; }", "is not allowed here"),
        ('#include "/etc/passwd"\nBEGIN { x = 1; }', "the script is no D"),
        ("BEGIN { x = ", "the script is no D"),
        ("", "the script is no D"),
        ("BEGIN { x = 1; }" * 5000, "longer than"),
    ],
)
def test_a_script_that_may_not_run(script, message):
    with pytest.raises(Refused) as refused:
        check_script(script)
    assert message in str(refused.value)


def test_what_is_allowed_by_itself_cannot_change_anything():
    """Whatever the check missed: no tool gives pydtrace -w."""
    plain = Door(AuditLog())
    assert {tool.permission for tool in plain.tools.values()} == {""}
    assert {tool.permission for tool in TOOLS} == {"", *PERMISSIONS}
    everything = Door(AuditLog(), PERMISSIONS)
    assert set(everything.tools) - set(plain.tools) == {
        "attach",
        "detach",
        "dump_locals",
        "heap",
        "watch",
    }
    got = harness.run([harness.PYDTRACE, "-n", 'BEGIN { system("id"); exit(0); }'])
    assert got.status == 1 and "Destructive actions not allowed" in got.stderr


def test_no_installed_script_reads_values():
    for name in script_names():
        code = re.sub(r'/\*.*?\*/|"[^"]*"', "", script_text(name), flags=re.DOTALL)
        assert code and not re.search(
            r"(?<![-\w])(local|global|retval|exception)(?![-\w])", code
        ), name


def test_calls_of_a_function():
    with harness.running([sys.executable, "-c", WATCHED]) as process:
        assert process.stdout.readline() == "there\n"
        words = ("--allow", "values", "watch", f"pid={process.pid}", "function=price", "seconds=2")
        every = [row["values"] for row in ask(*words)["records"]]
        assert ["price", "cart=['tea'], factor=2", "=", "8"] in [values[:4] for values in every]
        some = [row["values"] for row in ask(*words, "where=local.factor == 3")["records"]]
        assert some and all(values[1] == "cart=['tea'], factor=3" for values in some)


ALLOCATES = textwrap.dedent("""
    import time
    kept = []
    print("there", flush=True)
    while True:
        kept.append(bytearray(100_000))
        time.sleep(0.01)
""")


def test_only_an_allowed_attach_brings_anything_in():
    """The tools why and heap bring probes into a process, so they ask for the same permission as attach."""
    with harness.running([sys.executable, "-c", ALLOCATES]) as process:
        assert process.stdout.readline() == "there\n"
        pid = f"pid={process.pid}"
        assert "has no probes of requests" in ask("why", pid, "seconds=1", status=1)
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
            assert "_core" not in maps.read()
        found = ask("--allow", "attach", "heap", pid, "seconds=3")
        assert found["status"] == 0 and "<module>" in found["text"], found
        refused = ask("--allow", "attach", "why", pid, "seconds=1", status=1)
        assert "no request ended" in refused


def test_every_call_is_on_record(tmp_path):
    log = tmp_path / "audit"
    ask("list_scripts", "--audit", str(log))
    ask("attach", "pid=1", "--audit", str(log), status=1)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line.get("tool") for line in lines] == ["list_scripts", None, "attach", None]
    assert lines[0]["uid"] == os.getuid() and log.stat().st_mode & 0o777 == 0o600
    assert lines[1]["refused"] is None and "has to be allowed" in lines[3]["refused"]
    (tmp_path / "link").symlink_to(log)
    for bad in (tmp_path / "link", tmp_path, tmp_path / "none" / "audit"):
        assert "--audit: " in ask("list_scripts", "--audit", str(bad), status=1)


def test_the_protocol(program):
    """By the SDK's own client: the tools with their schemas, answers, refusals."""
    folder = pip_packages.folder_of(
        os.path.join(os.path.dirname(__file__), "mcp_readers.txt"), depends=True
    )
    environment = {**os.environ, "PYTHONPATH": folder}
    command = [*harness.program("mcp_client.py").split(), PYUSDT, "mcp"]
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as client:
        try:
            tools = {name: (schema, reads) for name, schema, reads in json.loads(client.stdout.readline())}  # fmt: skip
            assert set(tools) == {tool.name for tool in TOOLS if not tool.permission}
            assert all(reads for _, reads in tools.values())
            assert tools["run_script"][0]["required"] == ["script"]

            def call(name, **arguments):
                client.stdin.write(json.dumps([name, arguments]) + "\n")
                client.stdin.flush()
                return json.loads(client.stdout.readline())

            failed, text, found = call("run_script", script=SCRIPT, pid=program, seconds=2)
            assert not failed and json.loads(text) == found
            assert found["aggregations"]["calls"][0]["n"] > 10
            failed, text, _ = call("run_script", script='BEGIN { system("id"); }')
            assert failed and "system() is not allowed here" in text
            failed, text, _ = call("attach", pid=program)
            assert failed and "--allow attach" in text
            failed, text, _ = call("dump", pid=program)
            assert not failed and "<module>" in text
        finally:
            client.stdin.close()
            errors = client.stderr.read()
    assert client.returncode == 0 and errors.count('"tool"') == 4, errors


def test_without_the_sdk(tmp_path):
    (tmp_path / "mcp.py").write_text("raise ModuleNotFoundError(name='mcp')")
    got = harness.run([PYUSDT, "mcp"], env={**os.environ, "PYTHONPATH": str(tmp_path)}, timeout=60)
    assert (got.status, got.stderr.splitlines()[-1]) == (
        1,
        "pyusdt: pyusdt mcp needs the protocol's SDK: pip install 'pydtrace[mcp]'",
    )
