"""Stacks and symbols: stack(), ustack(), jstack(), sym() and its like, caller, stackdepth and theirs.

In: typed calls of these, options.  Out: their types, and code that makes their values of what the engine
put into the state block (Program.stacks).
Always: a stack is a struct of raw addresses and what is needed to name them; nothing is named before it is
printed (tracing/symbols.py).  One that an engine does not record has no frames.
"""

from ...bpf.code import Label
from ...bpf.insn import R0, R1, R6, jump_imm, load, mov_imm, store, store_imm
from ...data import program as p
from ...data import types as t
from .. import ast
from ..errors import CompileError
from .emit import OBJECTS, Place, handles
from .integers import constant

USER, KERNEL = "user", "kernel"
# Function -> (whose stack, option that gives its number of frames, that option's default, error's tag).
FUNCTIONS = {
    "stack": (KERNEL, "stackframes", 20, "D_STACK_SIZE"),
    "ustack": (USER, "ustackframes", 100, "D_USTACK_FRAMES"),
    "jstack": (USER, "jstackframes", 50, "D_USTACK_FRAMES"),
}
SYMBOLS = frozenset(("sym", "func", "mod", "usym", "ufunc", "umod", "uaddr"))
_MAXFRAMES = 127  # the kernel's bound, where nobody has changed it
_MOST = 1024  # what the state block has room for
_STRSZ = {"ustack": ("ustackstrsize", 0), "jstack": ("jstackstrsize", 512)}
# Where the frames begin in the part of the state block that an engine fills; their number (u64) is before them.
_AREA_FRAMES = 8


def most_frames(options):
    """How many frames a stack may have: what the option says, else what the kernel allows."""
    wanted = options.get("maxframes")
    if not wanted:
        try:
            with open("/proc/sys/kernel/perf_event_max_stack", encoding="ascii") as file:
                wanted = int(file.read())
        except (OSError, ValueError):
            wanted = _MAXFRAMES
    return min(wanted, _MOST)


# --- types ---------------------------------------------------------------------------
def type_call(typer, node):
    """Give a call of FUNCTIONS or SYMBOLS its type; the constants of a stack's are checked."""
    if node.name in SYMBOLS:
        node.type = t.symbol_type(node.name)
        return
    options = typer.names.options
    _, option, default, tag = FUNCTIONS[node.name]
    frames = options.get(option, default)
    if node.args:
        frames = constant(node.args[0])
        if frames is None or not 0 < frames <= 0x7FFFFFFF:
            message = f"{node.name}( ) argument #1 must be a non-zero positive integer constant"
            raise CompileError(tag, node.loc, message)
    node.strsz = 0
    if node.name in _STRSZ:
        node.strsz = options.get(*_STRSZ[node.name])
    if len(node.args) > 1:
        node.strsz = constant(node.args[1])
        if node.strsz is None or not 0 <= node.strsz <= 0x7FFFFFFF:
            raise CompileError("D_USTACK_STRSIZE", node.loc, f"{node.name}( ) argument #2 must be a positive integer constant")
    node.type = t.stack_type(max(1, min(frames, most_frames(options))))


def wanted(node, options):
    """(whose stack, how many frames of it) a node needs, or None."""
    if node.__class__ is ast.Call and node.name in FUNCTIONS:
        return FUNCTIONS[node.name][0], node.type.frames
    if node.__class__ is ast.Builtin and node.row.stack:
        kind, index = node.row.stack
        return kind, most_frames(options) if index is None else index + 1
    return None


# --- code ------------------------------------------------------------------------------
@handles(OBJECTS, ast.Call)
def _object(g, call, off):
    if call.name in SYMBOLS:
        _symbol(g, call, off)
    else:
        _stack(g, call, off)


def _stack(g, call, off):
    fields, frames = call.type.body.fields, call.type.frames
    kind = FUNCTIONS[call.name][0]
    area = g.layout.stacks[kind][0]
    fits = Label()
    g.emit(load(8, R0, R6, area), jump_imm("jle", R0, frames, fits), mov_imm(R0, frames))
    g.place(fits)
    g.emit(store(4, R6, off + fields["depth"].offset, R0),
           store_imm(4, R6, off + fields["is_user"].offset, int(kind == USER)),
           store_imm(4, R6, off + fields["strsz"].offset, call.strsz))
    if kind == USER:
        g.emit(load(4, R1, R6, p.STATE_PID), store(4, R6, off + fields["pid"].offset, R1))
    else:
        g.emit(store_imm(4, R6, off + fields["pid"].offset, 0))
    source, target = area + _AREA_FRAMES, off + fields["addrs"].offset
    g.copy(Place(False, source, 8 * frames), Place(False, target, 8 * frames))


def _symbol(g, call, off):
    fields = call.type.body.fields
    g.value(call.args[0])
    g.emit(store(8, R6, off + fields["address"].offset, R0))
    if call.type.user:
        g.emit(load(4, R1, R6, p.STATE_PID), store(8, R6, off + fields["pid"].offset, R1))
    else:
        g.emit(store_imm(8, R6, off + fields["pid"].offset, 0))
