"""trace(), tracemem() and print(): a value, memory, and the target of a pointer."""

from __future__ import annotations

from pydtrace.dlang import ast
from pydtrace.dlang.code.integer_expressions import constant_value
from pydtrace.dlang.code.memory_objects import store_object
from pydtrace.dlang.compile_errors import CompileError, refuse
from pydtrace.program import d_types as t
from pydtrace.program.fields import Field, make_memory_field, read_integer
from pydtrace.program.program import PRINTS_VALUE

from .action_base import Action

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...program import program
    from ..code.emitter import Emitter

_TRACEMEM_MAX = 16384  # bytes


class Trace(Action):
    name, prototype, doc = "trace", "void(@)", "prints a value in its default format"
    is_value = may_be_shown = True
    usage = 'trace() takes one value; printf("…", …) takes a format'
    printed_by = PRINTS_VALUE

    def check(self, call: ast.Call) -> None:
        arg = call.args[0]
        if arg.type.is_void:
            refuse("D_TRACE_VOID", arg.loc, "trace( ) may not be applied to a void expression")
        if isinstance(arg.type, t.Dynamic):
            message = "trace( ) may not be applied to a dynamic expression"
            refuse("D_TRACE_DYN", arg.loc, message, "printa() prints an aggregation")

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        """Of a float; C prints the others."""
        from pydtrace.program.float_values import float_from_bytes, format_float

        data = action.data[0]
        value = float_from_bytes(record[data.offset : data.offset + data.size])
        run.sink.text(b"%g" % value if run.options.get("quiet") else format_float(value))


class TraceMem(Action):
    """tracemem(address, size[, bytes to show]): what is recorded is an array of bytes there, and their number."""

    name, prototype, doc = (
        "tracemem",
        "void(@, size_t, [size_t])",
        "prints bytes of memory as a table",
    )
    is_value = is_shown_by_dtrace = True
    dtrace_value_count = 1

    def check(self, call: ast.Call) -> None:
        address, size = call.args[:2]
        if not t.is_scalar(address.type):
            message = "tracemem( ) argument #1 is incompatible with prototype:\n\tprototype: pointer or integer\n"
            refuse("D_TRACEMEM_ADDR", call.loc, message + f"\t argument: {address.type}")
        count = constant_value(size)
        if count is None or not 0 < count <= _TRACEMEM_MAX:
            message = (
                "tracemem( ) argument #2 must be a non-zero positive integral constant expression"
            )
            refuse("D_TRACEMEM_SIZE", call.loc, message)
        there = ast.Deref(address.loc, address)
        there.type = t.Array(t.CHAR, count)
        call.args = [there, *call.args[2:]]

    def record_fields(self, action: program.Action, symbols: Any) -> list[Any]:
        return [make_memory_field(*action.data)]

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        from pydtrace.dtrace_text.aggregation_text import format_hexdump

        memory, *most = action.data
        shown = read_integer(most[0], record) if most else -1
        size = memory.size if shown < 0 else min(shown, memory.size)
        run.sink.text(format_hexdump(record[memory.offset : memory.offset + size]))


class Print(Action):
    """print(pointer): what is recorded is the address and what is there."""

    name, prototype, doc = (
        "print",
        "void(@)",
        "prints the value at a pointer, with its types and members",
    )
    is_value = in_memory = may_be_shown = True

    def check(self, call: ast.Call) -> None:
        arg = call.args[0]
        if not arg.type.is_pointer:
            message = "print( ) argument #1 is incompatible with prototype:\n\tprototype: void *\n"
            raise CompileError(
                "D_PROTO_ARG", call.loc, message + f"\t argument: {arg.type}", region="action list"
            )
        if not t.embedded_size(arg.type.to) and not arg.type.to.is_string:
            message = f"print( ) argument #1 reference has type '{arg.type.to}' with size 0; cannot print( ) it."
            refuse("D_PRINT_SIZE", call.loc, message)
        there = ast.Deref(arg.loc, arg)
        there.type = arg.type.to
        call.args = [there]

    def recorded_values(self, call: ast.Call) -> list[Any]:
        there = call.args[0]
        assert isinstance(there, ast.Deref)  # check() made it
        return [there.operand, there]

    def emit_record(
        self, g: Emitter, call: ast.Call, at: int, action: program.Action | None
    ) -> None:
        there = call.args[0]
        assert action and isinstance(there, ast.Deref)
        address, bytes_there = action.data
        store_object(g, at, (address, bytes_there), there)

    def record_fields(self, action: program.Action, symbols: Any) -> list[Any]:
        from pydtrace.dtrace_text.print_action_text import to_plain_data

        there = action.data[1]  # the first is where it was read
        return [
            Field(
                there.offset,
                there.size,
                f"{there.size}s",
                lambda storage: to_plain_data(there.type, storage),
            )
        ]

    def perform(self, run: Any, action: program.Action, record: bytes) -> None:
        from pydtrace.dtrace_text import print_action_text

        address, there = action.data
        limit = run.options.get("printsize", print_action_text.PRINTSIZE)
        storage = record[there.offset : there.offset + there.size]
        run.sink.text(
            print_action_text.render_value(
                there.type, storage, read_integer(address, record), limit
            )
        )

    def dtrace_expressions(self, arguments: list[str]) -> list[str]:
        return [arguments[0], f"*({arguments[0]})"]


ROWS = [Trace(), TraceMem(), Print()]
