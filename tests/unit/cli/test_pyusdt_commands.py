"""The pyusdt command: its usage, misspelt commands, stubs, a Python that is called with its script."""

import subprocess
import sys

import pytest

from pydtrace.cli.pydtrace.usage import version_text
from pydtrace.process import process_names
from tests.support.pyusdt_command import MODULE, run

pytestmark = pytest.mark.own_processes


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("lst", "\nhint: did you mean list?\n"),
        ("qqq", ""),
        ("compete", "\nhint: did you mean completion?\n"),
    ],
)
def test_a_misspelt_command(written, hint):
    run_ = run("--color", "never", written)
    assert (
        run_.returncode == 2
        and f"invalid choice: '{written}'" in run_.stderr
        and run_.stderr.endswith(hint or ")\n")
    )


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        (["dump", "-p", "1"], "\nhint: pyusdt dump PID: the id stands by itself\n"),
        (["top", "x\x1b"], ": x\\x1b\n"),
        (
            ["profile", "--svg", "x.svg", "1"],
            "no option --svg\nhint: --flamegraph FILE writes a flame graph, as a page (HTML)\n",
        ),
        (
            ["profile", "-ox.svg", "1"],
            "no option -o\nhint: --flamegraph FILE, --speedscope FILE, --pprof FILE and --folded write what was seen\n",
        ),
        (["dump", "--jsno=1", "1"], "no option --jsno\nhint: did you mean --json?\n"),
        (
            ["doctor", "--foo\x1b"],
            "no option --foo\\x1b\nhint: pyusdt doctor --help lists the options\n",
        ),
    ],
)
def test_a_command_that_is_given_too_much(written, hint):
    """The usage is that of the command."""
    run_ = run("--color", "never", *written)
    assert (
        run_.returncode == 2
        and run_.stderr.startswith(f"usage: pyusdt {written[0]} ")
        and run_.stderr.endswith(hint)
    ), run_


def test_stub(tmp_path):
    path = tmp_path / "shop.d"
    path.write_text("provider shop { probe order__placed(int64_t id, char *item); };")
    assert run("stub", str(path)).returncode == 0
    written = (tmp_path / "shop.pyi").read_text()
    assert (
        "def __call__(self, id: int | None = ..., item: str | Buffer | None = ..., /) -> bool: ..."
        in written
    )
    assert run("stub", str(path), "-o", "-").stdout == written
    path.write_text("provider shop { probe order__placed(int64_t id); }")
    failed = run("stub", str(path))
    assert (
        failed.returncode == 1
        and failed.stderr == f"pyusdt: {path}:1: expected ';', not 'the end of the file'\n"
    )
    failed = run("stub", str(tmp_path / "none.d"))
    assert (
        failed.returncode == 1
        and failed.stderr == f"pyusdt: {tmp_path}/none.d: No such file or directory\n"
    )


def test_usage():
    assert run().returncode == 2
    assert run("list", "-p", "1", MODULE).returncode == 2


def test_help_and_version():
    helped = run("--help")
    assert (helped.returncode, helped.stderr) == (0, "") and "doctor" in helped.stdout
    for command in ("list", "doctor", "stub"):
        helped = run(command, "--help")
        assert (helped.returncode, helped.stderr) == (
            0,
            "",
        ) and f"usage: pyusdt {command}" in helped.stdout
    shown = run("--version")
    assert (shown.returncode, shown.stderr, shown.stdout) == (0, "", version_text())


@pytest.mark.parametrize(("words", "shown"), [
    (["-X", "dev", "-u", "waits.py"], " waits.py"), (["-m", "waits"], " waits"), (["-c", "print(flush=True); input()"], ""),
])  # fmt: skip
def test_a_python_is_called_with_its_script(words, shown, tmp_path):
    (tmp_path / "waits.py").write_text("print(flush=True); input()")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, *words], cwd=tmp_path, **pipes) as process:
        process.stdout.readline()
        assert (
            process_names.display_name(process.pid) == process_names.read_name(process.pid) + shown
        )
        process.communicate(b"\n")
