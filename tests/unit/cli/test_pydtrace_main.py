"""pydtrace as a command: what needs neither a target nor a tracer's rights."""

import os
import platform
import re
import signal
import subprocess
import sys
from importlib.metadata import version

import pytest

from pydtrace._tracer import BUILD
from pydtrace.cli import first_lines
from pydtrace.cli.commands import help_pages
from pydtrace.cli.commands.main import COMMANDS
from pydtrace.cli.parsing.options_table import DTRACE_OPTIONS, PYDTRACE_OPTIONS
from pydtrace.cli.pydtrace.main import command_words
from pydtrace.cli.pydtrace.usage import usage_text, version_text
from pydtrace.dlang.ast import ProbeDesc
from pydtrace.engine.probe_hints import suggest_name, suggest_provider
from pydtrace.process import process_names

pytestmark = pytest.mark.own_processes
COMMAND = [sys.executable, "-c", "from pydtrace.cli.pydtrace.main import main; main()"]


def run(*arguments, **options):
    """(exit status, standard output, standard error)."""
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=30, check=False, **options
    )
    return done.returncode, done.stdout, done.stderr


def test_without_arguments_there_are_five_lines_to_begin_with():
    status, stdout, stderr = run()
    assert (status, stdout, stderr.count("\n")) == (2, "", 5)
    assert stderr.startswith("pydtrace -c 'python app.py' -n ") and "--help" in stderr


def test_dtrace_s_own_tests_get_its_usage(monkeypatch):
    monkeypatch.setenv("_DTRACE_TESTING", "1")
    status, stdout, stderr = run()
    assert (status, stdout) == (2, "")
    assert stderr.startswith("Usage: dtrace [-32|-64] [-CeFGhHlqSvVwZ]")


@pytest.mark.parametrize("text", [first_lines.PYDTRACE, first_lines.PYUSDT])
def test_the_first_lines_name_what_there_is(text):
    """Every option and command in them, and every page."""
    flags = {option.flag for option in (*DTRACE_OPTIONS, *PYDTRACE_OPTIONS)}
    for line in text.splitlines():
        assert len(line) <= 120
        named = re.findall(r"(?<=\s)(--?[a-z]+)(?=\s)", line) if line.startswith("pydtrace") else []
        assert set(named) <= flags, line
    for command in re.findall(r"pyusdt ([a-z]+)", text):
        assert command in COMMANDS
    for page in re.findall(r"pyusdt help (\S+?)`", text):
        assert help_pages.find_page(page)


def test_help_lists_dtrace_s_options_and_ours():
    status, stdout, stderr = run("--help")
    assert (status, stderr) == (0, "")
    listed = re.findall(r"^\t(--?\w+)[ \[]", stdout, re.MULTILINE)
    assert listed == [option.flag for option in (*DTRACE_OPTIONS, *PYDTRACE_OPTIONS) if option.help]
    assert stdout.startswith("Usage: pydtrace [-32|-64]") and "pyusdt doctor" in stdout
    assert usage_text() in run("-y")[2]


def test_version_names_build_python_and_platform():
    build = f"pyusdt {BUILD}, D 2.0.7\n"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    assert re.match(rf"{re.escape(version('pydtrace'))}, commit ([0-9a-f]{{8}}\+?|unknown) ", BUILD)
    status, stdout, stderr = run("--version")
    assert (status, stderr) == (0, "") and stdout == version_text()
    assert stdout.startswith(f"{build}{python}")
    assert f", {sys.platform} {platform.machine()}" in stdout
    assert "/" not in stdout and stdout.count("\n") == 2


