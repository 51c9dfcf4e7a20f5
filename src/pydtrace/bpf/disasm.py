"""The disassembler: instructions -> text that asm.assemble reads back, slot for slot.

- Jump targets get the labels L<slot>, functions F<slot>.
- A slot that no row describes exactly becomes `.insn`.
- The comment of an instruction follows a `;`.
"""

from __future__ import annotations

from .helpers import BY_NUMBER
from .insn import FORMS, find_opcode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .insn import Insn, Opcode


def disassemble(insns: list[Insn], maps: Sequence[str] = (), numbers: bool = False) -> str:
    """maps: the names of the program's maps; numbers: slot numbers as a comment on each line."""
    labels = _find_labels(insns)
    lines = []
    i = 0
    while i < len(insns):
        if i in labels:
            lines.append(f"{labels[i]}:")
        insn = insns[i]
        text, slots = _format_instruction(insns, i, maps, labels)
        notes = [str(i)] if numbers else []
        if insn.comment:
            notes.append(insn.comment)
        lines.append(f"    {text:<40}; {' '.join(notes)}" if notes else f"    {text}")
        i += slots
    return "\n".join(lines) + "\n"


def _find_labels(insns: list[Insn]) -> dict[int, str]:
    """{slot: label}; only of slots that start an instruction, so that each label can be placed."""
    starts: set[int] = set()
    targets: dict[int, str] = {}
    i = 0
    while i < len(insns):
        starts.add(i)
        insn, row = insns[i], find_opcode(insns[i])
        if row is not None and "target" in FORMS[row.form] and insn.off.__class__ is int:
            targets.setdefault(i + 1 + insn.off, "L")
        elif row is not None and row.form == "call_sub" and insn.imm.__class__ is int:
            targets[i + 1 + insn.imm] = "F"
        i += 2 if _is_wide(insns, i, row) else 1
    return {slot: f"{kind}{slot}" for slot, kind in targets.items() if slot in starts}


def _is_wide(insns: list[Insn], i: int, row: Opcode | None) -> bool:
    if row is None or row.form not in ("wide", "map", "map_value") or i + 1 >= len(insns):
        return False
    second = insns[i + 1]
    return not (second.opcode or second.dst or second.src or second.off) and (
        row.form != "map" or not second.imm
    )


def _format_instruction(
    insns: list[Insn], i: int, maps: Sequence[str], labels: dict[int, str]
) -> tuple[str, int]:
    insn, row = insns[i], find_opcode(insns[i])
    if (
        row is None
        or not _is_exact(insn, row)
        or (row.form in ("wide", "map", "map_value") and not _is_wide(insns, i, row))
    ):
        return f".insn {insn.opcode:#x}, {insn.dst}, {insn.src}, {insn.off}, {insn.imm}", 1
    wide = _is_wide(insns, i, row)
    high = insns[i + 1].imm if wide else 0
    texts = [_format_operand(kind, insn, i, high, maps, labels) for kind in FORMS[row.form]]
    return f"{row.name} {', '.join(texts)}".rstrip(), 2 if wide else 1


def _is_exact(insn: Insn, row: Opcode) -> bool:
    """Whether all fields that the row does not use are 0, so that the text says all of the slot."""
    form = FORMS[row.form]
    memory = "mem_src" in form or "mem_dst" in form
    return (
        insn.dst <= 10
        and insn.src <= 10
        and (insn.dst == 0 or "dst" in form or "mem_dst" in form)
        and (insn.src == 0 or "src" in form or "mem_src" in form or insn.src == row.sub)
        and (insn.off == 0 or memory or "target" in form)
        and (
            insn.imm == 0
            or row.form in ("atomic", "swap", "wide", "map", "map_value", "call", "call_sub")
            or "imm" in form
        )
    )


def _format_operand(
    kind: str, insn: Insn, i: int, high: int, maps: Sequence[str], labels: dict[int, str]
) -> str:
    if kind == "dst":
        return f"r{insn.dst}"
    if kind == "src":
        return f"r{insn.src}"
    if kind == "imm":
        return str(insn.imm)
    if kind == "offset":
        return str(high)
    if kind == "wide":
        return hex((high & 0xFFFFFFFF) << 32 | insn.imm & 0xFFFFFFFF)
    if kind == "map":
        return maps[insn.imm] if 0 <= insn.imm < len(maps) else str(insn.imm)
    if kind == "helper":
        return BY_NUMBER[insn.imm].name if insn.imm in BY_NUMBER else str(insn.imm)
    if kind == "target":
        return labels.get(i + 1 + insn.off, f"{insn.off:+}")
    if kind == "function":
        if isinstance(insn.imm, str):
            return insn.imm
        return labels.get(i + 1 + insn.imm, f"{insn.imm:+}")
    base = insn.src if kind == "mem_src" else insn.dst
    return f"[r{base}{insn.off:+}]" if insn.off else f"[r{base}]"
