"""The file in which a process keeps its last exceptions (c/shared/exceptions_file.h), of a dead process, too.

- The file is untrusted: each size and number is checked on a copy, and an item that makes no sense ends its exception.
- A slot that changes while it is read is read again.
"""

from __future__ import annotations

import os
import stat
import struct
from dataclasses import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC, _VERSION, _ORDER = 0x3163786573757970, 1, 0x01020304
_HEAD, _SLOTS, _SLOT_SIZE = 4096, 64, 16384
_FILE_SIZE = _HEAD + _SLOTS * _SLOT_SIZE
_HEADER = struct.Struct("=QIIIIQQQQQQ16s")
_SLOT = struct.Struct("=IIQQQQIIII")
_ITEM = struct.Struct("=BBH")
_LINE = struct.Struct("=i")
_TRIES = 8
_YEAR_9999 = 253_402_300_799 * 10**9  # ns; later ones are no time of Python's
_LEFT_FRAMES = 1 << 20

(_TYPE, _TEXT, _THREAD, _TASK, _TAG, _FUNCTION, _FILE, _NAME, _VALUE, _CAUSE) = range(1, 11)
FROM, HANDLING = (
    1,
    2,
)  # how an exception comes from another one: `raise ... from`, or while that one was handled


class NoExceptions(Exception):
    """Why there is nothing to show, for a person."""


@dataclass
class KeptFrame:
    function: str
    line: int
    file: str = ""
    variables: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class KeptException:
    """Times are nanoseconds since 1970.  frames: the outermost first; causes: (FROM or HANDLING, text), the nearest first."""

    type: str = ""
    text: str = ""
    thread: str = ""
    task: str = ""
    tag: str = ""
    tid: int = 0
    first: int = 0
    last: int = 0
    written: int = 0
    count: int = 0
    frames: list[KeptFrame] = field(default_factory=list)
    causes: list[tuple[int, str]] = field(default_factory=list)
    more_frames: int = 0
    is_cut: bool = False


@dataclass
class KeptExceptions:
    """What a process has kept.  exceptions: in the order of their last times; python: (3, 12); unfinished: how many are not here, as they
    were just written."""

    pid: int
    name: str
    is_alive: bool
    python: tuple[int, int]
    begun: int
    raised: int
    left_out: int
    replaced: int
    unfinished: int
    exceptions: list[KeptException]


def read_of_process(pid: int) -> KeptExceptions:
    """The youngest process of that id.  Raises NoExceptions."""
    found = list_all(pid)
    if not found:
        raise NoExceptions(
            f"no exceptions of process {pid}: it keeps them with PYUSDT_FLIGHT=exceptions in its environment at its start"
        )
    return found[-1]


def list_all(pid: int = 0) -> list[KeptExceptions]:
    """Of all processes that have kept any, the youngest last; pid: of this one only."""
    from pydtrace._tracer import read_exceptions_files

    found: list[tuple[int, KeptExceptions]] = []

    def read(pid: int, started: int, is_alive: bool, _: str, descriptor: int) -> bool:
        try:
            found.append((started, parse_file(_Reader(descriptor), pid, is_alive)))
        except (NoExceptions, OSError):
            pass  # of a process that has just begun, or that is none
        return len(found) >= _MOST_FILES

    read_exceptions_files(pid, read)
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]


_MOST_FILES = 256  # that one command reads


def read_file(path: str) -> KeptExceptions:
    """Raises NoExceptions, OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NoExceptions(f"{path} is not a file of exceptions")
        try:
            return parse_file(_Reader(descriptor))
        except NoExceptions as error:
            raise NoExceptions(f"{path}: {error}") from None
    finally:
        os.close(descriptor)


class _Reader:
    """Parts of the file, as they are now."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self, at: int, size: int) -> bytes:
        data = os.pread(self._descriptor, size, at)
        if len(data) < size:
            raise NoExceptions("the file is cut off: it is not a whole file of exceptions")
        return data


def parse_file(reader: _Reader, pid: int = 0, is_alive: bool = False) -> KeptExceptions:
    """pid: 0: the one that the file has.  Raises NoExceptions."""
    fields = _HEADER.unpack(reader.read(0, _HEADER.size))
    magic, version, order, own_pid, python, _, _, begun, raised, left_out, replaced, comm = fields
    if magic != _MAGIC or order != _ORDER or version != _VERSION:
        raise NoExceptions(
            "it is not a file of exceptions, or of another version of pyusdt, or of another machine"
        )
    slots = [_read_slot(reader, number) for number in range(_SLOTS)]
    kept = [each for each in slots if isinstance(each, KeptException)]
    return KeptExceptions(
        pid or own_pid,
        comm.split(b"\0")[0].decode("utf-8", "replace"),
        is_alive,
        (python >> 24, python >> 16 & 255),
        _time(begun),
        raised,
        left_out,
        replaced,
        sum(each is _UNFINISHED for each in slots),
        sorted(kept, key=lambda each: each.last),
    )


_UNFINISHED = object()


def _time(nanoseconds: int) -> int:
    return min(nanoseconds, _YEAR_9999)


def _read_slot(reader: _Reader, number: int) -> object:
    """A KeptException; None: it was never used."""
    at = _HEAD + number * _SLOT_SIZE
    for _ in range(_TRIES):
        data = reader.read(at, _SLOT_SIZE)
        changes = data[:4]
        if changes == bytes(4):
            return None
        if changes[_ODD_BYTE] % 2 == 0 and reader.read(at, 4) == changes:
            return _parse_slot(data)
    return _UNFINISHED


_ODD_BYTE = 0 if struct.pack("=H", 1)[0] else 3


def _parse_slot(data: bytes) -> KeptException:
    _, size, first, last, count, written, tid, more, is_cut, _ = _SLOT.unpack_from(data)
    made = KeptException(
        tid=tid,
        first=_time(first),
        last=_time(last),
        written=_time(written),
        count=count,
        more_frames=min(more, _LEFT_FRAMES),
        is_cut=is_cut != 0,
    )
    for kind, frame, text in _items(data[_SLOT.size : _SLOT.size + size]):
        _add_item(made, kind, frame, text)
    made.frames.reverse()
    return made


def _items(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at + _ITEM.size <= len(data):
        kind, frame, size = _ITEM.unpack_from(data, at)
        at += _ITEM.size
        if size > len(data) - at:
            return
        yield kind, frame, data[at : at + size]
        at += size


_FIELDS = {_TYPE: "type", _TEXT: "text", _THREAD: "thread", _TASK: "task", _TAG: "tag"}


def _add_item(made: KeptException, kind: int, frame: int, data: bytes) -> None:
    if kind == _FUNCTION:
        if frame == len(made.frames) and len(data) >= _LINE.size:
            name = _decode(data[_LINE.size :])
            made.frames.append(KeptFrame(name, _LINE.unpack_from(data)[0]))
        return
    text = _decode(data)
    if kind in _FIELDS:
        setattr(made, _FIELDS[kind], text)
    elif kind == _CAUSE:
        made.causes.append((FROM if frame == FROM else HANDLING, text))
    elif frame < len(made.frames):
        _add_to_frame(made.frames[frame], kind, text)


def _add_to_frame(frame: KeptFrame, kind: int, text: str) -> None:
    if kind == _FILE:
        frame.file = text
    elif kind == _NAME:
        frame.variables.append((text, ""))
    elif kind == _VALUE and frame.variables:
        frame.variables[-1] = (frame.variables[-1][0], text)


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")
