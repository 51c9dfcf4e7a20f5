"""Aggregations whose key ends with a string: one map for short strings, one for longer ones, one
for all sizes.

The code takes the smallest map with room for the string (inline.py puts it at each use of the
map).

- A key is in one map only, since the length of its string decides.  The bytes behind the NUL are
  zeros (dlang/code/state_layout.py), so the last byte of a size says whether the string fits.

The kernel hashes and compares all bytes of a key, and most strings are much shorter than strsize.
"""

from __future__ import annotations

from pydtrace.bpf.insn import R1, R2, call, exit_, jump_imm, ld_map, load
from pydtrace.bpf.program_builder import CodeBuilder, Label
from pydtrace.program import program as p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace.bpf.insn import Insn
    from pydtrace.program.program import Program

SIZES = (32, 64)  # bytes of a string with its NUL
ON_DEMAND_LIMIT = 4096  # bytes of a value: of larger ones the kernel has one at hand, and what comes before the next is lost


class SizeSplitMap:
    """One such aggregation: its map's index, and the smaller maps in ascending order, as (last byte of the string in the key,
    index)."""

    def __init__(self, whole: int, string: p.Data, first: int) -> None:
        self.whole = whole
        sizes = [size for size in SIZES if size < string.size]
        self.smaller = [(string.offset + size - 1, first + n) for n, size in enumerate(sizes)]

    def map_definitions(self, whole: p.MapDef) -> list[p.MapDef]:
        """The smaller maps' definitions, by that of the whole one."""
        return [
            p.MapDef(whole.name, whole.kind, last + 1, whole.value_size, whole.entries)
            for last, _ in self.smaller
        ]

    def locate_key(self, key: bytes) -> tuple[int, bytes]:
        """Where a key is: (index of the map, the key as it is there)."""
        for last, index in self.smaller:
            if key[last] == 0:
                return index, key[: last + 1]
        return self.whole, key

    def make_choice(self, helper: int) -> list[Insn]:
        """A call of a helper on the right map: r2 = a key, r3, r4 = what else it takes."""
        g = CodeBuilder()
        for last, index in self.smaller:
            longer = Label()
            g.emit(
                load(1, R1, R2, last),
                jump_imm("jne", R1, 0, longer),
                ld_map(R1, index),
                call(helper),
                exit_(),
            )
            g.place_label(longer)
        g.emit(ld_map(R1, self.whole), call(helper), exit_())
        return g.finish()


def find_split_maps(program: Program, first: int, most: int) -> list[SizeSplitMap]:
    """[Sized] of a program, whose maps have the indexes from `first` on; none where there would be more maps than `most`."""
    found = []
    for aggregation in program.aggregations:
        string = aggregation.keys[-1] if aggregation.keys else None
        small = program.maps[aggregation.map].value_size <= ON_DEMAND_LIMIT
        if small and string is not None and string.type.is_string and string.size > SIZES[0]:
            found.append(SizeSplitMap(aggregation.map, string, first))
            first += len(found[-1].smaller)
    return found if first <= most else []
