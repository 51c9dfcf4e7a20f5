"""ustack() and stack() under the kernel engine: frames, names, keys."""

import os
import re
import subprocess
import sys

import pytest

import pyusdt
from tests.support.kernel_harness import DATA, compile_c, pydtrace, start_pydtrace
from tests.support.paths import ORACLE

pytestmark = pytest.mark.usefixtures("bpf")
FRAMES = ("-fno-omit-frame-pointer",)


@pytest.fixture(scope="module")
def nested(tmp_path_factory):
    return compile_c(
        os.path.join(DATA, "nested.c"), tmp_path_factory.mktemp("nested") / "nested", *FRAMES
    )


def frames(text):
    """The names of the lines that are frames, without what is below main."""
    found = [line.strip().partition("+")[0] for line in text.splitlines() if "`" in line]
    return [
        name.partition("`")[2]
        for name in found
        if name.startswith(("nested`", "jit`")) and name != "nested`_start"
    ]


def stacks(text):
    """[names] of stacks that are keys, with their counts."""
    return [
        (tuple(frames(block)), int(block.split()[-1]))
        for block in re.split(r"\n\n+", text)
        if "`" in block
    ]


THREE, TWO = ("innermost", "middle", "outermost", "main"), ("innermost", "middle", "main")


def test_frames_with_symbols(nested):
    out, err, _ = pydtrace("-q", "-n", "nested$target:::here { ustack(); }", "-c", nested)
    assert frames(out) == [*THREE] * 3 + [*TWO], (out, err)


def test_a_stripped_program_by_its_dynamic_symbols(nested, tmp_path):
    program = compile_c(
        os.path.join(DATA, "nested.c"), tmp_path / "nested", *FRAMES, "-rdynamic", "-s"
    )
    out, err, _ = pydtrace("-q", "-n", "nested$target:::here { ustack(); }", "-c", program)
    assert frames(out) == [*THREE] * 3 + [*TWO], (out, err)


def test_as_a_key_and_cut(nested):
    out, err, _ = pydtrace(
        "-q",
        "-n",
        "nested$target:::here { @[ustack(4)] = count(); @two[ustack(2)] = sum(arg0); }",
        "-c",
        nested,
    )
    text = out.partition("done\n")[2]
    # the calls from main's loop may be several places; the frames are the same
    counted = {}
    for names, count in stacks(text):
        counted[names] = counted.get(names, 0) + count
    assert counted[THREE] == 3 and counted[TWO] == 1 and counted["innermost", "middle"] == 6, (
        out,
        err,
    )


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    return compile_c(os.path.join(DATA, "named.c"), tmp_path_factory.mktemp("named") / "named")


def aggregated(key, actions, named, at_end="END"):
    """pydtrace's arguments: what fire() of named.c is called with, in an aggregation with a key."""
    fire = "pid$target:a.out:fire:entry"
    script = f"{fire} /arg0/ {{ @[{key}] = count(); }} {fire} /!arg0/ {{ exit(0); }} {at_end} {{ {actions} }}"
    return "-q", "-n", script, "-c", named


def row_of(line):
    """A row's function and value."""
    name, value = line.split()
    return name.rpartition("`")[2], int(value)


@pytest.mark.parametrize("key", ["usym(arg0)", "ufunc(arg0)"])
@pytest.mark.parametrize("actions, left", [
    ("trunc(@, 1);", {"second": 12}), ("trunc(@, -1);", {"first": 5}), ("trunc(@, 2);", {"third": 6, "second": 12}), ("trunc(@);", {}),
    ("trunc(@, 2); normalize(@, 3);", {"third": 2, "second": 4}),
])  # fmt: skip
def test_addresses_that_print_alike_are_one_key(named, key, actions, left):
    """13 rows were left of trunc(@, 1), and the sample whose address is the function's was lost."""
    out, err, _ = pydtrace(*aggregated(key, actions, named))
    assert [row_of(line) for line in out.splitlines() if line] == list(left.items()), (out, err)


def test_a_module_is_one_key(named):
    out, err, _ = pydtrace(*aggregated("umod(arg0)", "trunc(@, -1);", named))
    assert out.split() == ["named", "23"], (out, err)


@pytest.mark.parametrize(
    "actions", ["trunc(@, 1);", "trunc(@, -2);", "normalize(@, 3);", "clear(@);"]
)
def test_keys_that_print_alike_are_dtrace_s(named, actions):
    """What printa() shows then; at the end dtrace shows the addresses themselves, which it did not truncate."""
    subprocess.run([ORACLE, "setup"], check=True)
    arguments = aggregated(
        "usym(arg0)", f"{actions} printa(@); exit(0);", named, "pid$target:a.out:fire:entry /!arg0/"
    )
    arguments = [word.replace("{ exit(0); }", "{ }") for word in arguments]
    ours = pydtrace(*arguments)
    theirs = subprocess.run(
        [ORACLE, "dtrace", *arguments], capture_output=True, text=True, timeout=120, check=True
    )
    assert ours[0].rstrip() == theirs.stdout.rstrip(), (ours, theirs)


