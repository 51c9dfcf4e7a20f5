"""Names for addresses, of this very process, and how stacks show."""

import contextlib
import ctypes
import os
import random
import re
import struct
import subprocess
import sys
import time
import types

import pytest

from pydtrace.cli.pydtrace.dtrace_g import make_empty_object
from pydtrace.dlang import buffer_limits
from pydtrace.dlang.compile import compile_program
from pydtrace.driver.address_symbolizer import AddressSymbolizer
from pydtrace.process import maps
from pydtrace.program import d_types as t
from pydtrace.program.program import Data
from pydtrace.symbols import file_symbols
from pydtrace.symbols import perf_map as perf_map_module
from pydtrace.symbols.elf import BadFile, ElfFile
from pydtrace.symbols.symbol_table import Table
from pydtrace.untrusted import cpu_time_budget

pytestmark = pytest.mark.own_processes

ME = os.getpid()
ADDRESS = ctypes.cast(ctypes.pythonapi.PyLong_FromLong, ctypes.c_void_p).value


def test_an_address_has_its_file_its_function_and_the_distance():
    module, symbol, distance = AddressSymbolizer().find_symbol(ME, ADDRESS + 3)
    assert (symbol, distance) == ("PyLong_FromLong", 3)
    assert AddressSymbolizer().name_address(ME, ADDRESS + 3) == f"{module}`PyLong_FromLong+0x3"
    assert (
        AddressSymbolizer().name_address(ME, ADDRESS + 3, t.Naming(by_symbol=True))
        == f"{module}`PyLong_FromLong"
    )
    assert AddressSymbolizer().name_address(ME, ADDRESS + 3, t.Naming(module=True)) == module
    assert (
        AddressSymbolizer({"noresolve": True}).name_address(ME, ADDRESS).startswith(f"{module}:0x")
    )


def test_what_is_unknown_is_shown_as_a_number():
    assert AddressSymbolizer().name_address(ME, 0x10) == "0x10"
    assert AddressSymbolizer().name_address(2**22 + 5, ADDRESS) == hex(ADDRESS)


def test_addresses_of_one_function_are_one_key():
    symbols = AddressSymbolizer()
    for naming, same in (
        (t.Naming(by_symbol=True), True),
        (t.Naming(module=True), True),
        (t.SYMBOL_AND_OFFSET, False),
    ):
        assert (
            symbols.find_representative(naming, ME, ADDRESS + 1)
            == symbols.find_representative(naming, ME, ADDRESS + 2)
        ) is same


def test_stacks_that_print_alike_are_one_key(monkeypatch):
    """Code of a just-in-time compiler, which is named without the distance from its function's beginning."""
    monkeypatch.setattr(
        "pydtrace.driver.address_symbolizer.FRAME_RESOLVERS",
        [lambda: lambda pid, address: f"py::of {pid}, {address & ~0xF:x}"],
    )
    stack = t.Stack(2)
    group = AddressSymbolizer().make_key_grouper([Data(stack, 8, stack.size)])

    def key(pid, *frames):
        return group(struct.pack("=QIIII2Q", 7, 2, 1, pid, 0, *frames))

    assert key(ME, ADDRESS, 0x11) == key(ME, ADDRESS, 0x12) != key(ME, ADDRESS + 1, 0x12)
    assert key(ME, ADDRESS, 0x11) != key(ME, ADDRESS, 0x21)
    assert key(ME, 0x11, 0x12) != key(ME + 1, 0x11, 0x12)  # whose names are others


def test_stacks_of_several_processes_that_print_alike_are_one_key(monkeypatch):
    monkeypatch.setattr(
        "pydtrace.driver.address_symbolizer.FRAME_RESOLVERS",
        [lambda: lambda pid, address: f"py::{address & ~0xF:x}"],
    )
    stack, symbol = t.Stack(2), t.Symbol(True, t.SYMBOL_AND_OFFSET)
    symbols = AddressSymbolizer()

    def key(pid, *frames):
        return symbols.make_key_grouper([Data(stack, 8, stack.size)])(
            struct.pack("=QIIII2Q", 7, len(frames), 1, pid, 0, *frames, *[0] * (2 - len(frames)))
        )

    def name(pid, address):
        return symbols.make_key_grouper([Data(symbol, 0, 16)])(struct.pack("=QQ", pid, address))

    first = key(2**22 + 1, 0x11, 0x22)
    assert first == key(2**22 + 2, 0x12, 0x22) == key(2**22 + 1, 0x11, 0x22) != key(2**22 + 2, 0x12)
    assert key(2**22 + 3) == key(2**22 + 4)  # both are empty
    assert name(2**22 + 1, 0x31) == name(2**22 + 2, 0x32) != name(2**22 + 2, 0x41)


