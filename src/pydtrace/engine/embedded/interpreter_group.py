"""The BPF interpreters of one tracing, one for each consumer, each with its own maps.

- Aggregations are read merged, as a single interpreter would have counted (merge_values.py).
- Variables and speculations, which only one clause at a time may use, belong to the first one.
"""

from __future__ import annotations

import struct

from pydtrace import _tracer
from pydtrace.aggregation.int64 import pack_words, unpack_words
from pydtrace.aggregation.merge_values import merge_words
from pydtrace.aggregation.split_values import SplitValueMaps
from pydtrace.bpf import insn, map_kinds
from pydtrace.engine import TooLarge
from pydtrace.program import program as p


class InterpreterGroup:
    """vms: the _tracer.VM of each consumer.  TooLarge: there is no memory for them."""

    def __init__(self, program: p.Program, consumers: int) -> None:
        self._maps, self._split_values = program.maps, SplitValueMaps(program)
        self._rows = {aggregation.map: aggregation.row for aggregation in program.aggregations}
        shapes = [
            (map_kinds.KINDS[each.kind].number, each.key_size, each.value_size, each.entries)
            for each in program.maps
        ]
        try:
            self.vms = [_tracer.VM(shapes) for _ in range(consumers)]
        except OSError as error:
            raise TooLarge(
                f"the script's data need more memory than pydtrace may take ({error.strerror}): a smaller -x aggsize or "
                "dynvarsize helps"
            ) from None

    def load_program(self, code: list[insn.Insn]) -> list[int]:
        """A program (list of bpf.insn.Insn) into each; its numbers there."""
        encoded = insn.encode(code)
        return [vm.load(encoded) for vm in self.vms]

    def items(self, index: int) -> list[tuple[bytes, bytes]]:
        """[(key, value)] of a map; of one without keys (b"", value), if anything was put there."""
        if len(self.vms) == 1:
            return self._read_items(self.vms[0], index)
        found: dict[bytes, list[bytes]] = {}
        for vm in self.vms:
            for key, value in self._read_items(vm, index):
                found.setdefault(key, []).append(value)
        return [(key, self._merge_values(index, values)) for key, values in found.items()]

    def _read_items(self, vm: _tracer.VM, index: int) -> list[tuple[bytes, bytes]]:
        if self._has_keys(index):
            return self._split_values.join_items(index, vm.items(index))
        value = vm.value(index, 0)
        return [(b"", value)] if any(value[:8]) else []

    def _merge_values(self, index: int, values: list[bytes]) -> bytes:
        return (
            values[0]
            if len(values) == 1
            else pack_words(merge_words(self._rows[index], list(map(unpack_words, values))))
        )

    def _has_keys(self, index: int) -> bool:
        return self._maps[index].kind != "percpu_array"

    def clear(self, index: int) -> None:
        """Zero all values of an aggregation."""
        zeros = bytes(self._maps[index].value_size)
        for vm in self.vms:
            if self._has_keys(index):
                for key, _ in vm.items(index):
                    vm.update(index, key, zeros)
            else:
                vm.clear(index)

    def remove(self, index: int, keys: list[bytes]) -> None:
        """Take elements out of an aggregation; the one of an aggregation without keys is zeroed."""
        for vm in self.vms:
            if not self._has_keys(index):
                vm.clear(index)
                continue
            for key in self._split_values.split_keys(index, keys):
                vm.delete(index, key)

    def drops(self) -> list[int]:
        """How often an aggregation, a dynamic variable, a speculation found no room."""
        each = [
            struct.unpack_from("=QQQ", vm.value(p.MAP_GLOBALS, 0), p.DROP_AGGREGATION)
            for vm in self.vms
        ]
        return [sum(column) for column in zip(*each)]

    def count_truncated_strings(self) -> tuple[int, int]:
        """As Engine.count_truncated_strings()."""
        each = [
            struct.unpack_from("=QQ", vm.value(p.MAP_GLOBALS, 0), p.COUNT_CUT) for vm in self.vms
        ]
        return tuple(sum(column) for column in zip(*each)) if each else (0, 0)
