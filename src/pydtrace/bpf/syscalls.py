"""bpf(2) and perf_event_open(2) by way of ctypes: the kernel's maps, programs and links.

- Each function returns a file descriptor, which the caller closes. A program or link lives as
  long as a descriptor is open, so nothing is left when a process dies.
- A failing call raises OSError with the kernel's errno.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from . import insn as i
from .map_kinds import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Self

    from .map_kinds import MapShape

    Buffer = ctypes.Array[ctypes.c_char]
    FunctionTypes = tuple[int, list[tuple[int, int]]]  # see prog_load


_MACHINE = os.uname().machine
_BPF = {
    "x86_64": 321,
    "aarch64": 280,
    "riscv64": 280,
    "loongarch64": 280,
    "s390x": 351,
    "ppc64le": 361,
    "armv7l": 386,
    "i686": 357,
}
_PERF_EVENT_OPEN = {
    "x86_64": 298,
    "aarch64": 241,
    "riscv64": 241,
    "loongarch64": 241,
    "s390x": 331,
    "ppc64le": 319,
    "armv7l": 364,
    "i686": 336,
}
(
    MAP_CREATE,
    MAP_LOOKUP,
    MAP_UPDATE,
    MAP_DELETE,
    MAP_NEXT_KEY,
    PROG_LOAD,
    PROG_TEST_RUN,
    MAP_LOOKUP_BATCH,
    LINK_CREATE,
) = 0, 1, 2, 3, 4, 5, 10, 24, 28
KPROBE, TRACEPOINT, PERF_EVENT, RAW_TRACEPOINT = 2, 5, 7, 17  # program types
ATTACH_PERF_EVENT, ATTACH_UPROBE_MULTI = 41, 48  # attach types
_ARRAY_OF_MAPS = 12  # a map type
_ENGINE_MAP_KINDS = {"lru_hash": 9}  # of the engine's own maps, which no clause uses
NO_PREALLOC = 1  # a hash map's elements are allocated as they come
MMAPABLE = 1 << 10  # an array that user space maps; Linux 5.5
INNER_MAP = 1 << 12  # an array behind another map may have any number of elements
PER_CPU_VALUE_MAX = 32768  # bytes of a value that a map keeps for each CPU
_UPROBE_MULTI_RETURN = 1
_UPROBE = 336  # a system call of x86-64
_PERF_FLAG_CLOEXEC = 8
_PERF_SOFTWARE, _PERF_TRACEPOINT, _PERF_CPU_CLOCK, _PERF_DUMMY = (
    1,
    2,
    0,
    9,
)  # two types, two configs
_PERF_MMAP, _PERF_WATERMARK = 1 << 8, 1 << 14  # flags
MAP_FD_BY_ID, OBJECT_INFO, RAW_TRACEPOINT_OPEN, BTF_LOAD, LINK_FD_BY_ID, ENABLE_STATS = (
    14,
    15,
    17,
    18,
    30,
    32,
)
_READ_ONLY = 8  # a flag of a map's descriptor
_FUNC_INFO_SIZE = 8
_CLOSERS = 32  # threads
_LOG_BYTES = 16 << 20
_NAME_BYTES = 15  # bytes of a map's name
_PATH_BYTES = 4096
_BATCH = 1024  # elements read by one call

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _syscall(
    numbers: dict[str, int],
    what: str,
    *arguments: Buffer | ctypes.c_int | ctypes.c_uint | ctypes.c_ulong,
) -> int:
    number = numbers.get(_MACHINE)
    if number is None:
        raise OSError(errno.ENOSYS, f"{what} is not known on this machine")
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def bpf(command: int, attributes: Buffer) -> int:
    """The system call; attributes: a ctypes buffer, written by some commands."""
    return _syscall(
        _BPF, "bpf(2)", ctypes.c_int(command), attributes, ctypes.c_uint(len(attributes))
    )


def _attribute_buffer(data: bytes) -> Buffer:
    """A ctypes buffer of `data`, padded to what a union bpf_attr may ask for."""
    return ctypes.create_string_buffer(data, max(len(data), 144))


def _bytes_buffer(data: bytes) -> Buffer:
    return ctypes.create_string_buffer(data, len(data))


def _u64_array(values: Sequence[int]) -> ctypes.Array[ctypes.c_uint64]:
    return (ctypes.c_uint64 * len(values))(*values)


def _address_of(buffer: ctypes.Array[Any] | None) -> int:
    return ctypes.addressof(buffer) if buffer is not None else 0


def close_all(fds: Iterable[int]) -> None:
    """Close descriptors.  The last one of a link waits until no CPU runs its program any more, some 10 ms; several
    are closed at once, so that they wait together."""
    fds = list(fds)
    if len(fds) <= 2:
        for fd in fds:
            os.close(fd)
        return
    import threading  # not needed by most runs

    def close_share(mine: list[int]) -> None:
        for fd in mine:
            os.close(fd)

    threads = [
        threading.Thread(target=close_share, args=(fds[i::_CLOSERS],))
        for i in range(min(_CLOSERS, len(fds)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# --- maps ---------------------------------------------------------------------------


def map_create(definition: MapShape, flags: int = 0, kind: str | None = None) -> int:
    """definition has name, kind, key_size, value_size, entries; kind: in place of its own.  Returns an fd."""
    kind = kind or definition.kind
    number = _ENGINE_MAP_KINDS.get(kind) or KINDS[kind].number
    name = "pyusdt_" + "".join(
        letter if letter.isascii() and letter.isalnum() else "_" for letter in definition.name
    )
    return bpf(
        MAP_CREATE,
        _attribute_buffer(
            struct.pack(
                "=7I16s",
                number,
                definition.key_size,
                definition.value_size,
                definition.entries,
                flags,
                0,
                0,
                name.encode()[:_NAME_BYTES],
            )
        ),
    )


def map_fd_by_id(ident: int) -> int:
    """A descriptor, to read, of the map with this id, whoever made it."""
    return bpf(MAP_FD_BY_ID, _attribute_buffer(struct.pack("=3I", ident, 0, _READ_ONLY)))


def map_info(fd: int) -> tuple[str, int, int]:
    """(name, key_size, value_size) of a map."""
    info = ctypes.create_string_buffer(128)
    bpf(OBJECT_INFO, _attribute_buffer(struct.pack("=IIQ", fd, len(info), _address_of(info))))
    _type, _ident, key_size, value_size, _entries, _flags, name = struct.unpack_from(
        "=6I16s", info.raw
    )
    return name.partition(b"\0")[0].decode("ascii", "replace"), key_size, value_size


def enable_stats() -> int:
    """Has the kernel count how often each program runs and how long, as long as the descriptor that this returns is open."""
    return bpf(ENABLE_STATS, _attribute_buffer(struct.pack("=I", 0)))


def create_map_of_maps(fds: list[int], room: int = 0) -> int:
    """A map that has these maps, which are of one shape, as its values, by their number.  room: for how many there is, 0: for these.
    Returns an fd."""
    outer = bpf(
        MAP_CREATE,
        _attribute_buffer(struct.pack("=6I", _ARRAY_OF_MAPS, 4, 4, room or len(fds), 0, fds[0])),
    )
    try:
        for number, fd in enumerate(fds):
            map_update(outer, struct.pack("=I", number), struct.pack("=I", fd))
    except BaseException:
        os.close(outer)
        raise
    return outer


def _element_command(
    command: int, fd: int, key: Buffer | None, value: Buffer | None, flags: int = 0
) -> None:
    bpf(
        command,
        _attribute_buffer(
            struct.pack("=IIQQQ", fd, 0, _address_of(key), _address_of(value), flags)
        ),
    )


def map_update(fd: int, key: bytes, value: bytes) -> None:
    """value: of a per-CPU map one for each possible CPU, each rounded up to 8 bytes."""
    _element_command(MAP_UPDATE, fd, _bytes_buffer(key), _bytes_buffer(value))


def map_lookup(fd: int, key: bytes, value_size: int) -> bytes:
    """The value's bytes, of a per-CPU map those of all CPUs; raises FileNotFoundError if there is none."""
    value = ctypes.create_string_buffer(value_size)
    _element_command(MAP_LOOKUP, fd, _bytes_buffer(key), value)
    return value.raw


