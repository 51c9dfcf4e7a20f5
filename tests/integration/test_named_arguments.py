"""Names and types of a probe's arguments: from the program that has them to D, to lists, through recordings; and from liars."""

import mmap
import os
import re
import subprocess
import sys

import pytest

from pydtrace import _tracer
from pydtrace.dlang.ast import ProbeDesc
from pydtrace.engine import probe_signatures
from pydtrace.program import builtin_probe_args
from pyusdt import framework_probes
from tests.support import harness

pytestmark = pytest.mark.own_processes
PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")
PROGRAM = """
import pyusdt, sys
named = pyusdt.Provider("named")
done = named.probe("request-done", route=str, status="int32_t", duration=float)
@named.declare
def order_placed(number: int, item: str): ...
mixed = named.probe("mixed", int, text=bytes)
print("there", flush=True)
for line in sys.stdin:
    for route in ("/a", None, "/a"):
        done(route, 200 + (route is None), 2.5)
        order_placed(7, "tea")
        mixed(1, b"x")
    print("fired", flush=True)
"""
SIGNATURE = b"(route: string, status: int32_t, duration: double)"
CLAUSE = 'request-done { printf("[%s] [%s] %d\\n", args[0], arg.route, arg.status); @[arg.route] = count(); @n[args[1]] = count(); }'
PRINTED = ["[/a] [/a] 200", "[] [] 201", "[/a] [/a] 200"]


