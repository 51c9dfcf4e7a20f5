"""Where functions return: the sites of the return probes of provider pid.

- The probe fires once for each return of the function, or there is no probe, with a reason.
- A uretprobe replaces the return address, which kills programs that unwind their stacks
  (exceptions, panics) or change them (coroutines).  A probe on an instruction harms no program.

A function ends at its `ret` instructions and at jumps into other functions, whose end is its own.
The jump is marked, with the thread and its stack, and the probe fires where the other function
returns with the same stack (a chain).  Functions that others enter in the middle work the same
way: their first instruction is marked.  If the target of a jump is unknown, the probe fires at the
jump, and the function's value is not available yet.

A cold part (f.cold), which the compiler has put elsewhere, belongs to the function that jumps
there.  In a file without names for such parts the frame tables show them.
"""

from __future__ import annotations

import re
import struct
from array import array
from bisect import bisect_right
from collections import Counter, namedtuple
from itertools import pairwise

from pydtrace import _tracer
from pydtrace.symbols.elf import BadFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    Row = tuple[int, int, str]  # address, size, name
    from pydtrace.symbols.elf import ElfFile

_PART = re.compile(r"\.cold(?:\.\d+)?\Z")
_REGION = 1 << 20  # bytes of code that is put apart
_REGIONS = 256 << 20  # of all together, each time that it is looked at
_CHAIN, _ENDS, _CHECKS = (
    8,
    64,
    16,
)  # jumps of a chain, places where it may end, chains that may end in one place
_VISITS = 256  # of functions, for one chain
_UNKNOWN = -(1 << 31)  # a depth of the stack
ALWAYS = _tracer.EXIT_ALWAYS
_GO = (".gopclntab", ".go.buildinfo", ".data.rel.ro.gopclntab")
_UNWINDING = re.compile(
    rb"\0(?:_Unwind_\w+|__cxa_throw|__cxa_begin_catch|__gxx_personality_v0|rust_eh_personality|__gcc_personality_v0)\0"
)
UNWINDERS = re.compile(r"lib(?:gcc_s|stdc\+\+|c\+\+|c\+\+abi|unwind|rustc_driver|std)[-.].*")


class ReturnsNotFound(Exception):
    """The places are not known; the message says why.  is_part: it is no function that returns."""

    def __init__(self, why: str, is_part: bool = False) -> None:
        super().__init__(why)
        self.is_part = is_part


FIRE, MARK, CHECK = (
    "fire",
    "mark",
    "check",
)  # what is done at a point: fire; note that the function ends by a jump; fire if that was noted


class ReturnPoint(
    namedtuple("Point", "address does condition has_value level", defaults=(ALWAYS, True, 0))
):
    """address: of the instruction, as linked; condition: in the processor's flags, under which it is one (the low half of x86's opcode,
    ALWAYS: none); has_value: the function's value is in its register; level: of probes at one place those of a lower level fire first."""

    __slots__ = ()


class FunctionExit:
    """Where the code of a function ends.  address: of the instruction, as linked; jumps: it is a jump; condition: of it, as a Point's;
    target: where it leads, 0: unknown."""

    __slots__ = ("address", "condition", "jumps", "target")

    def __init__(
        self, address: int, jumps: bool = False, condition: int = ALWAYS, target: int = 0
    ) -> None:
        self.address, self.jumps, self.condition, self.target = address, jumps, condition, target


def is_cold_part(name: str) -> bool:
    """Whether a symbol is a part of a function that the compiler has put apart."""
    return _PART.search(name) is not None


def find_uretprobe_obstacle(file: ElfFile, beside: frozenset[str] | set[str]) -> str | None:
    """Why a probe on the address that functions of a file return to may kill a program, or None.  beside: names of files that the same
    processes have mapped."""
    sections = file.sections
    if any(name in sections for name in _GO):
        return "Go moves its stacks"
    if ".gcc_except_table" in sections or _UNWINDING.search(_symbol_names(file)):
        return "exceptions unwind its stack"
    found = sorted(name for name in beside if UNWINDERS.fullmatch(name))
    return f"its process may unwind its stack by {found[0]}" if found else None


def _symbol_names(file: ElfFile) -> bytes:
    """The names of its symbols."""
    texts = b""
    for name in (".dynstr", ".strtab"):
        if name in file.sections:
            _, _, offset, size, _ = file.sections[name]
            texts += b"\0" + file.read(offset, size)
    return texts