def map_delete(fd: int, key: bytes) -> None:
    """Raises FileNotFoundError if there is none."""
    _element_command(MAP_DELETE, fd, _bytes_buffer(key), None)


def map_items(fd: int, key_size: int, value_size: int) -> list[tuple[bytes, bytes]]:
    """[(key, value)] of a hash map; value_size as for map_lookup."""
    found: list[tuple[bytes, bytes]] = []
    token: Buffer | None = None
    count = _BATCH
    keys, values = (
        ctypes.create_string_buffer(count * key_size),
        ctypes.create_string_buffer(count * value_size),
    )
    following = ctypes.create_string_buffer(max(8, key_size))
    while True:
        attributes = _attribute_buffer(
            struct.pack(
                "=4QIIQQ",
                _address_of(token),
                _address_of(following),
                _address_of(keys),
                _address_of(values),
                count,
                fd,
                0,
                0,
            )
        )
        over = False
        try:
            bpf(MAP_LOOKUP_BATCH, attributes)
        except FileNotFoundError:
            over = True
        except OSError as error:
            if error.errno != errno.ENOSPC:  # one bucket has more than there is room for
                raise
            return map_items_singly(fd, key_size, value_size)
        n = struct.unpack_from("=I", attributes.raw, 32)[0]
        raw_keys, raw_values = keys.raw, values.raw
        found += [
            (
                raw_keys[k * key_size : (k + 1) * key_size],
                raw_values[k * value_size : (k + 1) * value_size],
            )
            for k in range(n)
        ]
        if over:
            return found
        token = _bytes_buffer(following.raw)


