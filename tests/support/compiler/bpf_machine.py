"""A machine for compiled programs: the core's interpreter, with events made up by the test.

Input: a program.Program.
Output: the records that its clauses emit, decoded or as text, and its maps. The interpreter and
the formatter are compiled once a run from c/; nothing of them needs to be built.
"""

import ctypes
import os
import struct
import subprocess
import sys
import tempfile
from glob import glob

from pydtrace.aggregation.split_values import SplitValueMaps
from pydtrace.bpf.insn import encode
from pydtrace.bpf.map_kinds import KINDS
from pydtrace.driver.speculation_buffer import DEFAULT_SIZE, SpeculationBuffer
from pydtrace.dtrace_text import aggregation_text as consumer_aggregations
from pydtrace.dtrace_text import runtime_errors as consumer_faults
from pydtrace.program import formatter_table as consumer_table
from pydtrace.program import program as p
from tests.support.paths import ROOT

USER_BASE = 0x7F0000000000  # where the event's strings are said to be
EFAULT = 14

_library = None


def library():
    """The interpreter as a ctypes library."""
    global _library
    if _library is None:
        c = os.path.join(ROOT, "c")
        for generator in ("generate_bpf.py", "generate_program.py"):
            subprocess.run([sys.executable, os.path.join(c, "generators", generator)], check=True)
        out = tempfile.mkdtemp(prefix="pyusdt-vm-")
        path = os.path.join(out, "vm.so")
        sources = [
            *glob(os.path.join(c, "bpf", "**", "*.c"), recursive=True),
            *glob(os.path.join(c, "format", "*.c")),
            os.path.join(c, "shared", "os_linux.c"),
        ]
        subprocess.run(
            [
                os.environ.get("CC", "gcc"),
                "-std=gnu11",
                "-O1",
                "-shared",
                "-fPIC",
                "-I",
                c,
                "-I",
                os.path.join(ROOT, "include"),
                "-o",
                path,
                *sorted(sources),
            ],
            check=True,
        )
        _library = ctypes.CDLL(path)
        os.unlink(path)
        os.rmdir(out)
        for name in ("pyusdt_vm_new", "pyusdt_vm_map_value", "pyusdt_vm_map_lookup"):
            getattr(_library, name).restype = ctypes.c_void_p
    return _library


_Read = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int
)
_Output = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)