def test_a_stack_is_a_line_for_each_frame_that_there_is():
    storage = struct.pack("=IIII4Q", 2, 1, ME, 0, ADDRESS, 0x10, 0, 0)
    lines = AddressSymbolizer({"stackindent": 3}).format_stack(storage).decode().split("\n")
    assert lines[0] == lines[3] == ""
    assert lines[1].startswith("   ") and lines[1].endswith("`PyLong_FromLong")
    assert lines[2] == "   0x10"


@pytest.mark.parametrize("options, text, fits", [
    ({"bufsize": 63}, "BEGIN { exit(0); }", False), ({"bufsize": 64}, "BEGIN { exit(0); }", True),
    ({"bufsize": 0}, "BEGIN { exit(0); }", False), ({"aggsize": 8}, "BEGIN { @ = count(); }", False),
    ({"aggsize": 28}, "BEGIN { @ = count(); }", True), ({"aggsize": 100 << 40}, "BEGIN { @ = count(); }", False),
])  # fmt: skip
def test_buffers_that_are_too_small_are_told(options, text, fits):
    assert (buffer_limits.find_error(compile_program(text, options=options)) is None) is fits


def test_the_object_of_G_is_an_object_without_symbols(tmp_path):
    path = tmp_path / "prov.o"
    path.write_bytes(make_empty_object())
    file = ElfFile(str(path))
    assert ".note.GNU-stack" in file.sections
    assert file.read_notes() == [] and file.read_functions() == []
    file.close()


@pytest.fixture
def perf_map():
    """The path of a process's perf-PID.map, and what the process's addresses 0x1010 and 0x2010 are called."""
    process = subprocess.Popen(["sleep", "60"])
    path = f"/tmp/perf-{process.pid}.map"
    yield (
        path,
        lambda: [
            AddressSymbolizer().name_address(process.pid, address) for address in (0x1010, 0x2010)
        ],
    )
    process.kill()
    process.wait()
    if os.path.lexists(path):
        os.unlink(path)


def test_code_that_lies_in_no_file_is_named_by_a_map(perf_map):
    path, names = perf_map
    with open(path, "wb") as file:
        file.write(b"1000 20 py::f\n0x2000 0x20 evil\x1b[2J\xff\nno line\n" + b"9" * 40 + b" 1 x\n")
    assert names() == ["py::f", "evil\\x1b[2J\N{REPLACEMENT CHARACTER}"]


def test_a_map_that_is_somebody_elses_is_none(perf_map, tmp_path):
    """Any user may put a file, a link or a pipe there, before the process does."""
    path, names = perf_map
    told = tmp_path / "map"
    told.write_text("1000 2000 f\n")
    os.symlink(told, path)
    assert names() == ["0x1010", "0x2010"]
    os.unlink(path)
    os.mkfifo(path)
    assert names() == ["0x1010", "0x2010"]
    os.unlink(path)
    with open(path, "w") as file:
        file.write("1000 2000 f\n")
    assert names() == ["f", "f"]
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
        assert names() == ["0x1010", "0x2010"]


def elf_file(path, texts, symbols, sections=4, link=2):
    """An ELF file of functions; symbols: the offset of each one's name in the texts, which sections beyond the fourth have theirs
    in, too; link: the section of the texts, as the table of symbols says."""
    at = 64 + 24 * symbols
    table = at + len(texts)
    table += -table % 8
    header = struct.pack(
        "=16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 0, table, 0, 64, 56, 0, 64, sections, 2
    )
    rows = [
        (0,) * 10,
        (1, 2, 0, 0, 64, 24 * symbols, link, 0, 8, 24),
        (0, 3, 0, 0, at, len(texts), 0, 0, 1, 0),
        (0, 3, 0, 0, (1 << 63) - 1, 1, 0, 0, 1, 0),
        *((9 + i, 1, *(0,) * 8) for i in range(sections - 4)),
    ]
    functions = b"".join(
        struct.pack("=IBBHQQ", 9 + i, 2, 0, 1, 4096 + i, 1) for i in range(symbols)
    )
    path.write_bytes(
        (header + functions + texts).ljust(table, b"\0")
        + b"".join(struct.pack("=IIQQQQIIQQ", *row) for row in rows)
    )
    return str(path)