@pytest.fixture
def program():
    with harness.running([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE) as process:
        assert process.stdout.readline() == "there\n"
        yield process
        process.stdin.close()


def fire(process):
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "fired\n"


def traced(process, script, *options):
    """The Run of a pydtrace that has seen what the program fires once."""
    ready, told = os.pipe()
    command = [
        harness.PYDTRACE,
        "-p",
        str(process.pid),
        f"--ready={told}",
        "-q",
        *options,
        "-n",
        f"named$target:::{script}",
        "-n",
        "named$target:::mixed /++fired == 3/ { exit(0); }",
    ]
    with harness.running(command, pass_fds=[told]) as tracer, open(ready, "rb") as waiting:
        os.close(told)
        assert waiting.read(1), tracer.communicate()[1]
        fire(process)
        return harness.finish(tracer, 60)


def file_of(process, kind):
    """A file that a process has in the tests' run directory."""
    (path,) = [
        entry.path
        for entry in os.scandir(os.environ["PYUSDT_RUNDIR"])
        if entry.name.startswith(f"{process.pid}-") and entry.name.endswith(kind)
    ]
    return path


def refused(pydtrace, pid, script, *options):
    got = pydtrace("-p", str(pid), *options, "-n", script)
    assert got.status == 1, got
    return got.stderr


@pytest.mark.parametrize("options", [(), ("-x", "pyusdt")])
def test_names_and_types_in_d(program, options):
    """tests/kernel/test_kernel_named_arguments.py: by the other engine."""
    got = traced(program, CLAUSE, "-x", "engine=embedded", *options)
    lines = [line for line in got.stdout.split("\n") if line.startswith("[")]
    assert (got.status, got.stderr, lines) == (0, "", PRINTED), got
    counted = [line.split() for line in got.stdout.split("\n") if line.startswith("  ")]
    assert ["/a", "2"] in counted and ["200", "2"] in counted and ["201", "1"] in counted, got


def test_floats_are_numbers_under_the_option(program):
    """Without it they are the bits, as everywhere in D."""
    got = traced(program, "request-done { trace(arg.duration * 2); }", "-x", "pyusdt")
    assert re.findall(r"5(?:\.0)?", got.stdout) == ["5"] * 3 and got.stderr == "", got
    got = traced(program, 'request-done { printf("%x ", arg.duration); }')
    assert got.stdout.split() == ["4004000000000000"] * 3, got


def test_an_annotated_function_and_a_mixture(program, pydtrace):
    got = traced(
        program,
        'order-placed { printf("%d %s ", arg.number, arg.item); } named$target:::mixed { trace(arg.text); }',
    )
    assert got.stdout == "7 tea x" * 3 + "\n", got
    assert "no argument called number" in refused(
        pydtrace, program.pid, "named$target:::mixed { trace(arg.number); }"
    )


def test_what_is_refused(program, pydtrace):
    pid = program.pid
    assert "hint: did you mean route?" in refused(
        pydtrace, pid, "named*:::request-done { trace(arg.rout); }"
    )
    for wrong in ("args.route", "arg->route"):
        got = refused(pydtrace, pid, f"named*:::request-done {{ trace({wrong}); }}")
        assert "hint: the argument of that name is arg.route\n" in got, got
    assert "[D_ARGS_MULTI]" in refused(
        pydtrace, pid, "named*:::request-done, named*:::mixed { trace(args[0]); }"
    )
    assert "[D_ARGS_MULTI]" in refused(pydtrace, pid, "named*::: { trace(args[0]); }")
    assert "index 2 is out of range" in refused(pydtrace, pid, "named*:::mixed { trace(args[2]); }")
    assert "no names that are known" in refused(
        pydtrace, pid, "named*:::nosuch { trace(arg.x); }", "-Z"
    )
    assert "outside of a probe clause" in refused(
        pydtrace, pid, "inline int x = arg.x; BEGIN { trace(x); }"
    )


def test_declarations_and_variables_come_first(program, pydtrace):
    """What the script says of a probe, and what it calls arg itself."""
    declared = "provider named { probe request__done(char *path, int code); };"
    got = traced(
        program,
        'request-done { printf("%s %d,", arg.path, arg.code); }',
        "-n",
        f"{declared} BEGIN {{ }}",
    )
    assert got.stdout.startswith("/a 200, 201,/a 200,"), got
    got = pydtrace(
        "-qn", "struct s { int x; }; struct s arg; BEGIN { arg.x = 5; trace(arg.x); exit(0); }"
    )
    assert (got.status, got.stdout.strip()) == (0, "5"), got


def test_the_user_traces_arguments_have_names(program, pydtrace):
    got = pydtrace(
        "-qn",
        'pyusdt$target:::user_trace-i4s4 { printf("%s|%s|%d\\n", arg.s1, arg.user_tag, arg.i1); }',
        "-c",
        f"{sys.executable} -c 'import pyusdt; pyusdt.p(5, \"x\")'",
    )
    assert got.stdout.strip() == "x||5", got


def test_the_provider_python_before_the_program_runs(pydtrace, tmp_path):
    """Its probes have the same arguments in every process."""
    (tmp_path / "app.py").write_text("def work(n): return n\nfor i in range(3): work(i)\n")
    script = 'python$target:::function-entry /arg.function == "work"/ { printf("%s %d|", args[1], arg.line); }'
    got = pydtrace("-qn", script, "-c", f"{sys.executable} {tmp_path}/app.py")
    assert got.stdout.strip() == "work 1|" * 3, got
    got = pydtrace("-qn", "python$target:::gc-start { trace(arg.genration); }", "-c", "true")
    assert "hint: did you mean generation?" in got.stderr, got


def test_what_is_said_of_the_provider_python_is_so():
    environment = {**os.environ, "PYUSDT_VM": "1"}
    with harness.running(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout.readline() == "there\n"
        rows = [
            row
            for row in _tracer.list_probes(None, process.pid)
            if row[1] == f"python{process.pid}" and row[7] != _tracer.AT_PLACE
        ]
        process.stdin.close()
    known = builtin_probe_args.python_arguments()
    assert len(rows) > 10
    for _, _, _, _, name, nargs, strings, *_ in rows:
        assert (len(known[name]), sum(text << i for i, (_, text) in enumerate(known[name]))) == (
            nargs,
            strings,
        ), name


def test_probes_of_frameworks_before_the_program_runs(pydtrace, tmp_path):
    """What a command will have that pyusdt.instrument is in; another's provider of that name says itself what it has."""
    path = tmp_path / "serves.py"
    path.write_text("""from pyusdt.instrument import probes as names
start, done = names.provider_probes("http")
for i in range(3):
    done("/a", 200 + i, 5, 7, "GET", "/a", "")
""")
    done = pydtrace(
        "-q",
        "-Z",
        "-n",
        'http$target:::request-done { printf("%s %d %s;", arg.route, arg.status, args[4]); }',
        "-c",
        f"{sys.executable} {path}",
    )
    assert (done.status, done.stdout.strip()) == (0, "/a 200 GET;/a 201 GET;/a 202 GET;"), done
    done = pydtrace(
        "-q",
        "-Z",
        "-n",
        "http$target:::request-done { trace(arg.nothing); }",
        "-c",
        f"{sys.executable} {path}",
    )
    assert done.status != 0 and "D_ARGS_NAME" in done.stderr, done
    done = pydtrace("-n", "http*:::request_done { trace(arg.route); }")
    assert done.status == 1 and "hint: did you mean request-done?\n" in done.stderr, done


def test_what_is_said_of_the_probes_of_frameworks_is_so():
    """As processes tell it that have them."""
    say = """import pyusdt, sys
from pyusdt.framework_probes import FRAMEWORK_PROBES
from pyusdt.instrument import probes as names
for provider in FRAMEWORK_PROBES: names.provider_probes(provider)
print("there", flush=True)
sys.stdin.read()"""
    with harness.running([sys.executable, "-c", say], stdin=subprocess.PIPE) as process:
        assert process.stdout.readline() == "there\n"
        rows = {
            (row[1].removesuffix(str(process.pid)), row[4]): row
            for row in _tracer.list_probes(None, process.pid)
        }
    for provider, probes in framework_probes.FRAMEWORK_PROBES.items():
        for name in probes:
            description = ProbeDesc(None, provider + "*", "", "", name)
            assert probe_signatures.default_signatures()(description) == [
                probe_signatures.row_signature(rows[provider, name])
            ]


def test_recorded(program, pydtrace, tmp_path):
    path = str(tmp_path / "events")
    traced(program, "request-done { trace(arg0); }", "--record", path)
    program.kill()
    program.wait()
    got = pydtrace("--replay", path, "-qn", f"named*:::{CLAUSE}")
    assert [
        line for line in got.stdout.split("\n") if line.startswith("[")
    ] == PRINTED and got.status == 0, got


def test_in_the_flight_recorder(pydtrace):
    environment = {**os.environ, "PYUSDT_FLIGHT": "1m"}
    with harness.running(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout.readline() == "there\n"
        fire(process)
        process.kill()
        process.wait()
        process.stdin.close()
    path = file_of(process, ".flight")
    got = pydtrace("--replay", path, "-qn", f"named*:::{CLAUSE}")
    assert [
        line for line in got.stdout.split("\n") if line.startswith("[")
    ] == PRINTED and got.status == 0, got


# ---- lists ----


def test_lists(program, pydtrace):
    got = pydtrace("-lv", "-p", str(program.pid), "-n", "named$target:::request-done")
    assert (
        "\tArgument Types\n\t\targs[0]: string (arg.route)\n\t\targs[1]: int32_t (arg.status)\n"
        in got.stdout
    ), got
    got = harness.run([PYUSDT, "list"])
    assert re.search(
        r"^named\d+ .* request-done .* route:string status:int32_t duration:double$",
        got.stdout,
        re.MULTILINE,
    ), got
    got = harness.run([PYUSDT, "list", "-p", str(program.pid)])
    assert re.search(
        r"^named +request-done +0 .* route:string status:int32_t duration:double$",
        got.stdout,
        re.MULTILINE,
    ), got
    got = harness.run([PYUSDT, "complete", "fish", "pydtrace -n named*:::re"])
    assert "named*:::request-done\tprobe of named(route, status, duration)\n" in got.stdout, got


# ---- liars ----


@pytest.mark.parametrize(
    "lie",
    [
        b"(route: integer, status: int32_t, duration: double)",
        b"(route: string, status: string, duration: double)",
        b"(route: string, route: int32_t, duration: double)",
        b"(r\x1b[31m: string, status: int32_t, duration: double)",
        b"(route: string, status: int32_t)",
        b"(route: string, status: int32_t, duration: double, x: string)",
        b"(",
        b")(",
        b"()",
        b"(0oute: string, status: int32_t, duration: double)",
        b"(\xff\xfeoute: string, status: int32_t, duration: double)",
    ],
)
def test_what_a_process_says_is_checked(program, pydtrace, lie):
    """As if it had said nothing: no name, the types that the core has checked."""
    path = file_of(program, ".ctl")
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        at = memory.find(SIGNATURE)
        assert at > 0
        memory[at : at + len(lie) + 1] = lie + b"\0"
    assert "D_ARGS_NAME" in refused(
        pydtrace, program.pid, "named$target:::request-done { trace(arg.route); }"
    )
    got = traced(program, 'request-done { printf("%d ", args[1]); }')
    assert got.stdout.split() == ["200", "201", "200"], got
    got = harness.run([PYUSDT, "list", "-p", str(program.pid)])
    assert got.status == 0 and "\x1b" not in got.stdout, got
