"""Limits of a program's size, counted while it is compiled.

- All texts of a program count together.
- The limits are far above the needs of a script; they bound a compilation to seconds.
"""

from __future__ import annotations

from .compile_errors import CompileError

TYPE_CHECKING = False  # of typing, which the compiler does not import
if TYPE_CHECKING:
    from .front.source_text import Location

TEXT_BYTES_MAX = 4 << 20  # of a text, the preprocessor's as well
TOKENS_MAX = 1 << 17
DESCRIPTIONS_MAX = 4096  # as a session has them, PYUSDT_WANTS_MAX
COPIES_MAX = 1 << 17  # nodes of inlines and translators that are put where they are used
COPY_LEVELS_MAX = 150  # of such copies, as codegen has for an expression
CLAUSE_CODE_MAX, PROGRAM_CODE_MAX = (
    1 << 16,
    1 << 20,
)  # instructions of a clause, PYUSDT_VM_INSNS, and of all
GLOBALS_BYTES_MAX = 1 << 24  # bytes of the variables that are neither this-> nor in arrays


class SizeLimits:
    """place: what is compiled now, for errors that know no place."""

    __slots__ = ("copies", "descriptions", "instructions", "location", "tokens")

    def __init__(self) -> None:
        self.tokens = self.descriptions = self.copies = self.instructions = 0
        self.location: Location | None = None

    @staticmethod
    def refuse_token(loc: Location) -> None:
        """One that is the first too many."""
        _refuse_size(loc, f"the program has more than {TOKENS_MAX} words and signs")

    def count_description(self, loc: Location) -> None:
        self.descriptions += 1
        if self.descriptions > DESCRIPTIONS_MAX:
            _refuse_size(
                loc,
                f"the program has more than {DESCRIPTIONS_MAX} probe descriptions",
                "a pattern names many probes: user_trace-n*",
            )

    def count_copy(self, loc: Location, level: int) -> None:
        self.copies += 1
        if self.copies > COPIES_MAX:
            _refuse_size(
                loc,
                f"the program's inlines and translators are more than {COPIES_MAX} operations where they are used",
                "assign their values to this-> variables",
            )
        if level > COPY_LEVELS_MAX:
            _refuse_size(
                loc, "expression is nested too deeply", "assign parts of it to this-> variables"
            )

    def count_code(self, loc: Location, instructions: int) -> None:
        """Of a clause that is finished."""
        if instructions > CLAUSE_CODE_MAX:
            _refuse_size(
                loc,
                f"clause is too large: more than {CLAUSE_CODE_MAX} instructions",
                "divide it into several clauses",
            )
        self.instructions += instructions
        if self.instructions > PROGRAM_CODE_MAX:
            _refuse_size(loc, f"the program has more than {PROGRAM_CODE_MAX} instructions")

    def nesting_error(self) -> CompileError:
        """Instead of a RecursionError, where `location` is known."""
        assert self.location
        return CompileError(
            "D_UNSUPPORTED",
            self.location,
            "this is nested too deeply",
            "assign parts of it to this-> variables",
        )


def _refuse_size(loc: Location, message: str, hint: str | None = None) -> None:
    raise CompileError("D_UNSUPPORTED", loc, message, hint)