def test_a_table_finds_what_lies_there():
    """As looking at all of them does; of those that begin at one address the largest, and none behind the end of the last that begins before."""
    chance = random.Random(4)
    texts = b"\0" + b"".join(b"f%d\0" % number for number in range(50))
    for _ in range(100):
        rows = [
            (
                chance.choice((1 << 64, 100)) - 1 - chance.randrange(60),
                chance.choice((0, 1, 5, 1 << 40)),
                1 + chance.randrange(len(texts)),
            )
            for _ in range(chance.randrange(12))
        ]
        table = Table(rows, texts)
        for address in [row[0] + distance for row in rows for distance in (-1, 0, 1, 5)]:
            before = [row for row in rows if row[0] <= address]
            start, size, name = max(before, default=(0, 0, 0))
            text = texts[name:].partition(b"\0")[0].decode()
            assert table.find(address) == (
                (start, text)
                if before and address < start + max(min(size, (1 << 32) - 1), 1) and text
                else None
            )


def test_names_that_are_elsewhere_are_none(tmp_path):
    path = elf_file(tmp_path / "x.so", b"\0.symtab\0f\0", 1)
    assert file_symbols.read_file_symbols(path).table.find(4096) == (4096, "f")
    path = elf_file(tmp_path / "y.so", b"\0.symtab\0f\0", 1, link=3)  # at the end of all addresses
    assert file_symbols.read_file_symbols(path).table.find(4096) is None


@pytest.mark.parametrize("length", [60_000, 10_000_000])
def test_names_that_are_parts_of_one_long_text_take_no_long(tmp_path, length):
    """20,000 names of 60 kB each are 1.2 GB; the file has 0.5 MB."""
    texts = b"\0.symtab\0" + b"A" * length + b"\0"
    started = time.process_time()
    table = file_symbols.read_file_symbols(elf_file(tmp_path / "symbols", texts, 20_000)).table
    assert (len(table), table.size) == (20_000, 16 * 20_000 + len(texts))
    assert table.find(4100) == (4100, "A" * 1024)
    with pytest.raises(BadFile):
        ElfFile(elf_file(tmp_path / "symbols", texts, 20_000)).read_functions()
    with pytest.raises(BadFile):
        ElfFile(elf_file(tmp_path / "sections", texts, 0, sections=20_000)).read_notes()
    assert time.process_time() - started < 2


# --- strangers' files -----------------------------------------------------------------


def library(path, function):
    path.parent.mkdir(exist_ok=True)
    path.with_suffix(".c").write_text(f"int {function}(void) {{ return 1; }}")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, path.with_suffix(".c")], check=True)
    return path


