"""Which engine root gets where no engine is named: by what a description can be, whether there are such probes yet or not."""

import os
import re
import subprocess
import sys
import threading
import time

import pytest

from pydtrace import select_engine
from pydtrace.dlang.compile import compile_program
from pydtrace.engine import EngineError, Targets
from pydtrace.engine.provider_search import find_file_with_provider
from tests.support import harness
from tests.support.kernel_harness import DATA, PYDTRACE, compile_c

pytestmark = pytest.mark.usefixtures("bpf")
COUNT = "{ @ = count(); }"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_c(
        os.path.join(DATA, "choice.c"), tmp_path_factory.mktemp("choice") / "choice-taker"
    )


def pydtrace(*arguments, timeout=40, **more):
    done = subprocess.run(
        [PYDTRACE, "-q", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        **more,
    )
    return done.stdout, done.stderr, done.returncode


def test_a_function_of_a_library_that_is_opened_later(tmp_path):
    source = tmp_path / "common.c"
    source.write_text("int common(int n) { return n + 1; }\n")
    library = compile_c(source, tmp_path / "libcommon.so", "-shared", "-fPIC")
    program = compile_c(os.path.join(DATA, "plugin.c"), tmp_path / "plugin", "-ldl")
    out, err, status = pydtrace(
        "-Z", "-n", f"pid$target:libcommon.so:common:entry {COUNT}", "-c", f"{program} {library}"
    )
    assert (err, status) == ("", 0) and int(out.split()[-1]) in (4, 5)


def test_a_provider_that_nobody_has_yet(program):
    """pydtrace says when it traces; the program starts then."""
    reading, writing = os.pipe()
    tracer = subprocess.Popen(
        [
            PYDTRACE,
            "-Zq",
            f"--ready={writing}",
            "-n",
            f"choice*:::hit {COUNT} choice*:::hit /++n == 3/ {{ exit(0); }}",
        ],
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=[writing],
    )
    os.close(writing)
    try:
        assert os.read(reading, 1) == b"\n"
        subprocess.run([program, "1"], check=True)
        assert tracer.communicate(timeout=20)[0].split() == ["3"]
    finally:
        tracer.kill()
        tracer.communicate()
        os.close(reading)


@pytest.mark.parametrize("by", ["name", "pid"])
def test_wait(program, by):
    other = subprocess.Popen([program], stdin=subprocess.PIPE)
    meant = subprocess.Popen([program], stdin=subprocess.PIPE, executable=program)
    reading, writing = os.pipe()
    wait = "choice-taker" if by == "name" else str(meant.pid)
    tracer = subprocess.Popen(
        [PYDTRACE, "-q", f"--ready={writing}", "--wait", wait, "-n", f"choice*:::hit {COUNT}"],
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=[writing],
    )
    os.close(writing)
    try:
        assert os.read(reading, 1) == b"\n"
        time.sleep(0.1)
        other.communicate(b"\n")
        meant.communicate(b"\n")
        assert tracer.communicate(timeout=20)[0].split() == ["6" if by == "name" else "3"]
    finally:
        for each in (tracer, other, meant):
            each.kill()
            each.communicate()
        os.close(reading)


def test_task_of_samples_is_read_by_the_embedded_engine():
    """The kernel's samples have no arg2."""
    script = "profile-97 /pid == $target/ { @[copyinstr(arg2)] = count(); }"
    busy = f"{sys.executable} {harness.ROOT}/examples/hot.py 1"
    run = harness.run([PYDTRACE, "-qvn", script, "-c", busy])
    assert "engine: embedded" in run.stderr and "invalid address" not in run.stderr, run
    assert re.search(r"<\d+\.\d+> +\d+", run.stdout), run


def test_wait_leaves_other_names_out(program, tmp_path):
    another = str(tmp_path / "another")
    os.link(program, another)
    reading, writing = os.pipe()
    tracer = subprocess.Popen(
        [
            PYDTRACE,
            "-q",
            f"--ready={writing}",
            "--wait",
            "choice-taker",
            "-n",
            f"choice*:::hit {COUNT}",
        ],
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=[writing],
    )
    os.close(writing)
    try:
        assert os.read(reading, 1) == b"\n"
        runs = [
            threading.Thread(target=subprocess.run, args=([each, "1"],))
            for each in (another, program)
        ]
        for each in runs:
            each.start()
        for each in runs:
            each.join()
        assert tracer.communicate(timeout=20)[0].split() == ["3"]
    finally:
        tracer.kill()
        tracer.communicate()
        os.close(reading)


# --keep takes no -c
@pytest.mark.parametrize(
    ("option", "described"),
    [
        ("record", "choice*:::hit"),
        ("record", "pid$target:a.out:main:entry"),
        ("record", "syscall::read:entry"),
        ("keep", "choice*:::hit"),
        ("keep", "syscall::read:entry"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_the_reason(program, tmp_path, option, described):
    process = subprocess.Popen([program], stdin=subprocess.PIPE)
    try:
        where = {
            "record": [
                "--record",
                str(tmp_path / "x.rec"),
                *(["-c", f"{program} 0"] if "$target" in described else []),
            ],
            "keep": ["--keep", "nothing"],
        }[option]
        out, err, status = pydtrace(*where, "-n", f"{described} {{ }}")
        assert (out, status) == (
            "",
            1,
        ) and f"--{option} keeps events of the embedded engine" in err, err
    finally:
        process.kill()
        process.communicate()


def test_files_by_a_pattern_and_as_a_module(program):
    pattern = os.path.join(os.path.dirname(program), "choice-*")
    listed = pydtrace("-l", "-x", f"file={pattern}", "-n", "choice*:::hit")[0]
    assert re.search(r"choice +choice-taker +main +hit", listed)
    for described in (f"choice$target:{program}::hit", f"pid$target:{program}:main:entry"):
        assert pydtrace("-n", f"{described} {COUNT}", "-c", f"{program} 0")[0].split() in (
            ["3"],
            ["1"],
        )
    assert "no file matches" in pydtrace("-l", "-x", f"file={pattern}x", "-n", "choice*:::hit")[1]


def test_a_hint_names_the_file_in_path(program):
    folders = os.pathsep.join([os.path.dirname(program), os.environ["PATH"]])
    _, err, status = pydtrace("-n", f"choice*:::hit {COUNT}", env={**os.environ, "PATH": folders})
    assert status == 1 and f"hint: -x file={program} has such probes" in err


def test_a_hint_for_other_users_names_root(program, monkeypatch):
    folders = os.pathsep.join([os.path.dirname(program), os.environ["PATH"]])
    monkeypatch.setenv("PATH", folders)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (clause,) = compile_program(f"choice*:::hit {COUNT}").clauses
    hint = find_file_with_provider(clause.probes[0])
    assert hint and hint.startswith(f"as root, -x file={program} has such probes"), hint


def test_a_hint_names_the_library_of_a_program_in_path(tmp_path):
    """As Ruby's is, whose probes are not in the program that is called so."""
    (tmp_path / "library.c").write_text(
        "#include <sys/sdt.h>\nvoid fire(void);\nvoid fire(void) { STAP_PROBE(hidden, hit); }\n"
    )
    (tmp_path / "main.c").write_text("void fire(void);\nint main(void) { fire(); return 0; }\n")
    (tmp_path / "bin").mkdir()
    library = compile_c(tmp_path / "library.c", tmp_path / "libbelow.so", "-shared", "-fPIC")
    compile_c(tmp_path / "main.c", tmp_path / "bin" / "hidden2", library)
    _, err, status = pydtrace(
        "-n",
        f"hidden*:::hit {COUNT}",
        env={**os.environ, "PATH": f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}"},
    )
    assert status == 1 and f"hint: -x file={library} has such probes" in err


def test_arguments_of_threads_and_floating_point_numbers(program):
    script = 'choice$target:::hit { printf("%d\\n", arg0); } choice$target:::price { printf("%x\\n", arg0); }'
    out, err, status = pydtrace("-n", script, "-c", f"{program} 0")
    bits = ["3ff8000000000000", "4004000000000000", "3ff8000000000000"]
    assert (out.split(), err, status) == ([word for each in bits for word in ("35", each)], "", 0)


def test_a_user_who_may_not_trace_functions_is_told(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(EngineError, match="needs the kernel engine"):
        select_engine.open_engine(
            compile_program("syscall::read:entry { }"), {"zdefs": True}, Targets()
        )


def test_types_of_the_arguments_of_foreign_probes(program):
    out = pydtrace(
        "-lv", "-x", "pyusdt", "-x", f"file={program}", "-n", "choice*:::hit, choice*:::price"
    )[0]
    assert re.findall(r"args\[\d\]: \w+", out) == [
        "args[0]: int32_t",
        "args[1]: int32_t",
        "args[0]: double",
    ]
    script = 'choice$target:::price { printf("%g\\n", args[0]); }'
    assert pydtrace("-x", "pyusdt", "-n", script, "-c", f"{program} 0")[0].split() == [
        "1.5",
        "2.5",
        "1.5",
    ]


def test_an_argument_that_is_not_there_is_an_error(program):
    _, err, status = pydtrace("-n", "choice$target:::hit { trace(args[2]); }", "-c", f"{program} 0")
    assert status == 1 and "index 2 is out of range" in err and "it has 2 arguments" in err
