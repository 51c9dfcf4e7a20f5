# mypy: ignore-errors
"""How large a program may be: what its texts cost the compiler, counted while it is compiled.

In: tokens, probe descriptions and copies of definitions, as the passes meet them.  Out: CompileError at the place where one is too many.
Always: all texts of a program count together; the limits are far above what a script needs, and bound a compilation to seconds.
"""

from __future__ import annotations

from .compile_errors import CompileError

TYPE_CHECKING = False  # of typing, which the compiler does not import
if TYPE_CHECKING:
    from .front.source_text import Location

MOST_BYTES = 4 << 20  # of a text, the preprocessor's as well
MOST_TOKENS = 1 << 17
MOST_DESCRIPTIONS = 4096  # as a session has them, PYUSDT_WANTS_MAX
MOST_COPIES = 1 << 17  # nodes of inlines and translators that are put where they are used
MOST_LEVELS = 150  # of such copies, as codegen has for an expression
MOST_CODE, MOST_PROGRAM = 1 << 16, 1 << 20  # instructions of a clause, PYUSDT_VM_INSNS, and of all
MOST_GLOBALS = 1 << 24  # bytes of the variables that are neither this-> nor in arrays


class Budget:
    """place: what is compiled now, for errors that know no place."""

    __slots__ = ("copies", "descriptions", "instructions", "place", "tokens")

    def __init__(self) -> None:
        self.tokens = self.descriptions = self.copies = self.instructions = 0
        self.place: Location | None = None

    @staticmethod
    def refuse_token(loc: Location) -> None:
        """One that is the first too many."""
        _refuse(loc, f"the program has more than {MOST_TOKENS} words and signs")

    def take_description(self, loc: Location) -> None:
        self.descriptions += 1
        if self.descriptions > MOST_DESCRIPTIONS:
            _refuse(
                loc,
                f"the program has more than {MOST_DESCRIPTIONS} probe descriptions",
                "a pattern stands for many probes: user_trace-n*",
            )

    def take_copy(self, loc: Location, level: int) -> None:
        self.copies += 1
        if self.copies > MOST_COPIES:
            _refuse(
                loc,
                f"the program's inlines and translators are more than {MOST_COPIES} operations where they are used",
                "assign their values to this-> variables",
            )
        if level > MOST_LEVELS:
            _refuse(
                loc, "expression is nested too deeply", "assign parts of it to this-> variables"
            )

    def take_code(self, loc: Location, instructions: int) -> None:
        """Of a clause that is finished."""
        if instructions > MOST_CODE:
            _refuse(
                loc,
                f"clause is too large: more than {MOST_CODE} instructions",
                "divide it into several clauses",
            )
        self.instructions += instructions
        if self.instructions > MOST_PROGRAM:
            _refuse(loc, f"the program has more than {MOST_PROGRAM} instructions")

    def too_deep(self) -> CompileError:
        """Instead of a RecursionError."""
        return CompileError(
            "D_UNSUPPORTED",
            self.place,
            "this is nested too deeply",
            "assign parts of it to this-> variables",
        )


def _refuse(loc: Location, message: str, hint: str | None = None) -> None:
    raise CompileError("D_UNSUPPORTED", loc, message, hint)
