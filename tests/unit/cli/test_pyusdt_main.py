"""The pyusdt command: its reporters on made-up records, its commands on files and processes."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

import pyusdt
from pydtrace.cli.commands import doctor, list_command, main, semaphore_reader, top
from pydtrace.cli.commands.doctor import Finding
from pydtrace.cli.commands.list_command import ListedProbe
from pydtrace.cli.commands.semaphore_reader import SemaphoreReader
from pydtrace.process import process_names
from pydtrace.symbols import elf
from tests.support import elf_notes
from tests.support.paths import ROOT

pytestmark = pytest.mark.own_processes
PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")
MODULE = pyusdt._core.__file__
ARGUMENTS = "8@%rdi 8@%rsi -8@%rdx -8@%rcx -8@%r8 -8@%r9 8@%rax 8@%r10 8@%r11 8@%rbx"


def run(*arguments, **environment):
    return subprocess.run(
        [PYUSDT, *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, **environment},
    )


# ---- reporters ----


def test_probe_text():
    probes = [
        ListedProbe("shop", "order-placed", "shop-1.so", "-8@%rdi 8@%rsi", "1"),
        ListedProbe("a", "b", "c", ""),
    ]
    assert main.format_probes(probes) == (
        "PROVIDER  PROBE         ON  MODULE     ARGUMENTS\n"
        "shop      order-placed  1   shop-1.so  -8@%rdi 8@%rsi\n"
        "a         b             -   c\n"
    )


def test_probe_json():
    """Lines that a program reads, whatever is in a name."""
    probes = [
        ListedProbe("shop", "order\n\x1b[31m", "shop-\udcff.so", "-8@%rdi 8@%rsi", "1"),
        ListedProbe("a", "b", "c", "", pid=17, process="web"),
    ]
    lines = main.encode_probes(probes).splitlines()
    assert all(line.isascii() and line.isprintable() for line in lines)
    assert [json.loads(line) for line in lines] == [
        {
            "provider": "shop",
            "name": "order\n\x1b[31m",
            "module": "shop-\udcff.so",
            "state": "1",
            "arguments": "-8@%rdi 8@%rsi",
            "pid": None,
            "process": "",
        },
        {
            "provider": "a",
            "name": "b",
            "module": "c",
            "state": "-",
            "arguments": "",
            "pid": 17,
            "process": "web",
        },
    ]


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
            ["profile", "--flame", "x.svg", "1"],
            "no option --flame\nhint: --svg FILE writes a flame graph\n",
        ),
        (
            ["profile", "-ox.svg", "1"],
            "no option -o\nhint: --svg FILE, --speedscope FILE and --folded write what was seen\n",
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


def test_list_as_json():
    listed = run("list", "--json", MODULE)
    assert (listed.returncode, listed.stderr) == (0, "")
    probes = [json.loads(line) for line in listed.stdout.splitlines()]
    assert len(probes) == 953 and all(probe["provider"] == "pyusdt" for probe in probes)


def test_names_of_arguments():
    """Those of include/user_trace.d and of docs/guide/python-vm.md, and as many as the probes have."""
    from pydtrace.program import builtin_probe_args

    top = ROOT
    with open(os.path.join(top, "include", "user_trace.d"), encoding="utf-8") as file:
        macro = (
            file.read()
            .split("#define USER_TRACE_ARGUMENTS", 1)[1]
            .split("*/", 1)[0]
            .split("\nprovider", 1)[0]
        )
    assert builtin_probe_args.argument_names("pyusdt", "user_trace-n7") == tuple(
        re.findall(r"(\w+)(?=,|\s*$)", macro.replace("\\", " "))
    )
    assert builtin_probe_args.argument_names("erlang", "user_trace-s1") == ("message",)
    assert builtin_probe_args.argument_names("shop", "user_trace-n7") == ()
    with open(os.path.join(top, "docs", "guide", "python-vm.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]+) \| 3\.", file.read(), re.MULTILINE)
    assert len(rows) > 10
    for name, told in rows:
        arguments = (
            re.sub(r" \([^)]*\)", "", told)
            .replace(" and function called, line of the call", ", function, line")
            .split(", ")
        )
        assert len(builtin_probe_args.argument_names("python", name)) == len(arguments), name
    shown = [
        each.arguments
        for each in list_command.list_process_probes(os.getpid())
        if each.name == "user_trace-s1"
    ]
    assert shown == [] or shown[0]


def test_finding_text():
    findings = [
        Finding("one", True, "fine"),
        Finding("another", False, "bad", "do this"),
        Finding("x", None, "so what"),
    ]
    assert main.format_findings(findings) == (
        "ok  one      fine\nNO  another  bad\n             -> do this\n--  x        so what\n"
    )


def test_folded():
    def names(probes):
        return [each.name for each in list_command.fold_families(probes)]

    numbered = [ListedProbe("p", f"n{i}", "m", "") for i in range(5)]
    assert names(numbered) == ["n0 … 4"]
    assert names(numbered[:2]) == ["n0", "n1"]
    assert names([*numbered, ListedProbe("p", "i4s4", "m", "")]) == ["n0 … 4", "i4s4"]
    on = [ListedProbe("p", f"n{i}", "m", "", "1" if i == 2 else "0") for i in range(7)]
    assert names(on) == ["n0", "n1", "n2", "n3 … 6"]
    assert names([ListedProbe("p", name, "m", "") for name in ("a", "a", "a")]) == ["a"] * 3


# ---- list ----


def test_list_of_a_file():
    listed = run("list", MODULE)
    assert listed.returncode == 0 and listed.stderr == ""
    lines = [line.split(None, 4) for line in listed.stdout.splitlines()]
    assert lines[1] == ["pyusdt", "user_trace-s1", "-", os.path.basename(MODULE), "8@%rdi"]
    assert lines[2] == ["pyusdt", "user_trace-i4s4", "-", os.path.basename(MODULE), ARGUMENTS]
    assert len(lines) == 4
    assert len(run("list", "--all", MODULE).stdout.splitlines()) == 954


@pytest.mark.parametrize("what", ["missing", "text", "directory", "cut"])
def test_list_of_what_is_no_elf_file(what, tmp_path):
    path = tmp_path / "file"
    if what == "text":
        path.write_text("text")
    elif what == "directory":
        path.mkdir()
    elif what == "cut":
        shutil.copy(MODULE, path)
        os.truncate(path, 200_000)
    listed = run("list", str(path))
    assert listed.returncode == 1 and listed.stdout == ""
    assert re.fullmatch(rf"pyusdt: {re.escape(str(path))}: .+\n", listed.stderr), listed.stderr


def test_list_of_a_process(tmp_path):
    """Semaphores as they are now: up while somebody is attached; own providers, seen by tools or not."""
    code = (
        "import ctypes, sys, pyusdt\n"
        "pyusdt.Provider('listed').probe('in-a-file', int, str)\n"
        "import os; os.environ['PYUSDT_CACHE'] = '/proc/none'\n"
        "pyusdt.Provider('listed').probe('in-none', int, str)\n"
        "print('ready', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYUSDT_CACHE": str(tmp_path / "cache")},
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        listed = run("list", "-p", str(process.pid))
        set_semaphore(process.pid, "listed", 3)
        again = run("list", "-p", str(process.pid))
        doctored = run("doctor", "-p", str(process.pid))
        process.stdin.close()
    assert listed.returncode == again.returncode == 0, listed.stderr
    assert re.search(
        r"^listed +in-a-file +0 +listed-\w+\.so +-8@%rdi 8@%rsi$", listed.stdout, re.MULTILINE
    )
    assert re.search(
        rf"^listed{process.pid} +in-none +0 +listed +integer string$", listed.stdout, re.MULTILINE
    )
    assert re.search(
        rf"^pyusdt +user_trace-i4s4 +\d+ +\S+ +{re.escape(ARGUMENTS)}$", listed.stdout, re.MULTILINE
    )
    assert re.search(r"^listed +in-a-file +3 ", again.stdout, re.MULTILINE)
    assert f"pydtrace -p {process.pid} works" in doctored.stdout
    # an interpreter that is built --with-dtrace has a few more of its own
    assert re.search(
        r"ok +USDT probes +(954 of listed|9\d\d of listed, python), pyusdt", doctored.stdout
    )


def set_semaphore(pid, provider, value):
    """As a tracer does that has no help from the kernel."""
    with open(f"/proc/{pid}/maps") as maps:
        matches = (
            re.match(rf"(\w+)-\w+ rw-p (\w+) \S+ \d+ +(\S+/{provider}-\w+\.so)", line)
            for line in maps
        )
        path, start, offset = next(
            (match[3], int(match[1], 16), int(match[2], 16)) for match in matches if match
        )
    file = elf.ElfFile(path)
    (note,) = file.read_notes()
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(start + file.file_offset(note.semaphore) - offset)
        memory.write(value.to_bytes(2, "little"))
    file.close()


def test_list_of_what_has_no_probes(tmp_path):
    bare = tmp_path / "bare.so"
    subprocess.run(["objcopy", "--remove-section=.note.stapsdt", MODULE, str(bare)], check=True)
    listed = run("list", str(bare))
    assert (listed.returncode, listed.stdout, listed.stderr) == (
        1,
        "",
        f"pyusdt: no USDT probes in {bare}\n",
    )


MAPPING = """
import mmap, os, sys
kept = []
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        kept.append(mmap.mmap(file.fileno(), 4096, access=mmap.ACCESS_READ))
print("mapped", flush=True)
sys.stdin.read()
"""


def test_a_process_with_more_probes_than_there_is_room_for(tmp_path, monkeypatch):
    """A file that is mapped by many names is read once; of a process so many bytes of notes are read, and so many files; what is not is told."""
    first = elf_notes.write(tmp_path / "first.so", 2)
    names = [first, *(tmp_path / f"link{number}.so" for number in range(20))]
    for name in names[1:]:
        os.link(first, name)
    large, last = (
        elf_notes.write(tmp_path / "large.so", 10_000),
        elf_notes.write(tmp_path / "last.so", 1),
    )
    monkeypatch.setattr(list_command, "_MAX_NOTE_BYTES", 500_000)
    with subprocess.Popen(
        [sys.executable, "-S", "-c", MAPPING, *names, large, last],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"mapped\n"
        left = []
        probes = [
            each
            for each in list_command.list_process_probes(process.pid, left.append)
            if each.provider == "bad"
        ]
        listed = run("list", "-p", str(process.pid))
        assert ([each.name for each in probes], left) == (["one"] * 3, ["large.so"])
        assert {str(path) for path in (*names, large, last)} <= list_command.find_semaphores(
            process.pid
        )[1]
        monkeypatch.setattr(list_command, "_MAX_FILES", 1)
        assert (
            len(left) == 1
            and list_command.list_process_probes(process.pid, left.append) is not None
            and len(left) == 2
        )
        process.stdin.close()
    assert (listed.returncode, listed.stderr) == (0, "") and "bad" in listed.stdout


NOBODY_PROVIDES = """
import ctypes, mmap, struct, sys, pyusdt
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.syscall(int(sys.argv[1]), 0)
page = mmap.mmap(-1, 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
api, register = ctypes.create_string_buffer(struct.pack("=3Q", 0xAA, 0, 0)), ctypes.create_string_buffer(struct.pack("=4Q", address, 4096, 1, 0))
is_there = fd >= 0 and libc.ioctl(fd, 0xC018AA3F, api) == 0 and libc.ioctl(fd, 0xC020AA00, register) == 0
print(address if is_there else 0, flush=True)
sys.stdin.read()
"""


def test_semaphores_that_nobody_provides(monkeypatch, capfd):
    """In memory of a file system that does not answer, say, that a process puts there between two calls: list, doctor and top of root's waited
    for ever, and Ctrl-C did not end them."""
    number = {"x86_64": 323, "aarch64": 282}.get(os.uname().machine, 0)
    with subprocess.Popen(
        [sys.executable, "-c", NOBODY_PROVIDES, str(number)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        address = int(process.stdout.readline())
        if not address:
            process.stdin.close()
            pytest.skip("host: no userfaultfd")
        monkeypatch.setattr(
            list_command._MappedFile, "find_writable_address", lambda self, offset: address
        )
        monkeypatch.setattr(list_command, "LISTENERS", asked := SemaphoreReader())
        monkeypatch.setattr(semaphore_reader, "LISTENERS", asked)
        monkeypatch.setattr(top, "LISTENERS", asked)
        monkeypatch.setattr(semaphore_reader, "JOB_TIMEOUT", 0.2)
        assert (
            main.list_command(SimpleNamespace(file=None, pid=process.pid, json=False, all=False))
            == 0
        )
        said = capfd.readouterr()
        why = f"process {process.pid} does not let its memory be read: who listens to its probes is not known"
        assert said.err == f"pyusdt: {why}\n" and re.search(
            r"^pyusdt +user_trace-i4s4 +- ", said.out, re.MULTILINE
        )
        assert (
            list_command.count_raised(process.pid, {address}) == 0
            and asked.count_tracers(os.getpid(), []) == {}
            and asked.messages == [why]
        )
        assert why in top.footer_lines([])
        process.stdin.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="host: not root")
def test_list_of_anothers_process():
    """Asked by a forked child that has become nobody: he may not start each Python that these tests run in."""
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            list_command.list_process_probes(os.getppid())
        except list_command.NotFound as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read) as said:
        assert (
            said.read()
            == f"you may not look at process {os.getpid()}: run pyusdt as that process's user, or as root"
        )
    os.wait()


def test_list_of_a_process_that_is_not_there():
    listed = run("list", "-p", "4194305")
    assert (listed.returncode, listed.stderr) == (1, "pyusdt: no such process: 4194305\n")


def test_list_of_all(tmp_path):
    """Those of one run directory."""
    tmp_path.chmod(0o700)
    with subprocess.Popen(
        [sys.executable, "-c", "import pyusdt; print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYUSDT_RUNDIR": str(tmp_path)},
    ) as process:
        process.stdout.readline()
        listed = run("list", PYUSDT_RUNDIR=str(tmp_path)).stdout
        process.stdin.close()
    providers = set(re.findall(r"^(pyusdt\d+) ", listed, re.MULTILINE))
    assert (
        f"pyusdt{process.pid}" in providers and len(providers) <= 2
    )  # the command publishes itself


# ---- doctor ----


def test_doctor_finds_no_fault_here():
    findings = {each.subject: each for each in doctor.check_machine()}
    assert (
        findings["probes"].good
        and findings["embedded engine"].good
        and findings["own providers"].good
    )
    assert all(each.text and (each.good or each.advice) for each in findings.values())


DAMAGED = """
import os, pyusdt, sys
[control] = [name for name in os.listdir(sys.argv[1]) if name.startswith(f"{os.getpid()}-")]
with open(os.path.join(sys.argv[1], control), "r+b") as file:
    file.write(b"x" * 4096)
print(flush=True)
input()
"""


def test_doctor_of_a_forked_child_that_has_not_fired(tmp_path):
    """It has no file of its own yet, and can be traced."""
    tmp_path.chmod(0o700)
    program = "import os, pyusdt\nif os.fork(): os.wait()\nelse: print(os.getpid(), flush=True); input(); pyusdt.p(1)"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYUSDT_RUNDIR": str(tmp_path)},
    ) as process:
        child = int(process.stdout.readline())
        done = run("doctor", "-p", str(child), PYUSDT_RUNDIR=str(tmp_path))
        with subprocess.Popen(
            [
                os.path.join(os.path.dirname(PYUSDT), "pydtrace"),
                "-x",
                "engine=embedded",
                "-p",
                str(child),
                "-n",
                'pyusdt$target:::user_trace-i4s4 { printf("it fired"); exit(0); }',
                "--ready",
            ],
            env={**os.environ, "PYUSDT_RUNDIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as tracer:
            said = []
            while "ready" not in "".join(said[-1:]):
                said.append(tracer.stderr.readline())
                assert said[-1], said
            process.stdin.write(b"\n")
            process.stdin.flush()
            out = tracer.communicate(timeout=60)[0]
        process.stdin.close()
    assert "it fired" in out and any(
        f"process {child} has fired nothing since it was forked" in line for line in said
    ), (out, said)
    assert f"ok  embedded engine  pydtrace -p {child} works: {tmp_path}\n" in done.stdout, done


FORKED_IN_C = """import ctypes, threading
import pyusdt, pyusdt.vm
pyusdt.vm.enable()
def forks():
    global child
    child = ctypes.PyDLL(None).fork()
    if child == 0:
        ctypes.CDLL(None).pause()
thread = threading.Thread(target=forks)
thread.start()
thread.join()
print(child, flush=True)
input()
ctypes.CDLL(None).kill(child, 9)
"""


def test_doctor_of_a_child_without_the_providers_thread():
    """Another thread than the main one has forked in C."""
    with subprocess.Popen(
        [sys.executable, "-c", FORKED_IN_C], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        child = int(process.stdout.readline())
        said, of_parent = (run("doctor", "-p", str(pid)).stdout for pid in (child, process.pid))
        process.communicate(b"\n")
    missing = "--  provider python  nothing fires: its thread pyusdt-watch is not there"
    assert missing in said and missing not in of_parent, (said, of_parent)


def test_doctor_says_that_a_control_file_is_damaged(tmp_path):
    tmp_path.chmod(0o700)
    with subprocess.Popen(
        [sys.executable, "-c", DAMAGED, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYUSDT_RUNDIR": str(tmp_path)},
    ) as process:
        process.stdout.readline()
        done = run("doctor", "-p", str(process.pid), PYUSDT_RUNDIR=str(tmp_path))
        traced = subprocess.run(
            [
                os.path.join(os.path.dirname(PYUSDT), "pydtrace"),
                "-x",
                "engine=embedded",
                "-p",
                str(process.pid),
                "-n",
                "pyusdt$target:::user_trace-s1",
            ],
            env={**os.environ, "PYUSDT_RUNDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        process.stdin.close()
    assert (
        f"hint: what process {process.pid} says of its probes is damaged: pyusdt doctor -p"
        in traced.stderr
    )
    assert (done.returncode, traced.returncode) == (1, 1)
    assert (
        f"NO  embedded engine  what the process says in {tmp_path} of its probes is damaged\n"
        in done.stdout
    )


def test_doctor_says_what_is_wrong(tmp_path):
    tmp_path.chmod(0o755)
    done = run("doctor", PYUSDT_RUNDIR=str(tmp_path), PYUSDT_CACHE="/proc/none")
    assert done.returncode == 1
    assert re.search(
        rf"NO  embedded engine +run directory {tmp_path} is open to others", done.stdout
    ), done.stdout
    assert (
        "-> make that directory yours" in done.stdout
        and "-- " in done.stdout
        and "set PYUSDT_CACHE" in done.stdout
    )


@pytest.mark.parametrize(
    "said",
    [
        "run directory /x is open to others: its mode must be 0700",
        "run directory /x does not belong to uid 7: remove it, or set PYUSDT_RUNDIR to another one",
    ],
)
def test_doctor_gives_the_advice_about_the_run_directory_once(said, monkeypatch):
    def refuse():
        raise PermissionError(errno.EPERM, said)

    monkeypatch.setattr("pydtrace._tracer.list_probes", refuse)
    found = doctor._check_run_directory()
    assert not found.good and f"{found.text} {found.advice}".count("set PYUSDT_RUNDIR") == 1


def test_doctor_of_a_process_without_pyusdt():
    with subprocess.Popen(["sleep", "30"]) as process:
        done = run("doctor", "-p", str(process.pid))
        process.kill()
    assert (
        done.returncode == 1
        and "has no pyusdt in it" in done.stdout
        and "import pyusdt" in done.stdout
    )
    gone = run("doctor", "-p", "4194305")
    assert gone.returncode == 1 and "no process has this id" in gone.stdout


def test_what_uprobes_do_with_our_sites():
    assert doctor.parse_version("6.18.3-amd64") == (6, 18) and doctor.parse_version("what") == (
        0,
        0,
    )
    versions = [(4, 19), (5, 15), (6, 17), (6, 18), (7, 2), (7, 3)]
    said = {version: doctor.describe_uprobes(version) for version in versions}
    assert "semaphores" in said[4, 19] and said[5, 15] == said[6, 17] == "a trap"
    assert "+11" in said[6, 18] and "kills forked children" in said[6, 18]
    assert said[6, 18] == said[7, 2] and "+1)" in said[7, 3]


NOTHING = {"exists": [], "files": {}, "capabilities": 0, "which": None}
UPROBES = "/sys/bus/event_source/devices/uprobe"
EVERYTHING = {
    "exists": [
        UPROBES,
        f"{UPROBES}/format/ref_ctr_offset",
        "/sys/kernel/btf/vmlinux",
        "/sys/kernel/tracing/uprobe_events",
    ],
    "files": {"/proc/self/uid_map": "0 0 4294967295"},
    "capabilities": ~0,
    "which": "/bin/sh",
}


@pytest.mark.parametrize(
    ("machine", "subject", "good", "said"),
    [
        ({}, "uprobes", True, "Linux 6.18.0: a trap at the note's nop"),
        ({"exists": []}, "uprobes", False, "CONFIG_UPROBE_EVENTS"),
        ({"exists": [UPROBES]}, "uprobes", True, "no reference counters"),
        ({}, "kernel engine", True, "CAP_BPF"),
        ({"capabilities": 0}, "kernel engine", None, "run pydtrace as root"),
        ({"exists": []}, "kernel engine", None, "CONFIG_DEBUG_INFO_BTF"),
        (
            {"files": {"/sys/kernel/security/lockdown": "none [confidentiality]"}},
            "kernel engine",
            False,
            "lockdown",
        ),
        ({}, "tracefs", True, "/sys/kernel/tracing"),
        ({"exists": []}, "tracefs", None, "as root"),
        ({}, "namespaces", True, "the machine"),
        ({"exists": ["/.dockerenv"]}, "namespaces", None, "a container"),
        ({"files": {"/proc/self/uid_map": "0 1000 1"}}, "namespaces", None, "a user namespace"),
        ({}, "other tracers", True, "bpftrace, perf"),
        (NOTHING, "other tracers", None, "docs/guide/tracers.md"),
        ({}, "dtrace(1)", True, "/bin/sh"),
        (NOTHING, "dtrace(1)", None, "pydtrace takes its place"),
    ],
)
def test_doctor_of_made_up_machines(machine, subject, good, said, monkeypatch):
    """Each finding is told from what it is told from; whatever does not work has an advice."""
    machine = {**EVERYTHING, **machine}
    monkeypatch.setattr(doctor.os.path, "exists", lambda path: path in machine["exists"])
    monkeypatch.setattr(doctor.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(doctor, "_read_small_file", machine["files"].get)
    monkeypatch.setattr(doctor, "effective_capabilities", lambda: machine["capabilities"])
    monkeypatch.setattr(doctor.shutil, "which", lambda name: machine["which"])
    monkeypatch.setattr(doctor.platform, "release", lambda: "6.18.0")
    checks = (
        doctor._check_uprobes,
        doctor._check_rights,
        doctor._check_tracefs,
        doctor._check_namespaces,
        doctor._check_tools,
        doctor._check_dtrace,
    )
    found = {each.subject: each for each in (check() for check in checks)}
    assert (
        found[subject].good is good and said in f"{found[subject].text} {found[subject].advice}"
    ), found
    assert all(each.good or each.advice for each in found.values()), found


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ((3, 10), "profile and trace functions.*attach PID needs"),
        ((3, 12), "by sys.monitoring; .*attach PID needs"),
        ((3, 14), "attach PID works"),
    ],
)
def test_doctor_says_how_pythons_own_probes_are_had(version, said, monkeypatch):
    monkeypatch.setattr(doctor.sys, "version_info", version)
    assert re.search(said, doctor._check_python_vm().text)


@pytest.mark.parametrize(
    ("release", "good"), [("13.1.5 25", None), ("13.2 25", True), ("15.2.7 27", True), (None, None)]
)
def test_doctor_says_which_erlang_there_is(release, good, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "releases").mkdir()
    (tmp_path / "bin" / "erl").touch(0o755)
    if release:
        (tmp_path / "releases" / "start_erl.data").write_text(f"{release}\n")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    finding = doctor._check_erlang_vm()
    assert (
        finding.good is good
        and f"OTP {release.split()[1] if release else 'of an unknown'}" in finding.text
    )
    assert bool(finding.advice) is not bool(good)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor._check_erlang_vm().good is None


@pytest.mark.parametrize(("status", "good"), [("enabled", None), ("disabled", True)])
def test_doctor_on_macos(status, good, tmp_path, monkeypatch):
    (tmp_path / "csrutil").write_text(
        f"#!/bin/sh\necho System Integrity Protection status: {status}.\n"
    )
    (tmp_path / "csrutil").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    finding = doctor._check_sip()
    assert finding.good is good and bool(finding.advice) is not good


def test_a_check_that_breaks_is_a_finding():
    def _odd_check():
        raise RuntimeError("broken")

    finding = doctor._run_check(_odd_check)
    assert (
        finding.subject == "odd check"
        and finding.good is False
        and "broken" in finding.text
        and finding.advice
    )


def test_systemtaps_dtrace_is_none():
    assert not doctor.is_dtrace(b"#!/usr/bin/python3\n# vim")
    assert doctor.is_dtrace(b"\x7fELF") and doctor.is_dtrace(b"#!/bin/sh\n")


# ---- stub ----


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
    assert (shown.returncode, shown.stderr) == (0, "") and re.fullmatch(
        r"pyusdt [\d.]+(, commit \w+\+?)? \(layout \d+\), D 2\.0\.7\n", shown.stdout
    )


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
