"""Building a program: a growing list of instructions with labels, then linking.

- The offset of a jump may be a Label, and the target of a callsub the name of a function in
  bpf/lib.
- `finish` returns a complete program: every offset is a number, and each library function that
  the program calls is appended once.
"""

from __future__ import annotations

from .insn import PSEUDO_CALL, Insn, alu_imm, is_load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_OFF = 0x7FFF


class CodeError(Exception):
    """A program that can not be encoded: our bug, or a clause that is too large."""


class Label:
    """A place in a CodeBuilder; `position` is None until it is placed."""

    __slots__ = ("name", "position")

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        self.position: int | None = None


class CodeBuilder:
    __slots__ = ("insns",)

    def __init__(self) -> None:
        self.insns: list[Insn] = []

    def emit(self, *insns: Insn | tuple[Insn, ...]) -> None:
        """Append Insn objects; a tuple of them (ld_imm64, const) is spliced in."""
        for insn in insns:
            if isinstance(insn, tuple):
                self.insns += insn
            elif insn.off.__class__ is int and insn.off > _MAX_OFF:
                self.insns += _split_far_access(insn)
            else:
                self.insns.append(insn)

    def label_here(self) -> Label:
        """A label at the next instruction."""
        label = Label()
        label.position = len(self.insns)
        return label

    def place_label(self, label: Label) -> None:
        if label.position is not None:
            raise CodeError(f"label {label.name or ''} placed twice")
        label.position = len(self.insns)

    def finish(self, library: Callable[[str], list[Insn]] | None = None) -> list[Insn]:
        """The finished list of Insn.  library: a function name -> list of Insn, finished by itself
        but for calls by name (lib.load).  Calls inside of it are linked as well."""
        out = resolve_labels(self.insns)
        return link_library(out, library) if library else out


def _split_far_access(insn: Insn) -> list[Insn]:
    """A load or store at an offset for which the slot has no room: its base goes there and back."""
    base = insn.src if is_load(insn) else insn.dst
    near = Insn(insn.opcode, insn.dst, insn.src, 0, insn.imm, insn.comment)
    back = [] if is_load(insn) and insn.dst == base else [alu_imm("sub", base, insn.off)]
    return [alu_imm("add", base, insn.off), near, *back]


def resolve_labels(insns: list[Insn]) -> list[Insn]:
    """Replace Labels in `off` by offsets, in place."""
    for i, insn in enumerate(insns):
        label: Label | int = insn.off
        if isinstance(label, Label):
            if label.position is None:
                raise CodeError(f"label {label.name or ''} is used but was never placed")
            off = label.position - i - 1
            if not -_MAX_OFF - 1 <= off <= _MAX_OFF:
                raise CodeError("a jump is too far for an eBPF offset")
            insn.off = off
    return insns


def link_library(insns: list[Insn], library: Callable[[str], list[Insn]]) -> list[Insn]:
    """Append each function that is called by name, once, and patch the calls."""
    starts: dict[str, int] = {}
    i = 0
    while i < len(insns):  # grows: appended functions may call others
        insn = insns[i]
        if isinstance(insn.imm, str) and insn.src == PSEUDO_CALL:
            name: str = insn.imm
            if name not in starts:
                starts[name] = len(insns)
                insns.extend(library(name))
            insn.imm = starts[name] - i - 1
        i += 1
    return insns