def map_items_singly(fd: int, key_size: int, value_size: int) -> list[tuple[bytes, bytes]]:
    """As map_items, key by key."""
    found: list[tuple[bytes, bytes]] = []
    key: Buffer | None = None
    following = ctypes.create_string_buffer(key_size)
    while True:
        try:
            _element_command(MAP_NEXT_KEY, fd, key, following)
        except FileNotFoundError:
            return found
        key = _bytes_buffer(following.raw)
        try:
            found.append((key.raw, map_lookup(fd, key.raw, value_size)))
        except FileNotFoundError:
            continue  # deleted meanwhile


# --- programs -----------------------------------------------------------------------


def btf_load(data: bytes) -> int:
    """A descriptor of type information."""
    held = _bytes_buffer(data)
    return bpf(
        BTF_LOAD, _attribute_buffer(struct.pack("=QQ3I", _address_of(held), 0, len(held), 0, 0))
    )


def prog_load(
    insns: list[i.Insn],
    map_fds: Sequence[int] = (),
    prog_type: int = KPROBE,
    log: Buffer | None = None,
    attach_type: int = 0,
    types: FunctionTypes | None = None,
) -> int:
    """insns: maps by index, replaced here by map_fds.  log: a ctypes buffer for the verifier's.  types: None, or
    (descriptor of type information, [(first instruction of a function, type id)])."""
    insns = [_with_fd(insn, map_fds) for insn in insns]
    code = _bytes_buffer(i.encode(insns))
    license = ctypes.create_string_buffer(b"GPL")
    functions = (
        _bytes_buffer(b"".join(struct.pack("=II", *row) for row in types[1])) if types else None
    )
    attributes = _attribute_buffer(
        struct.pack(
            "=IIQQIIQII16sIIIIQI",
            prog_type,
            len(insns),
            _address_of(code),
            _address_of(license),
            1 if log else 0,
            len(log) if log else 0,
            _address_of(log),
            0,
            0,
            b"pyusdt",
            0,
            attach_type,
            types[0] if types else 0,
            _FUNC_INFO_SIZE if types else 0,
            _address_of(functions),
            len(types[1]) if types else 0,
        )
    )
    return bpf(PROG_LOAD, attributes)


