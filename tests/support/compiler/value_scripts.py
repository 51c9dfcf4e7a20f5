"""D programs that read values: descriptions that have values, and their compiled form."""

from __future__ import annotations

from pydtrace.dlang.compile import Compiler
from pydtrace.options import Options

ENTRY, RETURN = "python$target::f:function-entry", "python$target::f:function-return"


def compiled(text: str, **options: object):
    made = Options()
    for name, value in options.items():
        made.set(name, value)
    compiler = Compiler(made)
    compiler.compile_text(text)
    return compiler.generate_program()