class _Env(ctypes.Structure):
    _fields_ = [
        ("read_user", _Read),
        ("output", _Output),
        ("time", ctypes.c_void_p),
        ("arg", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("context_size", ctypes.c_uint32),
        ("step_limit", ctypes.c_uint32),
        ("fault_pc", ctypes.c_uint32),
        ("fault_size", ctypes.c_uint32),
        ("fault_addr", ctypes.c_uint64),
    ]


class _NoSymbols:
    """For keys that are stacks or addresses: the machine has no process to name them."""

    @staticmethod
    def format_value(data, key):
        return b"?"


class _FormatPlace(ctypes.Structure):
    _fields_ = [
        ("offset", ctypes.c_size_t),
        ("action", ctypes.c_uint32),
        ("resume", ctypes.c_uint32),
    ]


class _Text(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("capacity", ctypes.c_size_t)]


class Fault(tuple):
    """(kind, value, line text at the place)"""


class Machine:
    """One program in one interpreter.  records: what was emitted, (clause, [values]) or (clause, Fault)."""

    def __init__(self, program, room=1 << 30):
        self.program, self.records, self.raw, self.room = program, [], [], room
        self.lib = library()
        maps = b"".join(
            struct.pack("=4I", KINDS[m.kind].number, m.key_size, m.value_size, m.entries)
            for m in program.maps
        )
        error = ctypes.create_string_buffer(4096)
        self.vm = ctypes.c_void_p(self.lib.pyusdt_vm_new(maps, len(program.maps), error))
        assert self.vm, error.raw
        self.ids = []
        for clause in program.clauses:
            code = encode(clause.code)
            ident = self.lib.pyusdt_vm_load(self.vm, code, len(clause.code), error)
            assert ident >= 0, error.raw
            self.ids.append(ident)
        self.state = self.lib.pyusdt_vm_map_value(self.vm, p.MAP_STATE, 0)
        self.strings = {}
        self.env = _Env(_Read(self._read), _Output(self._output))

    def __del__(self):
        self.lib.pyusdt_vm_free(self.vm)

    def _read(self, _, address, to, size, string):
        for start, data in self.strings.items():
            if start <= address <= start + len(data) - 1:
                data = data[address - start :]
                if string:
                    data = data[: data.index(0)][: size - 1] + b"\0" if size else b""
                elif len(data) < size:
                    return -EFAULT
                ctypes.memmove(to, data[:size], min(size, len(data)))
                return min(size, len(data))
        return -EFAULT

    def _output(self, _, record, size):
        if len(self.raw) >= self.room:
            return -28
        data = ctypes.string_at(record, size)
        self.raw.append(data)
        self.records.append(self._decode(data))
        return 0

    def fire(
        self,
        clauses=None,
        args=(),
        probe=1,
        tid=101,
        pid=100,
        time=1_000_000,
        names=("", "", "", "BEGIN"),
        ancestors=(),
        cpu=3,
    ):
        """One event for these clauses (default: all).  args: ints, or bytes for strings."""
        state = bytearray(p.STATE_EVENT_END)
        struct.pack_into(
            "=Q6IQ", state, 0, time, probe, cpu, pid, tid, 1000, 1001, 1_700_000_000_000_000_000
        )
        struct.pack_into(
            "16s64s64s128s64s", state, p.STATE_EXECNAME, b"python3", *[n.encode() for n in names]
        )
        struct.pack_into(f"={len(ancestors)}I", state, p.STATE_ANCESTORS, *ancestors)
        self.strings = {}
        for i, arg in enumerate(args):
            if isinstance(arg, bytes):
                address = USER_BASE + 0x1000 * i
                self.strings[address] = arg + b"\0"
                arg = address
            struct.pack_into("=Q", state, p.STATE_ARGS + 8 * i, arg & (1 << 64) - 1)
        ctypes.memmove(self.state, bytes(state), len(state))
        offset, size = self.program.this_area
        ctypes.memset(self.state + offset, 0, size)
        before = len(self.records)
        for index in range(len(self.ids)) if clauses is None else clauses:
            self.run(index)
        return self.records[before:]

    def run(self, index):
        """One clause, on the event as it is; returns what it emitted."""
        before, r0 = len(self.records), ctypes.c_uint64()
        code = self.lib.pyusdt_vm_run(
            self.vm, self.ids[index], ctypes.byref(self.env), ctypes.byref(r0)
        )
        assert code == 0, (
            f"clause {index}: {code} at pc {self.env.fault_pc}, address {self.env.fault_addr:#x}"
        )
        return self.records[before:]

    def disturb(self):
        """Noise in all of the state block that neither the engine fills nor the layout promises to be zeros."""
        end = self.program.maps[p.MAP_STATE].value_size
        kept = sorted(
            [
                self.program.this_area,
                self.program.zeros,
                *[(offset, 8 + 8 * frames) for offset, frames in self.program.stacks.values()],
                (end, 0),
            ]
        )
        start = p.STATE_FAULT
        for offset, size in kept:
            ctypes.memset(self.state + start, 0xA5, max(0, offset - start))
            start = max(start, offset + size)

    def map_bytes(self, index):
        """All that a map holds, but for the order of a hash's elements."""
        map = self.program.maps[index]
        if not map.kind.endswith("hash"):
            return ctypes.string_at(
                self.lib.pyusdt_vm_map_value(self.vm, index, 0), map.value_size * map.entries
            )
        return sorted(self._read_elements(index))

    def _decode(self, data):
        size, clause = struct.unpack_from("=II", data)
        assert size == len(data)
        if clause & p.RECORD_SETTLED:
            return clause & ~p.RECORD_FLAGS, struct.unpack_from("=II", data, p.RECORD_SPECULATION)
        if clause & p.RECORD_FAULT:
            clause &= ~p.RECORD_FAULT
            kind, pc, value = struct.unpack_from("=IIQ", data, p.FAULT_KIND)
            place = [loc for start, loc in self.program.clauses[clause].lines if start <= pc][-1]
            return clause, Fault((kind, value, place))
        clause &= ~p.RECORD_SPECULATIVE
        out = self.program.clauses[clause]
        assert size == out.record_size
        return clause, [value_of(data, field) for action in out.actions for field in action.data]

    # --- as text ------------------------------------------------------------------
    def run_begin(self):
        """Run the clauses as dtrace's BEGIN does, up to the one that exits; returns its status, or 0."""
        self.fire([], names=("dtrace", "", "", "BEGIN"))
        for clause in self.program.clauses:
            emitted = self.run(clause.index)
            for action in clause.actions:
                if emitted and action.row.ends_tracing and not isinstance(emitted[0][1], Fault):
                    return value_of(self.raw[-1], action.data[0])
        return 0

    def printed(self):
        """(standard output, lines of the standard error) for what was emitted and aggregated so far."""
        lib, names = self.lib, lambda _: ("dtrace", "", "", "BEGIN")
        table, formatter = consumer_table.build_table(self.program), ctypes.c_void_p()
        error = ctypes.create_string_buffer(4096)
        flags = 1 if self.program.options.get("quiet") else 0
        assert (
            lib.pyusdt_formatter_new(table, len(table), flags, ctypes.byref(formatter), error) == 0
        ), error.raw
        lib.pyusdt_format_probe(formatter, 1, b"dtrace", b"", b"BEGIN")
        speculations = SpeculationBuffer(DEFAULT_SIZE)
        records = speculations.filter_records(b"".join(self.raw))
        place, text = _FormatPlace(), _Text()
        faults, stop = [], -1
        while stop != 0:
            stop = lib.pyusdt_format(
                formatter, records, len(records), ctypes.byref(place), ctypes.byref(text)
            )
            assert stop in (0, 3, 4)  # done, an action of the caller, a fault
            if stop == 4:
                faults.append(consumer_faults.format_error(records[place.offset :], names))
        out = ctypes.string_at(text.data, text.size)
        lib.pyusdt_formatter_free(formatter)
        lib.pyusdt_text_free(ctypes.byref(text))
        found = [(a, self.items(a)) for a in self.program.aggregations]
        return out + b"\n" + consumer_aggregations.render_aggregations(
            found, self.program.strsize, symbols=_NoSymbols()
        ), faults

    def drops(self):
        """(records, aggregations, dynamic variables) that were lost."""
        return struct.unpack(
            "=3Q", ctypes.string_at(self.lib.pyusdt_vm_map_value(self.vm, p.MAP_GLOBALS, 0), 24)
        )

    def items(self, definition):
        """[(key, value)] of an aggregation, as bytes."""
        map = self.program.maps[definition.map]
        if map.kind == "percpu_array":
            address = self.lib.pyusdt_vm_map_value(self.vm, definition.map, 0)
            value = ctypes.string_at(address, map.value_size)
            return [(b"", value)] if any(value[:8]) else []
        return SplitValueMaps(self.program).join_items(
            definition.map, self._read_elements(definition.map)
        )

    def _read_elements(self, index):
        """[(key, value)] of a hash map."""
        map = self.program.maps[index]
        cursor, key, value, found = ctypes.c_uint32(), ctypes.c_void_p(), ctypes.c_void_p(), []
        at = [ctypes.byref(x) for x in (cursor, key, value)]
        while self.lib.pyusdt_vm_map_next(self.vm, index, *at) & 0xFF:
            found.append(
                (ctypes.string_at(key, map.key_size), ctypes.string_at(value, map.value_size))
            )
        return found

    def aggregation(self, name):
        """{key tuple: value words} of an aggregation."""
        definition = next(a for a in self.program.aggregations if a.name == name)
        return {
            tuple(value_of(key, field) for field in definition.keys): struct.unpack(
                f"={len(value) // 8}q", value
            )
            for key, value in self.items(definition)
        }


def value_of(data, field):
    """The Python value of a program.Data in bytes; checks that strings are padded."""
    raw = data[field.offset : field.offset + field.size]
    if field.type.is_string:
        text, _, padding = raw.partition(b"\0")
        assert len(text) < len(raw) and not padding.strip(b"\0"), raw
        return text
    return int.from_bytes(raw, sys.byteorder, signed=field.type.is_integer and field.type.signed)
