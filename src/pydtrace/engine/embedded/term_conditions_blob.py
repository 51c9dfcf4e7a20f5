"""The conditions on parameters of Erlang functions as a session carries them: behind its paths to values, in a form of its own.

    uint32_t size; uint8_t version, root (8: conditions of Erlang's); uint16_t 0; a term in External Term Format

- The node reads the term as untrusted (erlang_nif/src/pyusdt_vm_conditions.erl).
"""

from __future__ import annotations

import struct

from pydtrace.erlang_node import etf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEAD = "=IBBH"
_VERSION, _ROOT, _MOST = 1, 8, 508  # struct pyusdt_path
_OPERATIONS = {"==": b"=:=", "!=": b"=/=", "<": b"<", "<=": b"=<", ">": b">", ">=": b">="}


def encode_term_conditions(rows: list[Any]) -> bytes:
    """None, if there are none or they are too many: then the tracer alone decides."""
    if not rows:
        return b""
    term = etf.encode([
        (name.encode(), module.encode(), function.encode(), [
            [(list(path), _OPERATIONS[operation], constant) for path, operation, constant in conditions]
            for conditions in alternatives
        ])
        for name, module, function, alternatives in rows
    ])  # fmt: skip
    size = struct.calcsize(_HEAD) + len(term)
    return struct.pack(_HEAD, size, _VERSION, _ROOT, 0) + term if size <= _MOST else b""
