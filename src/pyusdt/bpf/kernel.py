"""bpf(2): maps and programs of the kernel, by way of ctypes.

In: map rows and Insn lists.  Out: file descriptors, which the caller closes (Loaded does).
Always: a failing call raises OSError with the kernel's errno.
"""

import ctypes
import os
import platform
import struct

from . import insn as i
from .maps import KINDS

_NUMBERS = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "loongarch64": 280, "s390x": 351, "ppc64le": 361,
            "armv7l": 386, "i686": 357}
MAP_CREATE, MAP_LOOKUP, MAP_UPDATE, PROG_LOAD, PROG_TEST_RUN = 0, 1, 2, 5, 10
KPROBE, RAW_TRACEPOINT = 2, 17  # program types
_LOG_BYTES = 4 << 20

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def bpf(command, attributes):
    """The system call; attributes: a ctypes buffer, written by some commands."""
    number = _NUMBERS.get(platform.machine())
    if number is None:
        raise OSError(38, "bpf(2) is not known on this machine")
    result = _libc.syscall(ctypes.c_long(number), ctypes.c_int(command), attributes, ctypes.c_uint(len(attributes)))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def _buffer(data):
    """A ctypes buffer of `data`, padded to what a union bpf_attr may ask for."""
    return ctypes.create_string_buffer(data, max(len(data), 144))


def _address(buffer):
    return ctypes.addressof(buffer) if buffer is not None else 0


def map_create(definition):
    """definition has kind, key_size, value_size, entries (program.MapDef).  Returns an fd."""
    return bpf(MAP_CREATE, _buffer(struct.pack(
        "=5I", KINDS[definition.kind].number, definition.key_size, definition.value_size, definition.entries, 0)))


def map_update(fd, key, value):
    key, value = ctypes.create_string_buffer(key, len(key)), ctypes.create_string_buffer(value, len(value))
    bpf(MAP_UPDATE, _buffer(struct.pack("=IIQQQ", fd, 0, _address(key), _address(value), 0)))


def map_lookup(fd, key, value_size):
    """The value's bytes; raises FileNotFoundError if there is none."""
    key, value = ctypes.create_string_buffer(key, len(key)), ctypes.create_string_buffer(value_size)
    bpf(MAP_LOOKUP, _buffer(struct.pack("=IIQQQ", fd, 0, _address(key), _address(value), 0)))
    return value.raw


def prog_load(insns, map_fds=(), prog_type=KPROBE, log=None):
    """insns: maps by index, replaced here by map_fds.  log: a ctypes buffer for the verifier's."""
    insns = [_with_fd(insn, map_fds) for insn in insns]
    code = i.encode(insns)
    code = ctypes.create_string_buffer(code, len(code))
    license = ctypes.create_string_buffer(b"GPL")
    attributes = _buffer(struct.pack(
        "=IIQQIIQII16s", prog_type, len(insns), _address(code), _address(license),
        1 if log else 0, len(log) if log else 0, _address(log), 0, 0, b"pyusdt"))
    return bpf(PROG_LOAD, attributes)


_LDDW = i.ld_map(0, 0)[0].opcode


def _with_fd(insn, map_fds):
    if insn.opcode == _LDDW and insn.src in (i.PSEUDO_MAP_FD, i.PSEUDO_MAP_VALUE) and 0 <= insn.imm < len(map_fds):
        return i.Insn(insn.opcode, insn.dst, insn.src, insn.off, map_fds[insn.imm])
    return insn


def prog_test_run(fd, context=b""):
    """Run a RAW_TRACEPOINT program once; returns the low 32 bits of its r0."""
    data = ctypes.create_string_buffer(context, len(context)) if context else None
    attributes = _buffer(struct.pack("=4IQQ4IQQ", fd, 0, 0, 0, 0, 0, 0, 0, len(context), 0, _address(data), 0))
    bpf(PROG_TEST_RUN, attributes)
    return struct.unpack_from("=I", attributes.raw, 4)[0]


class Loaded:
    """Maps and one program in the kernel; a context manager that gives them back."""

    def __init__(self, insns, maps=(), prog_type=KPROBE):
        """Raises Refused with the verifier's log, or OSError where maps or programs can not be made at all."""
        self.map_fds, self.fd = [], -1
        try:
            for definition in maps:
                self.map_fds.append(map_create(definition))
            self.fd = self._load(insns, prog_type)
        except BaseException:
            self.close()
            raise

    def _load(self, insns, prog_type):
        try:
            return prog_load(insns, self.map_fds, prog_type)
        except OSError as first:
            log = ctypes.create_string_buffer(_LOG_BYTES)
            try:
                return prog_load(insns, self.map_fds, prog_type, log)
            except OSError:
                raise Refused(first, log.value.decode(errors="replace")) from None

    def close(self):
        for fd in [*self.map_fds, self.fd]:
            if fd >= 0:
                os.close(fd)
        self.map_fds, self.fd = [], -1

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


class Refused(Exception):
    """error: the OSError; log: what the verifier said, "" if nothing."""

    def __init__(self, error, log):
        super().__init__(f"{error.strerror}\n{log}")
        self.error, self.log = error, log