_LDDW = i.ld_map(0, 0)[0].opcode


def _with_fd(insn: i.Insn, map_fds: Sequence[int]) -> i.Insn:
    if (
        insn.opcode == _LDDW
        and insn.src in (i.PSEUDO_MAP_FD, i.PSEUDO_MAP_VALUE)
        and 0 <= insn.imm < len(map_fds)
    ):
        return i.Insn(insn.opcode, insn.dst, insn.src, insn.off, map_fds[insn.imm])
    return insn


def load_program(
    insns: list[i.Insn],
    map_fds: Sequence[int] = (),
    prog_type: int = KPROBE,
    attach_type: int = 0,
    types: FunctionTypes | None = None,
) -> int:
    """As prog_load; raises ProgramRejected with the verifier's log."""
    try:
        return prog_load(insns, map_fds, prog_type, None, attach_type, types)
    except OSError as first:
        log = ctypes.create_string_buffer(_LOG_BYTES)
        try:
            return prog_load(insns, map_fds, prog_type, log, attach_type, types)
        except OSError:
            raise ProgramRejected(first, log.value.decode(errors="replace")) from None


def prog_test_run(fd: int, context: bytes = b"") -> int:
    """Run a RAW_TRACEPOINT program once; returns the low 32 bits of its r0."""
    data = ctypes.create_string_buffer(context, len(context)) if context else None
    attributes = _attribute_buffer(
        struct.pack("=4IQQ4IQQ", fd, 0, 0, 0, 0, 0, 0, 0, len(context), 0, _address_of(data), 0)
    )
    bpf(PROG_TEST_RUN, attributes)
    [result] = struct.unpack_from("=I", attributes.raw, 4)
    return int(result)


def has_uprobe_syscall() -> bool:
    """Whether the kernel replaces uprobes on nop5 by calls.  It then has a system call for where they lead to, which
    says ENXIO to all others."""
    if _MACHINE != "x86_64":
        return False
    result: int = _libc.syscall(ctypes.c_long(_UPROBE))
    return result < 0 and ctypes.get_errno() == errno.ENXIO


# --- links --------------------------------------------------------------------------


def link_uprobe_multi(
    prog_fd: int,
    path: str,
    offsets: Sequence[int],
    semaphores: Sequence[int],
    cookies: Sequence[int],
    pid: int = 0,
    returns: bool = False,
) -> int:
    """Attach a program (loaded with ATTACH_UPROBE_MULTI) to many places of one file.  offsets: in the file;
    semaphores: file offsets of the sites' semaphores, 0 for none; pid: 0 for every process."""
    name = ctypes.create_string_buffer(os.fsencode(path))
    arrays = [_u64_array(values) for values in (offsets, semaphores, cookies)]
    return bpf(
        LINK_CREATE,
        _attribute_buffer(
            struct.pack(
                "=4I4Q3I",
                prog_fd,
                0,
                ATTACH_UPROBE_MULTI,
                0,
                _address_of(name),
                *map(_address_of, arrays),
                len(offsets),
                _UPROBE_MULTI_RETURN if returns else 0,
                pid,
            )
        ),
    )


def link_perf(prog_fd: int, perf_fd: int, cookie: int) -> int:
    """Run a program at each of a perf event's firings."""
    return bpf(
        LINK_CREATE,
        _attribute_buffer(struct.pack("=4IQ", prog_fd, perf_fd, ATTACH_PERF_EVENT, 0, cookie)),
    )


def read_uprobe_multi(ident: int) -> tuple[str, int, list[int]]:
    """(path, pid, [file offsets of semaphores]) of the uprobe_multi link with this id, whoever made it; pid: 0 for every process."""
    fd = bpf(LINK_FD_BY_ID, _attribute_buffer(struct.pack("=I", ident)))
    try:
        path = ctypes.create_string_buffer(_PATH_BYTES)
        found = _read_multi_info(fd, path, None, 0)
        count, pid = found[5], found[7]
        counters = (ctypes.c_uint64 * count)()
        _read_multi_info(fd, path, counters, count)
        return os.fsdecode(path.value), pid, list(counters)
    finally:
        os.close(fd)


