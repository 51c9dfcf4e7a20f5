"""Files of strangers' processes, which a tracer of all processes looks at: they cost it nothing but their own probes."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pydtrace.dlang.compile import compile_program
from pydtrace.engine import Targets
from pydtrace.engine.kernel.engine import KernelEngine
from pydtrace.engine.kernel.probes import finder as probes
from pydtrace.symbols import elf
from pydtrace.untrusted.safe_open import open_regular
from tests.support import elf_notes
from tests.support.kernel_harness import DATA, compile_c, start_pydtrace

LOADING = "import ctypes, sys; library = ctypes.CDLL(sys.argv[1]); print('loaded', flush=True); sys.stdin.read()"


def code(process, path, offset, size=16):
    """What a process has in memory of a byte of a file on."""
    with open(f"/proc/{process.pid}/maps") as maps:
        lines = [line.split() for line in maps if line.rstrip().endswith(str(path))]
    start, first = next(
        (int(line[0].split("-")[0], 16), int(line[2], 16))
        for line in lines
        if 0
        <= offset - int(line[2], 16)
        < int(line[0].split("-")[1], 16) - int(line[0].split("-")[0], 16)
    )
    with open(f"/proc/{process.pid}/mem", "rb") as memory:
        memory.seek(start + offset - first)
        return memory.read(size)


def loaded(path):
    """A process that has a library mapped."""
    process = subprocess.Popen(
        [sys.executable, "-c", LOADING, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "loaded\n"
    return process


def end(*processes):
    for process in processes:
        process.kill()
        process.communicate()


def fire(process, times=1):
    for _ in range(times):
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "fired\n"


@pytest.mark.usefixtures("bpf")
@pytest.mark.parametrize("method", ["multi", "perf"])
def test_the_file_that_was_looked_at_is_the_one_that_is_probed(method, tmp_path, target, running):
    """Between looking and attaching the path becomes a link to another file: of that one nothing is changed in any process,
    though the offsets of the first say where."""
    mine, victim = tmp_path / "mine", tmp_path / "victim"
    for path in (mine, victim):
        shutil.copy(target, path)
    processes = [running(program=path) for path in (mine, victim)]
    for process in processes:
        fire(process)
    file = elf.ElfFile(str(victim))
    note = next(note for note in file.read_notes() if note.name == "guarded-one")
    places = [(file.file_offset(note.address), 16), (file.file_offset(note.semaphore), 2)]
    before, mine_before = (
        [code(process, path, *place) for place in places]
        for process, path in zip(processes[::-1], (victim, mine))
    )
    engine = KernelEngine(
        compile_program("target*:::guarded-one { @ = count(); }"), {"attach": method}
    )
    try:
        engine.open(Targets())
        for each in engine._finder.files.values():  # the victim is not probed as itself
            if each.name == "victim":
                each.sites = []
        mine.rename(tmp_path / "mine.old")
        mine.symlink_to(victim)
        engine.begin()
        assert [code(processes[1], victim, *place) for place in places] == before
        assert [
            code(processes[0], tmp_path / "mine.old", *place) for place in places
        ] != mine_before
    finally:
        engine.close()


SCRIPT = """target*:::plain-two { @[probefunc, probemod] = count(); x = arg1; }
    tick-50ms /!told++/ { printf("ready\\n"); } END { printa("%s %s %@d\\n", @); }"""
BAD_OPERAND = """
asm(".pushsection .note.stapsdt,\\"?\\",\\"note\\"; .balign 4; .4byte 8, 2f-1f, 3; .asciz \\"stapsdt\\";"
    "1: .8byte fire_stranger, _.stapsdt.base, 0; .asciz \\"target\\"; .asciz \\"plain__two\\"; .asciz \\"8@%nonsense 8@(\\"; 2: .balign 4; .popsection;"
    ".pushsection .stapsdt.base,\\"aG\\",\\"progbits\\",.stapsdt.base,comdat; .weak _.stapsdt.base; .hidden _.stapsdt.base;"
    "_.stapsdt.base: .space 1; .popsection");
void fire_stranger(void) { asm volatile("nop"); }
"""


@pytest.fixture
def stranger(tmp_path):
    """A library with a probe of the name that others are traced by, and operands that make no sense."""
    source = tmp_path / "stranger.c"
    source.write_text(BAD_OPERAND)
    return compile_c(source, tmp_path / "stranger.so", "-shared", "-fPIC")


def cut_symbols(path):
    """A file whose table of symbols lies outside of it."""
    data = bytearray(Path(path).read_bytes())
    file = elf.ElfFile(path)
    numbers = [i for i, name in enumerate(file.sections) if name in (".symtab", ".dynsym")]
    for number in numbers:
        at = file._table + 64 * number + 24
        data[at : at + 8] = (1 << 62).to_bytes(8, "little")
    Path(path).write_bytes(data)


@pytest.mark.usefixtures("bpf")
@pytest.mark.parametrize(
    "harm, said",
    [
        ("operands", "stranger.so:fire_stranger:plain-two: arg1: 8@( is not an operand"),
        ("name", "\\x1b[2J.so:fire_stranger:plain-two: arg1"),
        ("symbols", ""),
    ],
)
def test_a_stranger_costs_his_own_probes(harm, said, stranger, tmp_path, running):
    if harm == "symbols":
        stranger = compile_c(
            os.path.join(DATA, "target_plain.c"), tmp_path / "cut.so", "-shared", "-fPIC"
        )
    holder = None
    try:
        if harm == "name":
            renamed = os.fsencode(tmp_path) + b"/\xff\x1b[2J.so"
            os.rename(stranger, renamed)
            holder = loaded(renamed)
        else:
            holder = loaded(stranger)
            if harm == "symbols":
                cut_symbols(stranger)
        process = running()
        tracer = start_pydtrace("-q", "-n", SCRIPT, wait_for="ready")
        fire(process, 100)
        tracer.send_signal(signal.SIGINT)
        out, err = tracer.communicate(timeout=30)
    finally:
        if holder:
            end(holder)
    assert "fire_plain target 100" in out and tracer.returncode == 0, (out, err)
    assert said in err and "\x1b" not in err, err


# --- reading -----------------------------------------------------------------------


def openings(path, look):
    """How often a file is opened while look() runs, as inotify tells."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert libc.inotify_add_watch(fd, os.fsencode(path), 0x20) >= 0  # IN_OPEN
    try:
        look()
        try:
            return len(os.read(fd, 4096)) // 16
        except BlockingIOError:
            return 0
    finally:
        os.close(fd)


def refused(path):
    with pytest.raises((OSError, elf.BadFile)):
        elf.ElfFile(str(path))


def test_what_is_no_file_is_not_opened(tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    assert openings(pipe, lambda: refused(pipe)) == 0
    link.symlink_to(pipe)
    assert openings(pipe, lambda: refused(link)) == 0
    link.unlink()
    link.symlink_to("/dev/ptmx")
    assert openings("/dev/ptmx", lambda: refused(link)) == 0
    refused(tmp_path)
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(str(link), os.O_NOFOLLOW)


LEASED = """
import fcntl, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = open(sys.argv[1], "r+b")
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("leased", flush=True)
time.sleep(600)
"""


def test_nobody_is_waited_for(tmp_path, target):
    """Whoever holds a lease of a file may let others wait for 45 s, and longer where it is asked for again."""
    path = tmp_path / "leased"
    shutil.copy(target, path)
    holder = subprocess.Popen(
        [sys.executable, "-c", LEASED, path], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "leased\n"
        with pytest.raises(BlockingIOError):
            elf.ElfFile(str(path))
    finally:
        end(holder)


CUT = """
import os, sys
from pydtrace.symbols import elf
for look in ("read_notes", "read_functions", "read_symbols"):
    file = elf.ElfFile(sys.argv[1])
    whole = open(sys.argv[1], "rb").read()
    file.sections
    os.truncate(sys.argv[1], 4096)
    try:
        getattr(file, look)()
    except elf.BadFile as error:
        print(error)
    with open(sys.argv[1], "r+b") as out:
        out.write(whole)
"""


def test_a_file_that_is_cut_while_it_is_read(tmp_path, target):
    path = tmp_path / "cut"
    shutil.copy(target, path)
    done = subprocess.run(
        [sys.executable, "-c", CUT, path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "it is cut off\n" * 3), done


def test_a_file_that_says_that_it_is_huge(tmp_path, target):
    """Holes cost their owner nothing: no more is read of them than of a file that there can be."""
    path = tmp_path / "huge"
    data = bytearray(Path(target).read_bytes())
    file = elf.ElfFile(target)
    for number, name in enumerate(file.sections):
        if name in (".symtab", ".dynsym", ".note.stapsdt"):
            at = file._table + 64 * number + 24
            data[at : at + 16] = len(data).to_bytes(8, "little") + (1 << 40).to_bytes(8, "little")
    path.write_bytes(data)
    os.truncate(path, 1 << 42)
    for look in (elf.ElfFile.read_notes, elf.ElfFile.read_functions):
        with pytest.raises(elf.BadFile, match="too large"):
            look(elf.ElfFile(str(path)))


@pytest.mark.skipif(os.geteuid() != 0, reason="host: not root")
def test_a_user_s_files_have_room_together(tmp_path, target, monkeypatch):
    """For their notes, and for descriptors: what is too much costs that user's probes, and is told; everybody else's are found."""
    monkeypatch.setattr(probes, "_NOTES", 40_000)
    monkeypatch.setattr(probes, "_descriptor_limit", lambda: 64)
    many = [elf_notes.write(tmp_path / f"{number}.so", 1) for number in range(100)]
    large = elf_notes.write(tmp_path / "large.so", 1000)
    for path in [large, *many]:
        os.chown(path, 4711, 4711)
    told = []
    finder = probes.ProbeFinder(told.append)
    sites = [len(finder.add_file(str(path)).sites) for path in [large, *many]]
    assert sites == [0, *[1] * 32, *[0] * 68]
    assert len(told) == 1 and "user 4711" in told[0]
    assert sum(file.elf is not None for file in finder.files.values()) == 32
    assert finder.add_file(str(target)).sites  # root's
    monkeypatch.setattr(probes, "_FILES", 10)
    finder = probes.ProbeFinder(told.append)
    assert [finder.add_file(str(path)) is not None for path in many] == [True] * 5 + [False] * 95


def test_functions_of_processes_that_nobody_has_named(tmp_path, target, monkeypatch):
    """Tables of symbols without end, in a file of a name that a script asks for, are left out, and told; of a named process they are not."""

    def wanted_of(file, pids):
        return lambda name, size, offsets: ["entry"] if name == "fire_plain" else []

    size = elf.ElfFile(str(target)).symbols_size
    monkeypatch.setattr(probes, "_SYMBOLS", 2 * size)
    copies = [shutil.copy(target, tmp_path / f"copy{number}") for number in range(4)]
    told = []
    for pids, found in (((), 2), ((1,), 4)):
        finder = probes.ProbeFinder(told.append)
        monkeypatch.setattr(
            finder._symbols,
            "find_available",
            lambda owner, finder=finder: 2 * size - finder._symbols.used.total(),
        )
        files = [finder.add_file(str(path)) for path in copies]
        finder.add_functions(wanted_of, pids)
        assert [sum(site.note.provider == "pid" for site in file.sites) for file in files] == [
            1
        ] * found + [0] * (4 - found)
    assert len(told) == 1 and "copy2" in told[0]
