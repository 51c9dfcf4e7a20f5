"""The maps of the kernel engine: their creation, and the values in them.

- A read merges the values of all CPUs by the rule of the aggregation's function.
"""

from __future__ import annotations

import mmap
import os
import struct

from pydtrace import _tracer
from pydtrace.aggregation.int64 import add_words, pack_words, unpack_words
from pydtrace.aggregation.split_values import SplitValueMaps
from pydtrace.bpf import syscalls as kernel
from pydtrace.bpf.map_kinds import KINDS
from pydtrace.engine import TooLarge
from pydtrace.program import program as p

from . import kernel_errors
from .linker import (
    CONTROL_ACTIVE,
    CONTROL_DROPS,
    CONTROL_WALL,
    CONTROL_ZEROS,
    LEVELS,
    NAMES_VALUE,
    MapIndexes,
)
from .passes import map_indirection, process_filter, record_trim, return_check, string_size_maps
from .probes.raw_tracepoints import TABLE_SIZE
from .unwind import bpf_native_unwinder, bpf_python_unwinder, unwinder_maps
from .uprobe_attach import NO_PREALLOC_SINCE, kernel_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from pydtrace.bpf.insn import Insn
    from pydtrace.program.program import Program

    from .descendants import Descendants
    from .unwind.unwinder_maps import TaskOffsets

_PREALLOC_LIMIT = 16384  # values that are allocated when a map is made
_FIRST_NAMESPACE = 0xEFFFFFFC  # the inode that Linux gives to the machine's pid namespace
_WORD = struct.Struct("=Q")


def _possible_cpus() -> int:
    """How many values a per-CPU map has for an element."""
    with open("/sys/devices/system/cpu/possible") as file:
        text = file.read().strip()
    return max(int(part.split("-")[-1]) for part in text.split(",")) + 1