def _read_multi_info(
    fd: int, path: Buffer, counters: ctypes.Array[ctypes.c_uint64] | None, count: int
) -> tuple[int, ...]:
    layout = struct.Struct("=16x4Q4I")
    info = ctypes.create_string_buffer(
        layout.pack(_address_of(path), 0, _address_of(counters), 0, len(path), count, 0, 0), 128
    )
    bpf(OBJECT_INFO, _attribute_buffer(struct.pack("=IIQ", fd, len(info), _address_of(info))))
    return layout.unpack_from(info.raw)


def open_raw_tracepoint(prog_fd: int, name: str) -> int:
    """Run a program (of type RAW_TRACEPOINT) at one of the kernel's tracepoints."""
    text = ctypes.create_string_buffer(name.encode())
    return bpf(
        RAW_TRACEPOINT_OPEN, _attribute_buffer(struct.pack("=QI", _address_of(text), prog_fd))
    )


def _open_perf_event(
    kind: int,
    config: int,
    config1: int = 0,
    config2: int = 0,
    period: int = 0,
    flags: int = 0,
    pid: int = -1,
    cpu: int = 0,
    wakeup: int = 0,
) -> int:
    attributes = ctypes.create_string_buffer(
        struct.pack(
            "=IIQQQQQIIQQ", kind, 112, config, period, 0, 0, flags, wakeup, 0, config1, config2
        ),
        112,
    )
    return _syscall(
        _PERF_EVENT_OPEN,
        "perf_event_open(2)",
        attributes,
        ctypes.c_int(pid),
        ctypes.c_int(cpu),
        ctypes.c_int(-1),
        ctypes.c_ulong(_PERF_FLAG_CLOEXEC),
    )


def open_perf_tracepoint(number: int) -> int:
    """A perf event of a tracepoint (the number is in its `id` file), on every CPU."""
    return _open_perf_event(_PERF_TRACEPOINT, number, period=1)


def open_perf_clock(nanoseconds: int, cpu: int) -> int:
    """A perf event that fires at a period on one CPU."""
    return _open_perf_event(_PERF_SOFTWARE, _PERF_CPU_CLOCK, period=nanoseconds, cpu=cpu)


def open_perf_mappings(cpu: int) -> int:
    """A perf event whose ring has a record of each executable mapping that is made on one CPU; each wakes up who polls it."""
    return _open_perf_event(
        _PERF_SOFTWARE, _PERF_DUMMY, flags=_PERF_MMAP | _PERF_WATERMARK, cpu=cpu, wakeup=1
    )


def open_perf_uprobe(path: str, offset: int, semaphore: int, returns: bool = False) -> int:
    """A perf event of one place of a file, in every process."""
    with open("/sys/bus/event_source/devices/uprobe/type") as file:
        kind = int(file.read())
    name = ctypes.create_string_buffer(os.fsencode(path))
    return _open_perf_event(kind, semaphore << 32 | returns, _address_of(name), offset)


class LoadedProgram:
    """Maps and one program in the kernel; a context manager that gives them back."""

    def __init__(
        self, insns: list[i.Insn], maps: Iterable[MapShape] = (), prog_type: int = KPROBE
    ) -> None:
        """Raises ProgramRejected with the verifier's log, or OSError where maps or programs can not be made at all."""
        self.map_fds: list[int] = []
        self.fd = -1
        try:
            for definition in maps:
                self.map_fds.append(map_create(definition))
            self.fd = load_program(insns, self.map_fds, prog_type)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for fd in [*self.map_fds, self.fd]:
            if fd >= 0:
                os.close(fd)
        self.map_fds, self.fd = [], -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class ProgramRejected(Exception):
    """error: the OSError; log: what the verifier said, "" if nothing."""

    def __init__(self, error: OSError, log: str) -> None:
        super().__init__(error, log)  # what pickle makes another one of
        self.error, self.log = error, log

    def __str__(self) -> str:
        return f"{self.error.strerror}\n{self.log}"
