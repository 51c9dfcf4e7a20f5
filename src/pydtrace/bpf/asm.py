"""The assembler: text -> instructions.

- One instruction a line, with its mnemonic and operands as insn.ROWS and insn.FORMS list them.
- `name:` places a label; `;` starts a comment.
- A jump goes to a label, or to `+n`/`-n` slots from the next one. A helper is called by name or
  number.
- `callsub` goes to a label of the text or, without one, to the library function of that name
  (program_builder.link_library).
- A map is given by name or index. `.insn opcode, dst, src, off, imm` is a raw slot, right or
  wrong.
"""

from __future__ import annotations

from .helpers import HELPERS
from .insn import FORMS, ROWS, Insn, ld_imm64
from .program_builder import CodeBuilder, CodeError, Label

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .insn import Opcode

_ROWS: dict[str, list[Opcode]] = {}
for _row in ROWS:
    _ROWS.setdefault(_row.name, []).append(_row)
_REGISTERS = {f"r{i}": i for i in range(11)}


class AsmError(Exception):
    """line: 1-based."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(line, message)  # what pickle makes another one of
        self.line, self.message = line, message

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


def assemble(text: str, maps: Iterable[str] = ()) -> list[Insn]:
    """The list of Insn of `text`; maps: the names of the program's maps, in order."""
    return _Assembler({name: i for i, name in enumerate(maps)}).assemble_text(text)


class _Assembler:
    def __init__(self, maps: dict[str, int]) -> None:
        self.maps = maps
        self.code = CodeBuilder()
        self.labels: dict[str, Label] = {}
        self.calls: list[tuple[int, str]] = []  # (position, label name)

    def assemble_text(self, text: str) -> list[Insn]:
        for number, line in enumerate(text.splitlines(), 1):
            line = line.partition(";")[0].strip()
            try:
                if line.endswith(":"):
                    self.code.place_label(self.find_label(line[:-1].strip()))
                elif line:
                    self.assemble_line(line)
            except (ValueError, TypeError, CodeError) as error:
                raise AsmError(number, f"{line}: {error}") from None
        for position, name in self.calls:
            label = self.labels.get(name)
            if label is not None and label.position is not None:
                self.code.insns[position].imm = label.position - position - 1
        return self.code.finish()

    def find_label(self, name: str) -> Label:
        return self.labels.setdefault(name, Label(name))

    def assemble_line(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        operands = [text.strip() for text in rest.split(",")] if rest.strip() else []
        if name == ".insn":
            opcode, dst, src, off, imm = (int(text, 0) for text in operands)
            self.code.emit(Insn(opcode, dst, src, off, imm))
            return
        rows = _ROWS.get(name)
        if rows is None:
            raise ValueError("unknown mnemonic")
        row = rows[0]
        if len(rows) > 1 and len(operands) > 1:  # with an immediate, or with a register
            row = rows[operands[1] in _REGISTERS]
        form = FORMS[row.form]
        if form[-1:] == ("offset",) and len(operands) == len(form) - 1:
            operands.append("0")
        if len(form) != len(operands):
            raise ValueError(f"{name} takes {len(form)} operands")
        insn = Insn(row.opcode)
        high = None
        if row.form in ("atomic", "swap"):
            insn.imm = row.sub
        elif row.sub:
            insn.src = row.sub
        for kind, text in zip(form, operands):
            value: int | None = getattr(self, "operand_" + kind)(insn, text)
            high = value if value is not None else high
        self.code.emit(insn)
        if row.form in ("wide", "map", "map_value"):
            self.code.emit(Insn(0, 0, 0, 0, high or 0))

    # One method an operand kind: fills the slot; returns the second slot's imm, if that kind has one.
    def operand_dst(self, insn: Insn, text: str) -> None:
        insn.dst = _parse_register(text)

    def operand_src(self, insn: Insn, text: str) -> None:
        insn.src = _parse_register(text)

    def operand_imm(self, insn: Insn, text: str) -> None:
        value = int(text, 0)
        if not -0x80000000 <= value <= 0xFFFFFFFF:
            raise ValueError(f"{text} does not fit into 32 bits")
        insn.imm = (value & 0xFFFFFFFF ^ 0x80000000) - 0x80000000

    def operand_mem_src(self, insn: Insn, text: str) -> None:
        insn.src, insn.off = _parse_memory(text)

    def operand_mem_dst(self, insn: Insn, text: str) -> None:
        insn.dst, insn.off = _parse_memory(text)

    def operand_target(self, insn: Insn, text: str) -> None:
        target = int(text) if text[0] in "+-" else self.find_label(text)
        insn.off = target  # type: ignore[assignment]  # a Label until finish()

    def operand_wide(self, insn: Insn, text: str) -> int:
        low, high = ld_imm64(0, int(text, 0))
        insn.imm = low.imm
        return high.imm

    def operand_offset(self, insn: Insn, text: str) -> int:
        return int(text, 0)

    def operand_map(self, insn: Insn, text: str) -> None:
        insn.imm = self.maps[text] if text in self.maps else int(text)

    def operand_helper(self, insn: Insn, text: str) -> None:
        insn.imm = HELPERS[text].number if text in HELPERS else int(text)

    def operand_function(self, insn: Insn, text: str) -> None:
        if text[0] in "+-":
            insn.imm = int(text)
        else:
            insn.imm = text  # type: ignore[assignment]  # a name until finish()
            self.calls.append((len(self.code.insns), text))


def _parse_register(text: str) -> int:
    number = _REGISTERS.get(text)
    if number is None:
        raise ValueError(f"{text} is not a register")
    return number


def _parse_memory(text: str) -> tuple[int, int]:
    """(register, offset) of "[r1+8]", "[r1-8]" or "[r1]"."""
    if text[:1] != "[" or text[-1:] != "]":
        raise ValueError(f"{text} is not [register+offset]")
    inside = text[1:-1].replace(" ", "")
    for sign in "+-":
        register, found, offset = inside.partition(sign)
        if found:
            distance = int(sign + offset, 0)
            if not -0x8000 <= distance <= 0x7FFF:
                raise ValueError(f"{distance} does not fit into 16 bits")
            return _parse_register(register), distance
    return _parse_register(inside), 0