class MappedArray:
    """An array map of one element, mapped: words of it are read and written without a system call."""

    def __init__(self, definition: p.MapDef) -> None:
        self.fd = kernel.map_create(definition, kernel.MMAPABLE)
        size = (definition.value_size + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE
        self.memory = mmap.mmap(self.fd, size)

    def read_word(self, offset: int) -> int:
        return int(_WORD.unpack_from(self.memory, offset)[0])

    def write_word(self, offset: int, value: int) -> None:
        _WORD.pack_into(self.memory, offset, value & (1 << 64) - 1)

    def close(self) -> None:
        self.memory.close()
        os.close(self.fd)


class KernelMaps:
    """All maps of a program.  fds: by index in Program.maps, then the engine's own; places: link.Maps."""

    def __init__(
        self,
        program: Program,
        probes: int,
        with_syscalls: bool = False,
        task: TaskOffsets | None = None,
        allowed_pids: Mapping[int, int] | None = None,
        most: int | None = None,
        family: Descendants | None = None,
        with_returns: bool = False,
    ) -> None:
        """probes: bound on probe ids, for the names; 0 where no clause wants them; with_syscalls: system calls are
        traced; task: unwinder_maps.find_task_offsets(), where interpreters' stacks are walked; allowed_pids: Targets.allowed;
        most: bytes that all may take, None: no bound; family: a family.Family, or None; with_returns: returns of
        functions are traced.  Raises EngineError."""
        self.program = program
        self.ring: Any = None
        self._arrays: list[MappedArray] = []
        self.fds: list[int] = []
        self._outer_maps: dict[int, tuple[int, int]] | None = None  # see share_maps()
        self._split_values = SplitValueMaps(program)
        self.cpus = _possible_cpus()
        definitions = list(program.maps)
        self.indexes = MapIndexes(
            len(definitions),
            definitions[p.MAP_STATE].value_size,
            _find_preempt_kfuncs(),
            _pid_namespace(),
        )
        zeros = program.this_area[1]
        definitions.append(p.MapDef("control", "array", 4, CONTROL_ZEROS + zeros, 1))
        definitions.append(p.MapDef("names", "array", 4, NAMES_VALUE, probes + 1))
        if with_syscalls:
            definitions.append(p.MapDef("syscalls", "array", 4, TABLE_SIZE, 1))
        else:
            self.indexes.syscalls = None
        if allowed_pids is not None:
            self.indexes.allowed = len(definitions)
            definitions.append(process_filter.map_definition(len(allowed_pids)))
        self.state_size = definitions[p.MAP_STATE].value_size + 8
        if task:
            tables = not bpf_native_unwinder.find_table_obstacle(
                os.uname().machine, kernel_version()
            )
            self.indexes.walk = bpf_python_unwinder.UnwinderIndexes(
                len(definitions),
                self.state_size,
                task,
                kernel_version() >= bpf_python_unwinder.BPF_LOOP,
                tables,
                self.indexes,
            )
            self.state_size += (
                bpf_python_unwinder.WALK_SIZE + bpf_native_unwinder.UNWIND_SIZE * tables
            )
            definitions += [*unwinder_maps.MAPS, *unwinder_maps.table_definitions() * tables]
        self.indexes.state_of_all = self.state_size > kernel.PER_CPU_VALUE_MAX
        if with_returns:
            self.indexes.leaving = len(definitions)
            definitions.append(return_check.PENDING_RETURNS_MAP)
        found = (
            string_size_maps.find_split_maps(program, len(definitions), map_indirection.MAP_LIMIT)
            if kernel_version() >= NO_PREALLOC_SINCE
            else []
        )
        _check_memory(
            [
                *definitions,
                *(
                    smaller
                    for each in found
                    for smaller in each.map_definitions(definitions[each.whole])
                ),
            ],
            self.cpus,
            most,
        )
        self._sized = self.indexes.sized = {each.whole: each for each in found}
        try:
            for index, definition in enumerate(definitions):
                self.fds.append(self._create_map(index, definition))
            if allowed_pids is not None:
                assert self.indexes.allowed is not None
                process_filter.fill_map(self.fds[self.indexes.allowed], allowed_pids)
            for each in found:
                for smaller in each.map_definitions(definitions[each.whole]):
                    self.fds.append(kernel.map_create(smaller, kernel.NO_PREALLOC))
            if family:
                self.indexes.family = len(self.fds)
                self.fds.append(os.dup(family.fd))
            self.ring = _tracer.KernelRing(
                self.fds[p.MAP_OUTPUT],
                definitions[p.MAP_OUTPUT].entries,
                record_trim.trim_table(program),
            )
        except OSError as error:
            self.close()
            raise kernel_errors.make_step_error("map", error) from None

    def _create_map(self, index: int, d: p.MapDef) -> int:
        if index == p.MAP_STATE:
            kind, blocks = (
                ("array", LEVELS * self.cpus) if self.indexes.state_of_all else (d.kind, LEVELS)
            )
            return kernel.map_create(p.MapDef(d.name, kind, d.key_size, self.state_size, blocks))
        if index in (p.MAP_GLOBALS, self.indexes.control, self.indexes.syscalls):
            self._arrays.append(MappedArray(d))
            return self._arrays[-1].fd
        if d.kind == unwinder_maps.ARRAY_OF_MAPS:
            return unwinder_maps.create_outer_table(d)
        # allocating all values of all CPUs takes long
        small = d.value_size <= string_size_maps.ON_DEMAND_LIMIT
        values = (
            d.entries * self.cpus if d.kind == "percpu_hash" else d.entries // 4
        )  # a hash has its old room at once
        many = (
            small
            and d.kind in ("hash", "percpu_hash")
            and values > _PREALLOC_LIMIT
            or d.name == unwinder_maps.PARTS
        )
        return kernel.map_create(
            d, kernel.NO_PREALLOC if many and kernel_version() >= NO_PREALLOC_SINCE else 0
        )

    def share_maps(self, insns: list[Insn]) -> list[Insn]:
        """A linked program; where it uses more maps than the kernel takes, with those of one shape behind one map."""
        if len(map_indirection.used_maps(insns)) <= map_indirection.MAP_LIMIT:
            return insns
        if self._outer_maps is None:
            self._outer_maps = self._create_outer_maps()
        insns = map_indirection.use_outer_maps(insns, self._outer_maps)
        if len(map_indirection.used_maps(insns)) > map_indirection.MAP_LIMIT:
            raise kernel_errors.make_map_limit_error(map_indirection.MAP_LIMIT)
        return insns

    def _create_outer_maps(self) -> dict[int, tuple[int, int]]:
        """Make maps of maps; {index of a map: (index of the one that it stands behind, its number there)}."""
        behind = {}
        for indexes in map_indirection.group_maps(
            {index: each for index, each in enumerate(self.program.maps) if index != p.MAP_STATE}
        ):
            try:
                self.fds.append(kernel.create_map_of_maps([self.fds[index] for index in indexes]))
            except OSError as error:
                raise kernel_errors.make_step_error("map", error) from None
            behind.update(
                {index: (len(self.fds) - 1, number) for number, index in enumerate(indexes)}
            )
        return behind

    @property
    def globals_array(self) -> MappedArray:
        return self._arrays[0]

    @property
    def control_array(self) -> MappedArray:
        return self._arrays[1]

    @property
    def syscall_table(self) -> MappedArray:
        return self._arrays[2]

    def close(self) -> None:
        self.ring = None
        mapped = [array.fd for array in self._arrays]
        for array in self._arrays:
            array.close()
        for fd in self.fds:
            if fd not in mapped:
                os.close(fd)
        self._arrays, self.fds = [], []

    # --- the control block ----------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        return self.control_array.read_word(CONTROL_ACTIVE) != 0

    @is_active.setter
    def is_active(self, value: bool) -> None:
        self.control_array.write_word(CONTROL_ACTIVE, int(value))

    @property
    def dropped_firings(self) -> int:
        return self.control_array.read_word(CONTROL_DROPS)

    def set_wall_offset(self, offset: int) -> None:
        self.control_array.write_word(CONTROL_WALL, offset)

    def write_names(self, ident: int, value: bytes) -> None:
        kernel.map_update(self.fds[self.indexes.names], struct.pack("=I", ident), value)

    # --- values -----------------------------------------------------------------------------

    def read_items(self, index: int) -> list[tuple[bytes, bytes]]:
        """[(key, value)] of an aggregation; of an array with one element (b"", value), if anything was put there."""
        return self._split_values.join_items(index, self._read_elements(index))

    def read_cpu_parts(
        self, index: int, cpus: Iterable[int]
    ) -> list[tuple[int, list[tuple[bytes, bytes]]]]:
        """[(cpu, read_items() of what that one put there)]; values of keys that others alone have are zeros."""
        size, found = self.program.maps[index].value_size, self._read_cpu_values(index)
        return [
            (
                cpu,
                self._split_values.join_items(
                    index, [(key, raw[cpu * _value_stride(size) :][:size]) for key, raw in found]
                ),
            )
            for cpu in cpus
        ]

    def _read_elements(self, index: int) -> list[tuple[bytes, bytes]]:
        """As read_items() gives, of its map."""
        definition = self.program.maps[index]
        if not KINDS[definition.kind].per_cpu:
            return kernel.map_items(self.fds[index], definition.key_size, definition.value_size)
        merge, size = _make_merge(self.program, index), definition.value_size
        found = [
            (key, merge(raw, size, _value_stride(size)))
            for key, raw in self._read_cpu_values(index)
        ]
        return (
            found
            if definition.kind != "percpu_array"
            else [(key, value) for key, value in found if any(value[:8])]
        )

    def _read_cpu_values(self, index: int) -> list[tuple[bytes, bytes]]:
        """[(key, the values of all CPUs)] of an aggregation."""
        definition = self.program.maps[index]
        size = _value_stride(definition.value_size) * self.cpus
        if definition.kind == "percpu_array":
            return [(b"", kernel.map_lookup(self.fds[index], bytes(4), size))]
        found = [
            item
            for part, key_size in self._split_maps(index)
            for item in kernel.map_items(self.fds[part], key_size, size)
        ]
        return [(key.ljust(definition.key_size, b"\0"), raw) for key, raw in found]

    def _split_maps(self, index: int) -> list[tuple[int, int]]:
        """[(index, bytes of a key)] of the maps that an aggregation has."""
        sizes = self._sized.get(index)
        smaller = [(part, last + 1) for last, part in sizes.smaller] if sizes else []
        return [*smaller, (index, self.program.maps[index].key_size)]

    def _locate_element(self, index: int, key: bytes) -> tuple[int, bytes]:
        """(descriptor, key) of an aggregation's element in the map that has it."""
        sizes = self._sized.get(index)
        part, key = sizes.locate_key(key) if sizes else (index, key)
        return self.fds[part], key

    def clear_map(self, index: int) -> None:
        """Zero all values of an aggregation's map."""
        definition = self.program.maps[index]
        zeros = bytes(_value_stride(definition.value_size) * self.cpus)
        keys = (
            [bytes(4)]
            if definition.kind == "percpu_array"
            else [key for key, _ in self._read_elements(index)]
        )
        for key in keys:
            kernel.map_update(*self._locate_element(index, key), zeros)

    def remove_keys(self, index: int, keys: Iterable[bytes]) -> None:
        """Take elements out of an aggregation's map; that of an array with one element is zeroed."""
        if self.program.maps[index].kind == "percpu_array":
            self.clear_map(index)
            return
        for key in self._split_values.split_keys(index, keys):
            try:
                kernel.map_delete(*self._locate_element(index, key))
            except FileNotFoundError:
                continue


def _check_memory(definitions: Iterable[p.MapDef], cpus: int, most: int | None) -> None:
    """Raise TooLarge where they may come to take more than that."""
    size = sum(_map_memory(definition, cpus) for definition in definitions)
    if most is not None and size > most:
        raise TooLarge(
            f"the script's data may take {size >> 20} MiB of the kernel's memory, and {most >> 20} MiB are allowed: smaller -x aggsize, bufsize, dynvarsize, strsize and specsize help"
        )


def _map_memory(definition: p.MapDef, cpus: int) -> int:
    """Bytes of the keys and values that a map may come to have."""
    if definition.kind == "ringbuf":
        return definition.entries
    values = cpus if definition.kind in KINDS and KINDS[definition.kind].per_cpu else 1
    return definition.entries * (
        _value_stride(definition.key_size) + _value_stride(definition.value_size) * values
    )


def _pid_namespace() -> tuple[int, int] | None:
    """(device, inode) of this process's pid namespace; None where that is the machine's own."""
    status = os.stat("/proc/self/ns/pid")
    return None if status.st_ino == _FIRST_NAMESPACE else (status.st_dev, status.st_ino)


def _find_preempt_kfuncs() -> tuple[int, int] | None:
    """Type ids of the functions that keep other tasks away, or None before Linux 6.10."""
    try:
        with open("/sys/kernel/btf/vmlinux", "rb") as file:
            btf = file.read()
    except OSError:
        return None
    disable = _tracer.btf_function(btf, "bpf_preempt_disable")
    enable = _tracer.btf_function(btf, "bpf_preempt_enable")
    return (disable, enable) if disable and enable else None


# --- adding up what the CPUs have ---------------------------------------------------------------


def _value_stride(size: int) -> int:
    """The distance between two CPUs' values of that many bytes."""
    return (size + 7) & ~7


def _make_merge(program: Program, index: int) -> Callable[[bytes, int, int], bytes]:
    """The rule for a map: f(values of all CPUs, bytes of one, distance between them) -> one value."""
    merged = next(
        (
            aggregation.row.merge_words
            for aggregation in program.aggregations
            if aggregation.map == index
        ),
        add_words,
    )

    def merge_cpus(raw: bytes, size: int, each: int) -> bytes:
        columns = [unpack_words(raw[start : start + size]) for start in range(0, len(raw), each)]
        used = [column for column in columns if column[0]]
        return pack_words(used[0] if len(used) == 1 else merged(*used)) if used else bytes(size)

    return merge_cpus
