"""stack(), ustack(), jstack(), and sym() and its relatives: stacks and named addresses in a
record.

- The code copies from the part of the state block that the engine fills (Program.stacks).
- A stack is a struct of raw addresses and the data to name them; a sink names them when it
  prints (symbols/address_symbolizer.py). A stack that an engine does not record has no frames.
"""

from __future__ import annotations

from pydtrace.bpf.insn import R0, R1, R6, jump_imm, load, mov_imm, store, store_imm
from pydtrace.bpf.program_builder import Label
from pydtrace.dlang.code.emitter import StringSlot
from pydtrace.dlang.code.integer_expressions import constant_value
from pydtrace.dlang.code.stack_demand import KERNEL, LANGUAGE, USER, max_frames
from pydtrace.dlang.compile_errors import CompileError, refuse
from pydtrace.program import d_types as t
from pydtrace.program import program as p

from .action_base import Action

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..ast import Call
    from ..code.emitter import Emitter
    from ..types.context import TypingContext

# Where the frames begin in the part of the state block that an engine fills; their number (u64) is before them.
_AREA_FRAMES = 8


class _NamedAddress(Action):
    """What dtrace shows as names."""

    first_recorded = None
    is_value = is_shown_by_dtrace = True

    def perform(self, run: Any, action: p.Action, record: bytes) -> None:
        run.sink.text(run.symbols.format_value(action.data[0], record))


class StackAction(_NamedAddress):
    """stack: whose; frames, strsz: (option, its default), the latter None where there is none; tag: of an error about the number
    of frames."""

    is_operand = True

    def __init__(
        self,
        name: str,
        prototype: str,
        doc: str,
        stack: str,
        frames: tuple[str, int],
        tag: str,
        strsz: tuple[str, int] | None = None,
    ) -> None:
        self.name, self.prototype, self.doc = name, prototype, doc
        self.stack_kind, self.frames, self.tag, self.strsz = stack, frames, tag, strsz

    def set_type(self, c: TypingContext, call: Call) -> None:
        """The constants of a call are checked."""
        options = c.names.options
        frames = options.get(*self.frames)
        if call.args:
            frames = constant_value(call.args[0])
            if frames is None or not 0 < frames <= 0x7FFFFFFF:
                message = f"{self.name}( ) argument #1 must be a non-zero positive integer constant"
                raise CompileError(self.tag, call.loc, message, region="")
        call.strsz = options.get(*self.strsz) if self.strsz else 0
        if len(call.args) > 1:
            strsz = constant_value(call.args[1])
            if strsz is None or not 0 <= strsz <= 0x7FFFFFFF:
                refuse(
                    "D_USTACK_STRSIZE",
                    call.loc,
                    f"{self.name}( ) argument #2 must be a positive integer constant",
                )
            call.strsz = strsz
        call.type = t.stack_type(max(1, min(frames, max_frames(options))))

    def emit_object(self, g: Emitter, call: Call, off: int) -> None:
        fields, frames = call.type.body.fields, call.type.frames
        assert self.stack_kind
        area = g.layout.stacks[self.stack_kind][0]
        fits = Label()
        g.emit(load(8, R0, R6, area), jump_imm("jle", R0, frames, fits), mov_imm(R0, frames))
        g.place_label(fits)
        g.emit(
            store(4, R6, off + fields["depth"].offset, R0),
            store_imm(4, R6, off + fields["is_user"].offset, int(self.stack_kind != KERNEL)),
            store_imm(4, R6, off + fields["strsz"].offset, call.strsz),
        )
        if self.stack_kind != KERNEL:
            g.emit(load(4, R1, R6, p.STATE_PID), store(4, R6, off + fields["pid"].offset, R1))
        else:
            g.emit(store_imm(4, R6, off + fields["pid"].offset, 0))
        source, target = area + _AREA_FRAMES, off + fields["addrs"].offset
        g.copy_slot(StringSlot(False, source, 8 * frames), StringSlot(False, target, 8 * frames))


class SymbolAction(_NamedAddress):
    """An address that is printed by its name.  user: of the firing process, not the kernel; naming: a types.Naming."""

    is_key = True

    def __init__(self, name: str, doc: str, user: bool, naming: t.Naming) -> None:
        self.name, self.doc, self.user, self.naming = name, doc, user, naming
        self.prototype = "_usymaddr(uintptr_t)" if user else "_symaddr(uintptr_t)"

    def set_type(self, c: TypingContext, call: Call) -> None:
        call.type = t.symbol_type(self.user, self.naming)

    def emit_object(self, g: Emitter, call: Call, off: int) -> None:
        fields = call.type.body.fields
        g.emit_value(call.args[0])
        g.emit(store(8, R6, off + fields["address"].offset, R0))
        if self.user:
            g.emit(load(4, R1, R6, p.STATE_PID), store(8, R6, off + fields["pid"].offset, R1))
        else:
            g.emit(store_imm(8, R6, off + fields["pid"].offset, 0))


_MODULE, _FUNCTION = t.Naming(module=True), t.Naming(by_symbol=True)
ROWS = [
    StackAction(
        "stack",
        "stack([uint32_t])",
        "the kernel's stack",
        KERNEL,
        ("stackframes", 20),
        "D_STACK_SIZE",
    ),
    StackAction(
        "ustack",
        "stack([uint32_t], [uint32_t])",
        "the stack of the firing thread",
        USER,
        ("ustackframes", 100),
        "D_USTACK_FRAMES",
        ("ustackstrsize", 0),
    ),
    StackAction(
        "jstack",
        "stack([uint32_t], [uint32_t])",
        "the stack of the firing thread, with functions of Python and Erlang only",
        LANGUAGE,
        ("jstackframes", 50),
        "D_USTACK_FRAMES",
        ("jstackstrsize", 512),
    ),
    SymbolAction(
        "sym",
        "the name of an address of the kernel",
        False,
        t.Naming(distance=True, by_symbol=True),
    ),
    SymbolAction("func", "the name of the function of the kernel at an address", False, _FUNCTION),
    SymbolAction("mod", "the module of the kernel that contains an address", False, _MODULE),
    SymbolAction("usym", "the name of an address of the firing process", True, _FUNCTION),
    SymbolAction(
        "ufunc", "the name of the function at an address of the firing process", True, _FUNCTION
    ),
    SymbolAction(
        "umod", "the mapped file that contains an address of the firing process", True, _MODULE
    ),
    SymbolAction(
        "uaddr",
        "the name of an address of the firing process, and the offset from that name",
        True,
        t.SYMBOL_AND_OFFSET,
    ),
]