class ReturnSites:
    """Of one file.  file: elf.ElfFile, which stays open."""

    def __init__(self, file: ElfFile) -> None:
        self._file = file
        self._functions: list[Row] = [row for row in file.read_functions() if row[1]]
        self._starts = array("Q", (row[0] for row in self._functions))
        self._shared: set[int] | None = (
            None  # addresses of functions that others enter in the middle
        )
        self._left, self._visits = _REGIONS, 0
        self._points: dict[tuple[int, int], list[ReturnPoint]] = {}
        self._exits: dict[tuple[int, int], list[FunctionExit]] = {}
        self._checks: Counter[int] = Counter()  # how many chains end in a place

    def find_points(self, address: int, size: int, name: str) -> list[ReturnPoint]:
        """Of a function.  Raises NotFound."""
        if is_cold_part(name):
            raise ReturnsNotFound(
                f"it is a part of {_PART.sub('', name)}, and does not return by itself", True
            )
        if not size:
            raise ReturnsNotFound("its symbol has no size")
        try:
            if (address, size) not in self._points:
                self._points[address, size] = (
                    self._shared_points(address)
                    if address in self._entered_functions()
                    else self._simple_points(address, size)
                )
            return self._points[address, size]
        except BadFile as error:
            raise ReturnsNotFound(str(error)) from None

    def _simple_points(self, address: int, size: int) -> list[ReturnPoint]:
        found: dict[object, ReturnPoint] = {}
        for each in self.find_exits(address, size):
            ends = (
                self._follow_chain(each.target, (address,)) if each.jumps and each.target else None
            )
            if ends is None:
                found[each.address] = ReturnPoint(
                    each.address, FIRE, each.condition, not each.jumps
                )
            else:
                found[each.address] = ReturnPoint(each.address, MARK, each.condition)
                found.update({(CHECK, end.address): end for end in ends})
        return list(found.values())

    def _shared_points(self, address: int) -> list[ReturnPoint]:
        ends = self._follow_chain(address, ())
        if ends is None:
            raise ReturnsNotFound(
                "other functions jump into the middle of it, and where it ends is not known"
            )
        return [ReturnPoint(address, MARK), *ends]

    def _follow_chain(self, target: int, before: tuple[int, ...]) -> list[ReturnPoint] | None:
        """Where code ends that a jump leads to; None where that is not known, or too much.  before: the functions that it comes from."""
        self._visits = _VISITS
        try:
            ends = self._find_ends(target, before)
        except ReturnsNotFound:
            return None
        if len(ends) > _ENDS or any(self._checks[each] >= _CHECKS for each in ends):
            return None
        self._checks.update(ends.keys())
        return list(ends.values())

    def _find_ends(self, target: int, before: tuple[int, ...]) -> dict[int, ReturnPoint]:
        """{address: Point}"""
        self._visits -= 1
        if target in before or len(before) > _CHAIN or self._visits < 0:
            raise ReturnsNotFound("it goes in a circle, or too far")
        row, found = self.find_function(target), {}
        end = row[0] + row[1] if row else self.find_region_end(target)
        if end is None:
            raise ReturnsNotFound("the file has no names there")
        for each in self.find_exits(target, end - target, row is not None and row[0] == target):
            if each.jumps and each.target:
                found.update(self._find_ends(each.target, (*before, target)))
            else:
                found[each.address] = ReturnPoint(
                    each.address, CHECK, each.condition, not each.jumps, len(before)
                )
        return found

    def find_exits(self, address: int, size: int, whole: bool = True) -> list[FunctionExit]:
        """Of code.  whole: it is a function, else what its first instruction leads to.  Raises NotFound, BadFile."""
        if (address, size) not in self._exits:
            self._exits[address, size] = _ExitFinder(self, address, size).find_exits(whole)
        return self._exits[address, size]

    # --- what the exits of one need ----------------------------------------------------------------

    def read_code(self, address: int, size: int) -> bytes:
        offset = self._file.file_offset(address)
        if offset is None:
            raise ReturnsNotFound("its code is not in the file")
        code: bytes = self._file.read(offset, size)
        return code

    def read_flow(
        self, address: int, size: int, depth: int, whole: bool
    ) -> list[tuple[int, int, int, int, int, int]]:
        found: list[tuple[int, int, int, int, int, int]] | None = _tracer.function_exits(
            self.read_code(address, size), self._file.machine, address, depth, whole
        )
        if found is None:
            raise ReturnsNotFound("its instructions are not all known")
        return found

    def charge_bytes(self, size: int) -> None:
        """Bytes that are looked at once more."""
        self._left -= size
        if self._left < 0:
            raise ReturnsNotFound("its file has too many parts of functions")

    def find_function(self, address: int) -> Row | None:
        """The function that an address lies in."""
        at = bisect_right(self._starts, address) - 1
        while at >= 0 and self._starts[at] == self._starts[bisect_right(self._starts, address) - 1]:
            start, size, _ = self._functions[at]
            if address < start + size:
                return self._functions[at]
            at -= 1
        return None

    def find_region_end(self, address: int) -> int | None:
        """Where the code without a name that an address lies in ends, by the tables of frames."""
        frame, following = self._file.find_frame(address), bisect_right(self._starts, address)
        end = min(
            frame[1] if frame else 0,
            self._starts[following] if following < len(self._starts) else 1 << 64,
        )
        return end if address < end <= address + _REGION else None

    def read_first_target(self, address: int, entry: int) -> int | None:
        """Where the first entry of a table of jumps leads, or None."""
        offset = self._file.file_offset(address)
        if offset is None or entry not in (4, 8):
            return None
        [value] = struct.unpack("=i" if entry == 4 else "=Q", self._file.read(offset, entry))
        return address + value if entry == 4 else value or None

    def _entered_functions(self) -> set[int]:
        if self._shared is None:
            self._shared = set()
            rows = self._functions
            for (start, size, _), (following, *_) in pairwise(rows):
                if start < following < start + size:
                    self._shared |= {start, following}
            for each in self._file.segments:
                self._scan_entered(each.address, each.offset, each.size)
        return self._shared

    def _scan_entered(self, begin: int, offset: int, size: int) -> None:
        """In one segment."""
        first, last = (
            bisect_right(self._starts, begin - 1),
            bisect_right(self._starts, begin + size - 1),
        )
        rows = self._functions[first:last]
        if not rows:
            return
        base, end = rows[0][0], min(max(row[0] + row[1] for row in rows), begin + size)
        code = self._file.read(offset + base - begin, end - base)
        packed = array("Q", (number for row in rows for number in row[:2])).tobytes()
        for target, source in _tracer.entered_functions(code, self._file.machine, base, packed):
            found = self.find_function(target)
            if found and not is_cold_part(rows[source][2]) and not is_cold_part(found[2]):
                assert self._shared is not None
                self._shared.add(found[0])