def test_snapshots_of_the_api_have_the_keys_that_are_printed(named):
    script = aggregated("usym(arg0)", "trunc(@, 2);", named)[2]
    with pyusdt.trace(script, cmd=[named], engine="kernel") as session:
        for _ in session:
            pass
    assert {
        key.rpartition("`")[2]: int(value) for (key,), value in session.aggregations[""].items()
    } == {"third": 6, "second": 12}


def test_of_the_kernel():
    out, err, _ = pydtrace(
        "-q",
        "-n",
        "syscall::getpid:entry { @[stack(3)] = count(); } syscall::write:entry /pid == $target/ "
        "{ stack(); exit(0); }",
        "-c",
        "echo x",
    )
    assert "vmlinux`" in out and "do_syscall" in out, (out, err)


def test_in_the_error_probe(nested):
    out, err, _ = pydtrace(
        "-q",
        "-n",
        "nested$target:::here /arg0 == 3/ { trace(copyinstr(0)); } ERROR { ustack(); }",
        "-c",
        nested,
    )
    assert frames(out) == [*TWO], (out, err)


def test_code_of_a_just_in_time_compiler(tmp_path):
    program = compile_c(os.path.join(DATA, "jit.c"), tmp_path / "jit", *FRAMES)
    tracer = start_pydtrace(
        "-q",
        "-n",
        'jit$target:::here { ustack(); printf("told\\n"); }',
        "-c",
        program,
        stdin=subprocess.PIPE,
    )
    out = "".join(iter(tracer.stdout.readline, "told\n"))
    rest, err = tracer.communicate("", timeout=30)  # the program ends
    assert "done" in out + rest
    lines = [line.strip() for line in out.splitlines() if line.startswith("  ")]
    assert (
        lines[0].startswith("jit`fire")
        and lines[1] == "py::handler:/srv/app.py"
        and lines[2].startswith("jit`main")
    ), (out, err)


RESOLVING = """import sys
from pydtrace.cli.pydtrace import main as pydtrace
from pydtrace.driver import address_symbolizer as symbols
symbols.FRAME_RESOLVERS[:] = [lambda: lambda pid, address: f"py::frame of {pid}" if address & 0xfff < 8 else None]
sys.exit(pydtrace.main())
"""


def test_a_resolver_of_one_s_own_names_frames(tmp_path):
    """Code that is in no file and that no map tells of; jit.c makes 8 bytes of it, at the beginning of a page."""
    program = compile_c(os.path.join(DATA, "jit.c"), tmp_path / "jit", *FRAMES)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            RESOLVING,
            "-x",
            "engine=kernel",
            "-q",
            "-n",
            'jit$target:::here { printf("%d\\n", pid); ustack(); }',
            "-c",
            program,
        ],
        capture_output=True,
        text=True,
        timeout=30,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    lines = [line for line in map(str.strip, done.stdout.splitlines()) if line not in ("", "done")]
    assert lines.index(f"py::frame of {lines[0]}") == 2 and len(lines) > 3, (
        done
    )  # fire, the made code, main …


def test_frames_of_erlang(tmp_path, running):
    """The functions that the JIT made, by the map that +JPperf writes."""
    subprocess.run(["erlc", "-o", tmp_path, os.path.join(DATA, "busy.erl")], check=True)
    node = running(
        "+JPperf", "true", "-noshell", "-noinput", "-pa", tmp_path, "-s", "busy", program="erl"
    )
    try:
        assert node.stdout.readline() == "ready\n"
        out, err, _ = pydtrace(
            "-q",
            "-n",
            "profile-997 /pid == $target/ { @[ustack(3)] = count(); } tick-300ms { n++; } "
            "tick-300ms /n == 3/ { exit(0); }",
            "-p",
            node.pid,
        )
    finally:
        node.kill()
        os.unlink(f"/tmp/perf-{node.pid}.map")
    assert re.search(r"^ +\$busy:leaf/2\n +\$busy:inner/2\n +\$busy:inner/2$", out, re.MULTILINE), (
        out,
        err,
    )


LAST = """#include <unistd.h>
__attribute__((noinline, noreturn)) static void leaves(int status) { _exit(status); }
__attribute__((noinline)) static int other(int n) { return n + 1; }
int main(int count, char **arguments) { (void)arguments; if (other(count) > 1) leaves(0); return 1; }
"""


def test_a_call_that_is_the_last_of_its_function(tmp_path):
    """It is to return to what lies behind the function: another one, or nothing."""
    for options in (["-O1"], ["-O2", "-falign-functions=64"]):
        source = tmp_path / "last.c"
        source.write_text(LAST)
        subprocess.run(["gcc", "-g", *options, "-o", tmp_path / "last", source], check=True)
        out, err, _ = pydtrace(
            "-qn",
            "syscall::exit_group:entry /pid == $target/ { @[ustack(3)] = count(); }",
            "-c",
            tmp_path / "last",
        )
        assert re.findall(r"`(\w+)[.\w]*\+0x[0-9a-f]+$", out, re.MULTILINE) == [
            "_exit",
            "leaves",
            "main",
        ], (out, err)
