"""pyusdt list: probes of files and processes, as text and as JSON."""

import json
import os
import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from pydtrace.cli.commands import list_command, main, semaphore_reader, top
from pydtrace.cli.commands.list_command import ListedProbe
from pydtrace.cli.commands.semaphore_reader import SemaphoreReader
from pydtrace.symbols import elf
from tests.support import elf_notes
from tests.support.paths import ROOT
from tests.support.pyusdt_command import MODULE, run

pytestmark = pytest.mark.own_processes
ARGUMENTS = "8@%rdi 8@%rsi -8@%rdx -8@%rcx -8@%r8 -8@%r9 8@%rax 8@%r10 8@%r11 8@%rbx"


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


def test_list_as_json():
    listed = run("list", "--json", MODULE)
    assert (listed.returncode, listed.stderr) == (0, "")
    probes = [json.loads(line) for line in listed.stdout.splitlines()]
    assert len(probes) == 953 and all(probe["provider"] == "pyusdt" for probe in probes)


def test_names_of_arguments():
    """Those of include/user_trace.d and of docs/reference/python-vm.md, and as many as the probes have."""
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
    with open(os.path.join(top, "docs", "reference", "python-vm.md"), encoding="utf-8") as file:
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
            main.list_command(
                SimpleNamespace(file=None, pid=process.pid, json=False, all=False, functions=None)
            )
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
            == f"process {os.getpid()} belongs to another user (uid 0): run pyusdt as that user, or as root"
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