LOADING = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
print(ctypes.cast(getattr(library, sys.argv[2]), ctypes.c_void_p).value, flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def holding(function, *command):
    """(pid, address of the function) of a process that has it; the last words of the command: the library."""
    process = subprocess.Popen(
        [*command, function], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process.pid, int(process.stdout.readline())
    finally:
        process.communicate()


def test_names_are_of_the_file_that_is_mapped(tmp_path):
    """Not of what has come to its path since."""
    path, other = library(tmp_path / "lib.so", "first"), library(tmp_path / "other.so", "second")
    with holding("first", sys.executable, "-c", LOADING, path) as (pid, address):
        os.rename(other, path)
        shown = AddressSymbolizer().name_address(pid, address)
    assert re.fullmatch("lib.so`first" if os.geteuid() == 0 else "lib.so`0x[0-9a-f]+", shown)


@pytest.mark.skipif(os.geteuid() != 0, reason="host: not root")
def test_a_container_s_file_names_nobody_else_s_functions(tmp_path):
    """Who has another file at the same path, in a mount namespace of his own, and is looked at first."""
    path, other = library(tmp_path / "lib.so", "first"), library(tmp_path / "other.so", "second")
    inside = (
        "unshare",
        "-m",
        "sh",
        "-c",
        f'mount --bind {other} {path} && exec "$@"',
        "sh",
        sys.executable,
        "-c",
        LOADING,
        path,
    )
    symbols = AddressSymbolizer()
    with (
        holding("second", *inside) as (hostile, second),
        holding("first", sys.executable, "-c", LOADING, path) as (pid, first),
    ):
        assert [symbols.name_address(hostile, second), symbols.name_address(pid, first)] == [
            "lib.so`second",
            "lib.so`first",
        ]


def told(path, offset, pid=2**22 + 5):
    """The name of what is at an offset of a file that a process, or a recording, says it has mapped; pid: of that process."""
    status = os.stat(path)
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    where = maps.Mapping("", "", "0", device, str(status.st_ino), str(path)), offset
    return AddressSymbolizer(code_of=lambda address: where).name_address(pid, 0x1010)


@pytest.mark.skipif(os.geteuid() != 0, reason="host: not root")
def test_what_is_only_said_to_be_mapped_is_opened_where_everybody_may(tmp_path, monkeypatch):
    """Root opens nothing because a process, or a recording, has named it, that its user could not."""
    path = library(tmp_path / "lib.so", "first")
    path.chmod(0o640)
    opened = []
    monkeypatch.setattr(
        os,
        "open",
        lambda path, flags, *more, real=os.open: opened.append(flags) or real(path, flags, *more),
    )
    start = ElfFile(path).read_functions()[0]
    named = f"lib.so`{start[2]}"
    with holding("first", sys.executable, "-c", LOADING, path) as (pid, _):
        del opened[:]
        assert (
            told(path, start[0], os.getpid()) == told(path, start[0]) == f"lib.so`{start[0]:#x}"
        )  # they have other files
        assert opened == []
        assert told(path, start[0], pid) == named  # the kernel says so
    path = library(tmp_path / "other" / "lib.so", "first")
    assert told(path, start[0]) == named
    with pytest.raises(PermissionError):  # between the look and the opening it can become another
        ElfFile(path, mode=0o002)


def test_a_file_of_no_folder_is_nowhere(tmp_path, monkeypatch):
    """A process's names begin with its root; others would lead to where the tracer is."""
    path = library(tmp_path / "lib.so", "first")
    monkeypatch.chdir(tmp_path)
    status = os.stat(path)
    assert (
        maps.find_mapped_file(ME, maps.Mapping("", "", "0", "00:00", str(status.st_ino), "lib.so"))
        is None
    )


def test_tables_of_symbols_have_room_together(tmp_path, monkeypatch):
    """What was not asked for longest goes, and is read again."""
    monkeypatch.setattr(file_symbols, "_CACHE_LIMIT", 1 << 20)
    files, time = file_symbols.SymbolCache(), cpu_time_budget.CpuTimeBudget(100.0, 1)
    paths = [elf_file(tmp_path / f"x{i}.so", b"\0.symtab\0f\0", 10_000) for i in range(10)]
    for path in [*paths, *paths]:
        assert files.find_or_read(path, os.stat(path), time).table.find(4096) == (4096, "f")
        assert files._used_bytes <= 1 << 20
    assert sum(files.find_cached(os.stat(path)) is not None for path in paths) == (1 << 20) // (
        160_000 + 4096 + 12
    )
    large = elf_file(tmp_path / "large.so", b"\0.symtab\0f\0", 40_000)
    assert len(files.find_or_read(large, os.stat(large), time).table) == 0


def test_what_a_user_makes_slow_is_read_now_and_then(monkeypatch):
    """Maps with an address in no file are read again each time, those of another user for three seconds, then for a twentieth of the time."""
    clock, readings = [0.0], []

    def lines(pid):
        readings.append(clock[0])
        clock[0] += 0.5
        return ["1000-2000 r-xp 00000000 00:00 7 /nowhere\n"]

    monkeypatch.setattr(maps, "read_maps", lines)
    monkeypatch.setattr(
        cpu_time_budget,
        "time",
        types.SimpleNamespace(monotonic=lambda: clock[0], thread_time=lambda: clock[0]),
    )
    monkeypatch.setattr("pydtrace.driver.address_symbolizer.read_process_user", lambda pid: 4711)
    symbols = AddressSymbolizer()
    for _ in range(1000):
        assert symbols.name_address(7, 0x5000) == "0x5000"
        clock[0] += 0.1
    assert 7 <= len(readings) <= 20, readings
    assert symbols.warnings() == [
        "names of functions of user 4711's processes were not all read: their files and maps take too long"
    ]
    assert symbols.warnings() == []


def test_maps_of_many_processes_have_room_together(monkeypatch):
    monkeypatch.setattr("pydtrace.driver.address_symbolizer._MAPS_LIMIT", 1 << 20)
    text = "".join(
        f"{4096 * i:x}-{4096 * i + 4096:x} r-xp 00000000 00:00 7 /nowhere\n" for i in range(1, 4000)
    )
    monkeypatch.setattr(maps, "read_maps", lambda pid: text.splitlines(keepends=True))
    symbols = AddressSymbolizer()
    for pid in range(100):
        assert symbols.name_address(pid + 1, 0x1010) == "nowhere`0x1010"
    assert 1 <= len(symbols._processes) <= (1 << 20) // len(text)
    assert symbols._maps_size == len(symbols._processes) * (1024 + len(text))


def test_a_perf_map_is_read_within_bounds(perf_map, monkeypatch):
    path, names = perf_map
    with open(path, "w") as file:
        file.write(f"1000 20 {'a' * 5000}\n2000 20 b\n")
    assert names() == ["a" * 1024, "b"]
    monkeypatch.setattr(perf_map_module, "_ROWS", 1)
    assert names() == ["a" * 1024, "0x2010"]


def test_a_perf_map_that_grows_with_every_look_costs_little(perf_map, monkeypatch):
    path, _ = perf_map
    clock, readings = [0.0], []

    def read(*_):
        readings.append(clock[0])
        clock[0] += 0.5  # it takes so long
        return [(0x1000, 0x1020, f"f{len(readings)}")]

    monkeypatch.setattr(perf_map_module, "_read", read)
    monkeypatch.setattr(
        cpu_time_budget,
        "time",
        types.SimpleNamespace(monotonic=lambda: clock[0], thread_time=lambda: clock[0]),
    )
    resolve = perf_map_module.PerfMaps()
    for _ in range(1000):
        with open(path, "ab") as file:
            file.write(b"\n")
        resolve(int(path.removeprefix("/tmp/perf-").removesuffix(".map")), 0x1010)
        clock[0] += 0.1
    assert readings[0] == 0 and 5 <= len(readings) <= 16, readings


def test_perf_maps_have_room_together(monkeypatch):
    """Those of many processes, which one file can be by many names; what was not asked for longest is read again."""
    monkeypatch.setattr(
        perf_map_module,
        "_read",
        lambda path, user: [(number, number + 1, path) for number in range(1000)],
    )
    monkeypatch.setattr(perf_map_module, "_ROOM", 1 << 20)
    monkeypatch.setattr(
        cpu_time_budget,
        "time",
        types.SimpleNamespace(monotonic=lambda: 0.0, thread_time=lambda: 0.0),
    )
    monkeypatch.setattr(
        perf_map_module.os, "lstat", lambda path: types.SimpleNamespace(st_size=1000)
    )
    resolve = perf_map_module.PerfMaps()
    for pid in [*range(10_000, 10_100)] * 2:
        assert resolve(pid, 500) == f"/proc/{pid}/root/tmp/perf-{pid}.map"
        assert (
            0 <= resolve._room == (1 << 20) - sum(known.room for known in resolve._known.values())
        )
    assert len(resolve._known) == (1 << 20) // 201_512, len(resolve._known)


def test_names_that_stand_for_others_do_not_grow_for_ever(monkeypatch):
    """Processes come and go; each has names of its own."""
    monkeypatch.setattr("pydtrace.driver.address_symbolizer._MAX_REPRESENTATIVES", 100)
    symbols = AddressSymbolizer()
    for pid in range(1000):
        symbols.forget_representatives()
        for address in (0x1010, 0x1020, 0x1010):
            assert symbols.find_representative(t.SYMBOL_AND_OFFSET, 2**22 + pid, address) == address
    assert len(symbols._representatives) <= 102


def test_a_name_is_no_line_of_its_own(tmp_path):
    """Of /proc/PID/maps: the kernel writes a carriage return, or whatever else may end a line, as it is."""
    for end in ("\r", "\v", "\x85", "\u2028"):
        folder = tmp_path / f"x{end}00001000-00002000 r-xp 00000000 00:00 7 "
        folder.mkdir()
        path = library(folder / "lib.so", "first")
        with holding("first", sys.executable, "-c", LOADING, path) as (pid, address):
            shown = (
                AddressSymbolizer().name_address(pid, address),
                AddressSymbolizer().name_address(pid, 0x1010),
            )
        assert shown == ("lib.so`first", "0x1010")