class _ExitFinder:
    """The exits of one function, which begin with those of its own bytes."""

    def __init__(self, whole: ReturnSites, start: int, size: int) -> None:
        self._whole, self._start, self._end = whole, start, start + size
        self._found: dict[int, FunctionExit] = {}
        self._regions: set[int] = set()

    def find_exits(self, whole: bool) -> list[FunctionExit]:
        self._scan_code(self._start, self._end - self._start, 0, whole)
        return [self._found[address] for address in sorted(self._found)]

    def _scan_code(self, start: int, size: int, depth: int, whole: bool) -> None:
        for offset, kind, condition, target, entry, deep in self._whole.read_flow(
            start, size, depth, whole
        ):
            address = start + offset
            if kind == _tracer.EXIT_RETURN:
                self._found[address] = FunctionExit(address)
            elif kind == _tracer.EXIT_POINTER:
                self._found[address] = FunctionExit(address, True)
            elif kind == _tracer.EXIT_TABLE:
                self._handle_table(address, target, entry)
            elif kind == _tracer.EXIT_UNCLEAR:
                raise ReturnsNotFound(
                    f"where the jump at 0x{address - self._start:x} leads is not clear"
                )
            elif target in (start + size, self._end) and deep not in (0, _UNKNOWN):
                pass  # behind a call that does not come back, or what the compiler knows that is never reached
            elif not self._is_inside(target):
                self._handle_jump(address, condition, target, deep)

    def _is_inside(self, address: int) -> bool:
        return self._start <= address < self._end

    def _handle_table(self, address: int, table: int, entry: int) -> None:
        leads = self._whole.read_first_target(table, entry)
        if leads is not None and self._whole.find_function(leads) and not self._is_inside(leads):
            self._found[address] = FunctionExit(address, True)  # a table of functions

    def _handle_jump(self, address: int, condition: int, target: int, depth: int) -> None:
        """A jump out of the function, or on to another part of it."""
        other = self._whole.find_function(target)
        if other and is_cold_part(other[2]):
            self._scan_part(target, other[0] + other[1], depth)
        elif other and other[0] != target and depth not in (0, _UNKNOWN):
            raise ReturnsNotFound("it goes on in the middle of another function")
        elif other:
            self._add_jump_exit(address, condition, target)
        else:
            end = self._whole.find_region_end(target)
            if depth not in (0, _UNKNOWN):
                if end is None:
                    raise ReturnsNotFound("it goes on where the file has no names")
                self._scan_part(target, end, depth)
            elif end is not None and self._is_own_part(target, end):
                self._scan_part(target, end, depth)
            elif end is not None or target != self._end:
                self._add_jump_exit(address, condition, target)

    def _add_jump_exit(self, address: int, condition: int, target: int) -> None:
        if address not in self._found:
            self._found[address] = FunctionExit(address, True, condition, target)

    def _is_own_part(self, start: int, end: int) -> bool:
        """Whether code without a name is a part of this function: it jumps back, or ends the program."""
        exits = self._whole.read_flow(start, end - start, 0, False)
        return not exits or any(
            kind == _tracer.EXIT_JUMP and self._is_inside(target) and target != self._start
            for _, kind, _, target, _, _ in exits
        )

    def _scan_part(self, start: int, end: int, depth: int) -> None:
        if start not in self._regions:
            self._regions.add(start)
            self._whole.charge_bytes(end - start)
            self._scan_code(start, end - start, depth, False)