def test_dtrace_s_own_option_for_the_version_is_as_it_was():
    assert run("-V") == (0, "dtrace: D 2.0.7\n", "")
    assert run("-Vv") == (0, f"dtrace: D 2.0.7\nThis is pydtrace, pyusdt {BUILD}, D 2.0.7\n", "")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["-n", "BEGIN", "-c", "/proc/nonexistent/x y"],
            "failed to start /proc/nonexistent/x: No such file or directory",
        ),
        (["-n", "BEGIN", "-c", "/etc/passwd"], "failed to start /etc/passwd: Permission denied"),
        (
            ["-n", "BEGIN", "-c", "DEBUG=1 python"],
            "failed to start DEBUG=1: No such file or directory\nhint: -c starts a program, not a shell: -c 'env DEBUG=1 …'",
        ),
        (["-n", "BEGIN", "-c", ""], "failed to start : No such file or directory"),
        (
            ["-n", "BEGIN", "-c", "true", "-p", "1"],
            "more than one -c, or -c with -p, is not supported",
        ),
        (["-l", "-p", "4194305"], "No such process: 4194305"),
        (
            ["-l", "--replay", "x"],
            "-l lists the probes of running processes: it does not work with --replay",
        ),
        (
            ["-o", "/proc/nonexistent/x", "-l"],
            "failed to open output file '/proc/nonexistent/x': No such file or directory",
        ),
        (
            ["-s", "/proc/nonexistent.d", "--dump=bpf"],
            "failed to open /proc/nonexistent.d: No such file or directory",
        ),
    ],
)
def test_failures_are_one_line_and_status_1(arguments, message):
    assert run(*arguments) == (1, "", f"dtrace: {message}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-G"], "-G requires one or more scripts or enabling options"),
        (["-h"], "-h requires one or more scripts or enabling options"),
        (["-h", "-n", "BEGIN"], "-h requires an output file if no scripts are specified"),
    ],
)
def test_what_h_and_g_lack_is_wrong_usage(arguments, message):
    assert run(*arguments) == (2, "", f"dtrace: {message}\n")


def test_names_that_dtrace_can_not_link(tmp_path):
    """The words are dtrace's; tests/integration/test_dtrace_h_and_g.py has it beside them."""
    for length in (53, 54, 63, 64):
        (tmp_path / f"{length}.d").write_text(f"provider {'a' * length} {{ probe go(); }};\n")
    assert run("-G", "-s", "53.d", cwd=tmp_path)[0] == run("-h", "-s", "63.d", cwd=tmp_path)[0] == 0
    for words, what in (
        (["-s", "54.d"], "script 54"),
        (["-s", "54.d", "-o", "x.o"], "script 54.d"),
        (["-s", "53.d", "-s", "54.d"], "script 53"),
    ):
        assert run("-G", *words, cwd=tmp_path) == (
            1,
            "",
            f"dtrace: failed to link {what}: USDT provider name may not exceed 53 characters: {'a' * 54}\n",
        )
    status, _, told = run("-h", "-s", "64.d", cwd=tmp_path)
    assert status == 1 and told.startswith(
        f"dtrace: failed to compile script 64.d: line 1: provider name may not exceed 63 characters: {'a' * 64}\n"
    )


def test_a_script_without_its_option_is_told(tmp_path):
    (tmp_path / "lat.d").write_text("BEGIN { exit(0); }")
    told = run("lat.d", cwd=tmp_path)
    assert told == (
        1,
        "",
        "dtrace: no probes specified\nhint: lat.d is a file: -s lat.d\n",
    )
    assert run("nosuch.d", cwd=tmp_path) == (1, "", "dtrace: no probes specified\n")
    status, _, told = run("-x", "engine=embedded", "-n", "lat.d", cwd=tmp_path)
    assert status == 1 and told.endswith("\nhint: lat.d is a file: -s lat.d\n")


@pytest.mark.parametrize(("path", "hint"), [
    ("lat", "did you mean lat.d?"), ("lta.d", "did you mean lat.d?"), ("./lat", "did you mean ./lat.d?"),
    ("latency", "`pyusdt trace latency` runs the installed script latency"), ("qqqqq.d", None), ("nosuch/lat.d", None),
])  # fmt: skip
def test_a_script_that_is_not_there_is_looked_for(path, hint, tmp_path):
    (tmp_path / "lat.d").write_text("BEGIN { exit(0); }")
    message = f"dtrace: failed to open {path}: No such file or directory\n"
    assert run("-s", path, cwd=tmp_path) == (1, "", f"{message}hint: {hint}\n" if hint else message)


def test_a_misspelt_option_s_hint_is_not_scrolled_away():
    assert run("--redy", "-n", "BEGIN") == (
        2,
        "",
        "dtrace: invalid option -- '-'\nhint: did you mean --ready?\n",
    )


def test_a_process_s_name_is_answered_with_its_id(tmp_path):
    (tmp_path / "longnameoffive").symlink_to("/bin/sleep")
    with subprocess.Popen([tmp_path / "longnameoffive", "60"]) as process:
        told = run("-p", "longnameoffive", "-n", "BEGIN")
        process.kill()
    expected = f"dtrace: invalid pid: longnameoffive\nhint: -p takes a process id; called longnameoffive: {process.pid}\n"
    assert told == (1, "", expected)


def test_a_script_s_name_is_answered_with_its_process(tmp_path):
    script = tmp_path / "longnameofsix.py"
    script.write_text("print(flush=True); input()")
    with subprocess.Popen(
        [sys.executable, "-u", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        told = run("-p", script.name, "-n", "BEGIN")
        listed = subprocess.run([os.path.join(os.path.dirname(sys.executable), "pyusdt"), "list", "-p", script.name],
                                capture_output=True, text=True, timeout=30, check=False)  # fmt: skip
        process.stdin.close()
    assert told == (
        1,
        "",
        f"dtrace: invalid pid: {script.name}\nhint: -p takes a process id; called {script.name}: {process.pid}\n",
    )
    assert listed.returncode == 2
    assert listed.stderr.endswith(
        f"expected a process id, got '{script.name}'; called {script.name}: {process.pid}\n"
    )


@pytest.fixture(scope="module")
def myweb(tmp_path_factory):
    """(a process with the provider myweb, the environment in which it is alone)."""
    folder = tmp_path_factory.mktemp("run")
    folder.chmod(0o700)
    environment = {**os.environ, "PYUSDT_RUNDIR": str(folder)}
    code = "import sys, pyusdt; pyusdt.Provider('myweb').probe('request-end', int); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        process.stdout.readline()
        yield process, environment
        process.stdin.close()


def test_of_many_processes_those_with_pyusdt_are_named(myweb):
    process, environment = myweb
    name = process_names.read_name(process.pid)
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        other.stdout.readline()
        told = run("-p", name, "-n", "BEGIN", env=environment)
        other.communicate(b"\n")
    assert told[0] == 1 and told[2].startswith(
        f"dtrace: invalid pid: {name}\nhint: -p takes a process id; called {name}: "
    )
    assert told[2].endswith(f" (with pyusdt in them: {process.pid})\n")


@pytest.mark.parametrize(("text", "hint"), [
    ("BEGN", "did you mean BEGIN?"), ("pyusdt:::user_trace-s1", "did you mean pyusdt*:::user_trace-s1?"), ("myweb:::", "did you mean myweb*:::?"), ("mywob*:::", "did you mean myweb*:::?"),
    ("myweb*:::request_end", "did you mean myweb*:::request-end?"), ("request_end", "did you mean request-end?"),
    ("myweb*:::Request-End", "did you mean myweb*:::request-end?"), ("MYWEB*:::request-end", "did you mean myweb*:::request-end?"),
    ("myweb:request-end", "did you mean myweb*:::request-end?"), ("myweb::request-end", "did you mean myweb*:::request-end?"),
    ("begin", "did you mean BEGIN?"), ("tick_1s", "did you mean tick-1s?"),
    ("pid$target:::entry", "$target is the process of -p PID or -c COMMAND, and there is neither"),
    ("myweb$target:::", "$target is the process of -p PID or -c COMMAND, and there is neither"),
    ("qqqqq:::", "pydtrace -l lists the probes; -Z waits for probes to come"),
])  # fmt: skip
def test_a_probe_that_is_nearly_one_is_named(text, hint, myweb):
    status, _, told = run("-n", text, "-x", "engine=embedded", env=myweb[1])
    assert status == 1 and told.splitlines()[0].endswith(
        "no process has the id 0" if "pid$" in text else "does not match any probes"
    )
    assert told.splitlines()[-1] == f"hint: {hint}"


@pytest.mark.parametrize(("text", "hint"), [
    ("myweb$target:::request_end", "did you mean myweb$target:::request-end?"), ("mywob$target:::", "did you mean myweb$target:::?"),
    ("pyusdt$target:::user_trace_i4s4", "did you mean pyusdt$target:::user_trace-i4s4?"),
    ("python$target:::function_entry", "did you mean python$target:::function-entry?"),
])  # fmt: skip
def test_a_probe_of_a_process_that_is_nearly_one_is_named(text, hint, myweb):
    process, environment = myweb
    status, _, told = run(
        "-p", str(process.pid), "-n", text, "-x", "engine=embedded", env=environment
    )
    assert status == 1 and told.splitlines()[-1] == f"hint: {hint.format(process.pid)}"


def test_a_command_s_probe_that_is_nearly_one_is_named():
    told = run(
        "-n",
        "python$target:::function_entry",
        "-x",
        "engine=embedded",
        "-c",
        f"{sys.executable} -c 1",
    )
    assert told[0] == 1 and re.search(
        r"hint: did you mean python\$target:::function-entry\?\n$", told[2]
    )


def test_the_list_says_what_is_called_nearly_so(myweb):
    told = run("-l", "-P", "myweb", "-x", "engine=embedded", env=myweb[1])
    assert told[0] == 0
    assert (
        told[2]
        == "dtrace: failed to match myweb:::: No probe matches description\nhint: did you mean myweb*:::?\n"
    )


@pytest.mark.parametrize(("wanted", "found"), [
    (("syscall", "", "raed", "entry"), "syscall::read:entry"), (("syscall", "", "read", "entyr"), "syscall::read:entry"),
    (("syscal", "", "read", "entry"), "syscall::read:entry"), (("", "syscall", "read", "entry"), "syscall::read:entry"),
    (("", "", "syscall", "entry"), "syscall:::entry"), (("sched", "", "", "on_cpu"), "sched:::on-cpu"),
    (("shop12", "", "", "paid"), "shop*:::paid"), (("shap7", "", "", "paid"), "shop7:::paid"), (("", "", "", "profile_97"), "profile-97"),
    (("erlang9", "", "", "user_trace_s1"), "erlang9:::user_trace-s1"), (("erlang9", "", "", "message-send"), None),
    (("syscall", "", "read", "entry"), None), (("sched", "", "", ""), None), (("", "", "", "qqqqq"), None),
])  # fmt: skip
def test_what_is_called_nearly_so(wanted, found):
    probes = [("syscall", "vmlinux", "read", "entry"), ("syscall", "vmlinux", "write", "return"), ("sched", "", "", "on-cpu"),
              ("shop7", "m", "", "paid"), ("shop70", "m", "", "paid"), ("erlang9", "", "", "message-send-remote"), ("erlang9", "", "", "user_trace-s1")]  # fmt: skip
    description = ProbeDesc(None, *wanted)
    hint = suggest_name(description, probes) or suggest_provider(description, probes)
    assert hint == (found and f"did you mean {found}?")


@pytest.mark.parametrize(("line", "words"), [
    ('python -c "print(1, 2)"', ["python", "-c", "print(1, 2)"]), ("a 'b c' d", ["a", "b c", "d"]), ("a  b\t c", ["a", "b", "c"]),
    (r"a b\c", ["a", r"b\c"]), ("echo it's", ["echo", "it's"]), ('a ""', ["a", ""]), ("a #b 'c'", ["a", "#b", "c"]), (" ", []),
])  # fmt: skip
def test_a_command_s_words(line, words):
    assert command_words(line) == words


def test_a_command_may_have_quotes():
    line = f"""{sys.executable} -c "print('two  blanks')\""""
    assert run("-qn", "BEGIN", "-c", line) == (0, "two  blanks\n\n", "")


def test_ready_is_a_line_on_the_standard_error():
    assert run("--ready", "-qn", "BEGIN { trace(1); exit(0); }") == (0, "1\n", "dtrace: ready\n")


def test_ready_with_a_descriptor_that_is_not_open():
    assert run("--ready=77", "-qn", "BEGIN") == (1, "", "dtrace: --ready=77: Bad file descriptor\n")


def test_ready_is_not_told_where_tracing_does_not_begin():
    reader, writer = os.pipe()
    done = subprocess.run(
        [*COMMAND, f"--ready={writer}", "-n", "qqqqq:::"],
        pass_fds=[writer],
        capture_output=True,
        timeout=30,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 1 and os.read(reader, 1) == b""
    os.close(reader)


def test_ready_in_a_background_job_of_a_script():
    """A shell without job control lets its background jobs ignore SIGINT: SIGTERM ends them as exit() does."""
    reader, writer = os.pipe()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        job = subprocess.Popen([*COMMAND, f"--ready={writer}", "-qn", 'END { printf("end"); }', "-c", "sleep 60"], pass_fds=[writer],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)
    os.close(writer)
    with job, open(reader, "rb") as told:
        assert told.read() == b"\n"  # up to its end: the command does not have it
        job.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            job.wait(0.3)
        job.terminate()
        assert job.communicate(timeout=30) == (b"\nend\n", b"") and job.returncode == 0


def test_debug_tells_what_is_done(tmp_path):
    (tmp_path / "lib.d").write_text("inline int THREE = 3;\n")
    arguments = ["-L", str(tmp_path), "-q", "-n", "BEGIN { trace(THREE); exit(0); }"]
    assert run(*arguments)[2] == ""
    for how, environment in ((["-x", "debug"], {}), ([], {"DTRACE_DEBUG": "1"})):
        status, stdout, stderr = run(*how, *arguments, env={**os.environ, **environment})
        assert (status, stdout) == (0, "3\n")
        for part in (
            f"library {tmp_path}/lib.d",
            "clause 0, :::BEGIN: ",
            "engine embedded: ",
            ":::BEGIN matched 1",
        ):
            assert re.search(rf"(?m)^pydtrace DEBUG \d+: {re.escape(part)}", stderr), part


@pytest.mark.parametrize(
    "stages, passes", [("1", ["1"]), ("4", ["3"]), ("7", ["1", "2", "3"]), ("8", [])]
)
def test_tree_shows_the_stages_whose_bits_are_set(stages, passes):
    _, _, stderr = run("-x", f"tree={stages}", "-q", "-e", "-n", "BEGIN { x = 1; }")
    assert re.findall(r"(?m)^Parse tree \(Pass (\d)\):\nUnit$", stderr) == passes
    assert ("Var symbol=x  <int>" in stderr) == ("3" in passes)


def test_the_output_file_is_appended_to(tmp_path):
    path = tmp_path / "out"
    path.write_text("before\n")
    assert run("-q", "-o", str(path), "-n", 'BEGIN { printf("%s", "now"); exit(0); }') == (
        0,
        "",
        "",
    )
    assert path.read_text() == "before\nnow\n"


def test_a_reader_that_is_gone_is_the_end_by_sigpipe():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*COMMAND, "-n", 'tick-10ms { printf("x"); }'], stdout=writer, stderr=subprocess.PIPE,
                          timeout=30, check=False)  # fmt: skip
    os.close(writer)
    assert done.returncode == -13
    assert b"Traceback" not in done.stderr


def test_a_full_disk_is_told():
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "-qn", "BEGIN { trace(1); exit(0); }"], stdout=full, stderr=subprocess.PIPE,
                              timeout=30, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (
        1,
        b"dtrace: failed to write to <stdout>: No space left on device\n",
    )


def test_dumps_need_no_target():
    status, stdout, stderr = run("--dump=bpf", "-n", "BEGIN { trace(1); }")
    assert (status, stderr) == (0, "")
    assert "exit" in stdout


def test_a_bug_is_told_in_one_line_and_shown_on_demand():
    broken = [
        sys.executable,
        "-c",
        "import pydtrace.cli.pydtrace.main as c; c.run_command_line = lambda argv: [][1]; c.main()",
    ]
    done = subprocess.run(broken, capture_output=True, text=True, timeout=30, check=False)
    expected = "dtrace: bug in pydtrace: IndexError: list index out of range (PYUSDT_DEBUG=1 shows where)\n"
    assert (done.returncode, done.stderr) == (1, expected)
    debugged = subprocess.run(
        broken,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "PYUSDT_DEBUG": "1"},
    )
    assert "Traceback" in debugged.stderr
