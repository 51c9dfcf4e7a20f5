"""Compile errors: the table of tags, and the text of an error.

- The first line is dtrace's, byte for byte. pyusdt adds the position with its column, the source
  line, an underline and a hint.
- TAGS has every tag that the compiler raises, with dtrace's meaning.
"""

from __future__ import annotations

from pydtrace.untrusted.terminal_escape import decode_source_text

TYPE_CHECKING = False  # of typing, which the compiler does not import
if TYPE_CHECKING:
    from typing import NoReturn

    from .front.source_text import Location, Source

TAGS = {
    "D_UNSUPPORTED": "part of D that pyusdt does not have; dtrace has no such tag",
    "D_PRINT_SIZE": "print() of a value without a size",
    "D_TRACEMEM_ADDR": "tracemem() of a value that is not an address",
    "D_TRACEMEM_SIZE": "tracemem() with an impossible number of bytes",
    "D_STACK_SIZE": "stack() with an impossible number of frames",
    "D_USTACK_FRAMES": "ustack() with an impossible number of frames",
    "D_USTACK_STRSIZE": "ustack() with an impossible size of strings",
    "D_UNKNOWN": "error without a tag of its own",
    "D_PATH_TYPE": "path to a value of a type that its use does not tell; only pyusdt",
    "D_PATH_PROBE": "path to a value at a probe without values; only pyusdt",
    "D_PATH_SECRET": "path to a value with the name of a secret; only pyusdt",
    "D_PATH_WRITE": "path to a value in an assignment or behind &; only pyusdt",
    "D_PATH_NAME": "path to a variable that the traced functions do not have; only pyusdt",
    "D_PATH_REPLAY": "path to a value that the recording does not have; only pyusdt",
    "D_PATH_MANY": "more paths to values than a session reads; only pyusdt",
    "D_SYNTAX": "the text is not D",
    "D_EMPTY": "the script has no clause",
    "D_PROC_NAME": "pid probe at a name that is not an address",
    "D_PROC_BADPID": "pid probe of an impossible process id",
    "D_PROC_FUNC": "pid probe of an unknown function",
    "D_PROC_OFF": "pid probe at an offset that the function does not have",
    "D_PROC_LIB": "pid probe at an address of a library",
    "D_PDESC_INVAL": "impossible probe description",
    "D_PDESC_ZERO": "probe description that no probe matches",
    "D_PRED_SCALAR": "predicate that is neither integer nor pointer",
    "D_FUNC_IDENT": "the called expression is not a name",
    "D_FUNC_UNDEF": "no function has this name",
    "D_FUNC_IDKIND": "the called name is not a function",
    "D_ARR_BOUNDS": "constant index outside of an array",
    "D_DEREF_VOID": "a void pointer cannot be dereferenced",
    "D_DEREF_FUNC": "a function pointer cannot be dereferenced",
    "D_ADDROF_BITFIELD": "a bit-field has no address",
    "D_SIZEOF_BITFIELD": "a bit-field has no size",
    "D_OFFSETOF_TYPE": "offsetof of a type that is not a struct or union",
    "D_OFFSETOF_BITFIELD": "a bit-field has no offset",
    "D_STRINGOF_TYPE": "stringof of a value that is neither a number nor a pointer",
    "D_TYPE_MEMBER": "struct or union has no such member",
    "D_OP_ARRFUN": "an array cannot be assigned",
    "D_OP_INCOMPLETE": "struct or union whose members are unknown",
    "D_XLATE_REDECL": "translator declared twice",
    "D_XLATE_NOCONV": "the translator does not define this member",
    "D_XLATE_NONE": "no translator for these types",
    "D_XLATE_SOU": "a translator makes a struct or union",
    "D_XLATE_INCOMPAT": "translator's expression does not fit its member",
    "D_XLATE_MEMB": "translator's output has no such member",
    "D_DECL_ARRBIG": "array dimension does not fit in 32 bits",
    "D_DECL_TYPERED": "struct, union or enumeration defined twice",
    "D_DECL_BFCONST": "bit-field's width must be a positive constant",
    "D_DECL_BFSIZE": "bit-field wider than its type",
    "D_DECL_BFTYPE": "bit-field of a type that is not an integer",
    "D_DECL_ENCONST": "enumerator must be a constant",
    "D_DECL_ENOFLOW": "enumerator does not fit in an int",
    "D_DECL_DYNOBJ": "associative array where a plain object is needed",
    "D_DECL_INCOMPLETE": "object of a type whose members are unknown",
    "D_DECL_PROTO_VOID": "void together with other parameters",
    "D_DECL_PROTO_NAME": "parameter that must, or must not, have a name",
    "D_DECL_PROTO_FORM": "parameter's name is not among, or twice among, the parameters",
    "D_PROV_BADNAME": "impossible name of a provider or probe",
    "D_PROV_PRXLATOR": "no translator from a probe's input to its output",
    "D_PROV_PRARGLEN": "probe with too many arguments",
    "D_PROV_PRDUP": "probe declared twice",
    "D_SIZEOF_TYPE": "sizeof of something without a size",
    "D_OP_INT": "operand must be an integer",
    "D_OP_SCALAR": "operand must be an integer or a pointer",
    "D_OP_ARITH": "operand must be a number",
    "D_OP_WRITE": "operand must be a writable variable",
    "D_OP_LVAL": "operand must be something that can be assigned to",
    "D_OP_INCOMPAT": "operand types do not fit together",
    "D_OP_VFPTR": "operand has no known size",
    "D_OP_PTR": "operand must be a pointer",
    "D_OP_SOU": "operand must be a struct or union",
    "D_OP_DYN": "operand cannot be an aggregation or a whole array",
    "D_OP_ACT": "operand cannot be an action",
    "D_ARGS_NONE": "args[] outside of a clause",
    "D_ARGS_IDX": "the probe has no such argument",
    "D_REGS_IDX": "uregs[] has no such register",
    "D_ARGS_MULTI": "the clause's probes have different arguments here",
    "D_ARGS_NAME": "the probe has no argument with this name",
    "D_ALLOCA_INCOMPAT": "pointers to memory of alloca() and to other memory in one variable",
    "D_ALLOCA_SIZE": "more memory than the scratchsize option gives",
    "D_AGG_REDEF": "aggregation already has another aggregating function",
    "D_AGG_FUNC": "aggregation must be assigned an aggregating function",
    "D_AGG_MDIM": "aggregation indexed twice",
    "D_ARR_BADREF": "several keys for something that is not an associative array",
    "D_ARR_LOCAL": "this-> variables cannot be associative arrays",
    "D_DIV_ZERO": "division by the constant zero",
    "D_DEREF_NONPTR": "only a pointer can be dereferenced",
    "D_ADDROF_LVAL": "& needs something that has an address",
    "D_ADDROF_VAR": "D variables have no address",
    "D_CAST_INVAL": "impossible cast",
    "D_PRAGERR": "#error or #pragma error",
    "D_PRAGCTL_INVAL": "unknown control line",
    "D_PRAGMA_INVAL": "unknown #pragma D",
    "D_PRAGMA_MALFORM": "control line with wrong arguments",
    "D_PRAGMA_OPTSET": "unknown option, or an impossible value",
    "D_PRAGMA_UNUSED": "#pragma D attributes or binding of a name that nothing defines",
    "D_PRAGMA_SCOPE": "#pragma D attributes or binding of a name that is not the program's",
    "D_PRAGMA_DEPEND": "#pragma D depends_on of something that does not exist",
    "D_MACRO_UNDEF": "macro variable or argument that is not defined",
    "D_MACRO_OFLOW": "macro argument is too large an integer",
    "D_MACRO_UNUSED": "argument of the command line that the program does not use",
    "D_INT_OFLOW": "integer constant is too large",
    "D_INT_DIGIT": "digit that does not exist in this base",
    "D_STR_NL": "string that is not closed on its line",
    "D_CHR_NL": "character constant that is not closed on its line",
    "D_CHR_NULL": "character constant without a character",
    "D_CHR_OFLOW": "character constant of more than eight characters",
    "D_IDENT_BADREF": "name used as something that it is not",
    "D_IDENT_UNDEF": "unknown name",
    "D_VAR_UNDEF": "variable read before anything is assigned to it",
    "D_PROTO_LEN": "wrong number of arguments or keys",
    "D_PROTO_ARG": "argument or key of a wrong type",
    "D_KEY_TYPE": "type that cannot be a key",
    "D_PRINTF_DYN_PROTO": "argument for a * of the format is missing",
    "D_PRINTF_DYN_TYPE": "argument for a * of the format is not an integer",
    "D_PRINTF_AGG_CONV": "%@ belongs to printa()",
    "D_PRINTF_ARG_PROTO": "argument for a conversion is missing",
    "D_PRINTF_ARG_TYPE": "argument does not fit its conversion",
    "D_PRINTF_ARG_EXTRA": "more arguments than conversions",
    "D_PRINTF_ARG_FMT": "format must be a string constant",
    "D_PRINTF_FMT_EMPTY": "format is empty",
    "D_DECL_CHARATTR": "short or long char",
    "D_DECL_VOIDATTR": "signed, short or long void",
    "D_DECL_SIGNINT": "signed or unsigned with a type that is not an integer",
    "D_DECL_LONGINT": "long with a type that is not a number",
    "D_DECL_CLASS": "more than one storage class",
    "D_DECL_BADCLASS": "storage class that D does not have",
    "D_DECL_PARMCLASS": "storage class among the keys of an associative array",
    "D_DECL_COMBO": "two types in one declaration",
    "D_DECL_ARRSUB": "array dimension must be a positive constant or a tuple of types",
    "D_DECL_ARRNULL": "array declared without dimension or tuple",
    "D_DECL_IDRED": "name declared twice, or already used by D",
    "D_DECL_SCOPE": "` in a name that is declared",
    "D_DECL_USELESS": "declaration that declares nothing",
    "D_DECL_LOCASSC": "this-> variables cannot be associative arrays",
    "D_DECL_VOIDOBJ": "object of type void",
    "D_DECL_PROTO_VARARGS": "... among the keys of an associative array",
    "D_DECL_PROTO_TYPE": "type that cannot be a key of an associative array",
    "D_AGG_NULL": "aggregation without an aggregating function",
    "D_AGG_SCALAR": "aggregating function of a value that is not a number",
    "D_TRACE_VOID": "trace() without a value",
    "D_TRACE_DYN": "trace() of an aggregation or a whole array",
    "D_LQUANT_BASETYPE": "lquantize's lower bound must be an integer constant",
    "D_LQUANT_BASEVAL": "lquantize's lower bound does not fit in 32 bits",
    "D_LQUANT_LIMTYPE": "lquantize's upper bound must be an integer constant",
    "D_LQUANT_LIMVAL": "lquantize's upper bound does not fit in 32 bits",
    "D_LQUANT_MISMATCH": "lquantize's bounds are in the wrong order",
    "D_LQUANT_STEPTYPE": "lquantize's step must be a positive integer constant",
    "D_LQUANT_STEPVAL": "lquantize's step does not fit in 16 bits",
    "D_LQUANT_STEPLARGE": "lquantize's step is greater than its range",
    "D_LQUANT_STEPSMALL": "lquantize with too many steps",
    "D_LQUANT_MATCHBASE": "lquantize with another lower bound than before",
    "D_LQUANT_MATCHLIM": "lquantize with another upper bound than before",
    "D_LQUANT_MATCHSTEP": "lquantize with another step than before",
    "D_LLQUANT_FACTORTYPE": "llquantize's factor must be an integer constant",
    "D_LLQUANT_FACTORVAL": "llquantize's factor must be from 2 to 65535",
    "D_LLQUANT_LMAGTYPE": "llquantize's low magnitude must be an integer constant",
    "D_LLQUANT_LMAGVAL": "llquantize's low magnitude does not fit in 16 bits",
    "D_LLQUANT_HMAGTYPE": "llquantize's high magnitude must be an integer constant",
    "D_LLQUANT_HMAGVAL": "impossible high magnitude of llquantize",
    "D_LLQUANT_STEPTYPE": "llquantize's steps must be a positive integer constant",
    "D_LLQUANT_STEPVAL": "llquantize's steps do not divide its factor evenly",
    "D_LLQUANT_MATCHFACTOR": "llquantize with another factor than before",
    "D_LLQUANT_MATCHLMAG": "llquantize with another low magnitude than before",
    "D_LLQUANT_MATCHHMAG": "llquantize with another high magnitude than before",
    "D_LLQUANT_MATCHSTEPS": "llquantize with other steps than before",
    "D_PRINTA_PROTO": "printa() without an aggregation",
    "D_PRINTA_AGGARG": "printa() of something that is not an aggregation",
    "D_PRINTA_AGGKEY": "printa() of aggregations with different numbers of keys",
    "D_PRINTA_AGGPROTO": "printa() of aggregations with keys of different types",
    "D_CLEAR_AGGARG": "clear() of something that is not an aggregation",
    "D_TRUNC_AGGARG": "trunc() of something that is not an aggregation",
    "D_NORMALIZE_AGGARG": "normalize() of something that is not an aggregation",
    "D_FREOPEN_INVALID": "freopen() of a folder",
    "D_ACT_SPEC": "destructive action after speculate()",
    "D_AGG_SPEC": "aggregation after speculate()",
    "D_AGG_COMM": "aggregation after commit()",
    "D_COMM_DREC": "commit() after an action that records data",
    "D_DREC_COMM": "action that records data after commit()",
    "D_EXIT_SPEC": "exit() after speculate()",
    "D_SPEC_SPEC": "speculate() after speculate()",
    "D_SPEC_COMM": "speculate() after commit()",
    "D_SPEC_DREC": "speculate() after an action that records data",
    "D_CG_DYN": "translation whose result is not used",
    "D_CG_EXPR": "action or aggregating function inside an expression",
}


class CompileError(Exception):
    """A script that cannot be compiled.

    - tag: its kind, a key of TAGS; loc: the location of the error; message: dtrace's message, which may have several lines.
    - hint: advice from pyusdt, or None.
    - region: "action list" or "predicate" if dtrace names it, as it does for clauses of the command line, which have no line numbers;
      "" if it does not, None while that is not known.
    - mark: the offset whose line dtrace reports.
    """

    def __init__(
        self,
        tag: str,
        loc: Location,
        message: str,
        hint: str | None = None,
        region: str | None = None,
        mark: int | None = None,
    ) -> None:
        super().__init__(tag, loc, message, hint, region, mark)  # what pickle makes another one of
        self.tag, self.loc, self.message = tag, loc, message
        self.hint, self.region = hint, region
        self.program_source: Source | None = (
            None  # Source of the program, where the culprit is a library that was read for it
        )
        if mark is None:
            mark = loc.start if tag == "D_UNSUPPORTED" else loc.mark
        self.mark = mark

    def summary(self, errtags: bool = False, width: int | None = None) -> str:
        """Return the line that dtrace prints, without `dtrace: `.

        errtags adds the tag; width: characters of a clause of the command line, which dtrace prints whole."""
        source = self.loc.source
        text = f"[{self.tag}] " if errtags else ""
        file, line, _ = source.find_position(self.mark)
        if self.program_source is not None:
            text += f'"{file or source.name}", line {line}: '
            source = self.program_source
        elif file is not None:
            text += f'"{file}", line {line if source.name is not None else 0}: '
        elif source.name is not None:
            text += f"line {line}: "
        elif self.region:
            text += f"in {self.region}: "
        text += self.message
        if source.name is None:
            clause = decode_source_text(source.text)
            if width is not None and len(clause) > width:
                clause = f"{clause[: width - 1]}…"
            return f"invalid {source.kind} {clause}: {text}"
        return f"failed to compile {source.kind} {source.name}: {text}"

    def render(
        self, errtags: bool = False, program: str = "dtrace", width: int | None = None
    ) -> str:
        """Return the whole text for the user, without a last newline."""
        return "\n".join([f"{program}: {self.summary(errtags, width)}", *self._source_lines()])

    def __str__(self) -> str:
        """For a traceback: what, where, and the hint."""
        return "\n".join([self.message, *self._source_lines()])

    def _source_lines(self) -> list[str]:
        """The lines that dtrace does not have."""
        source, loc = self.loc.source, self.loc
        lines = [f"{loc}: [{self.tag}]"]
        text = source.line_text(loc.start)
        if text.strip():
            lines += underline(text, loc.column - 1, loc.end - loc.start)
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return lines


def refuse(tag: str, loc: Location, message: str, hint: str | None = None) -> NoReturn:
    """Refuse a program: see CompileError."""
    raise CompileError(tag, loc, message, hint)


def refuse_unsupported(loc: Location, what: str, hint: str | None = None) -> NoReturn:
    """Refuse a part of D; `what` ends in its verb."""
    refuse("D_UNSUPPORTED", loc, f"{what} not supported", hint)


class LibraryError(Exception):
    """Libraries that can not be put in order; the message is dtrace's, after the program's name."""


class GenerationError(Exception):
    """A limit that an option sets; as dtrace says it, without a place."""


class PreprocessError(Exception):
    """The preprocessor could not do its work; the message is dtrace's, after the script's name."""


_LINE_MAX = 2000  # characters of a line


def underline(text: str, column: int, length: int) -> list[str]:
    """A source line and the line under it that marks `length` characters from `column`; of a line without end the part around it."""
    if len(text) > _LINE_MAX:
        first = max(0, min(column - _LINE_MAX // 2, len(text) - _LINE_MAX))
        text, column = text[first : first + _LINE_MAX], column - first
    length = max(1, min(length, len(text) - column))
    before, marked = (
        decode_source_text(text[:column]),
        decode_source_text(text[column : column + length]),
    )
    blank = "".join("\t" if c == "\t" else " " for c in before)
    return [f"    {decode_source_text(text)}", f"    {blank}{'^' * max(1, len(marked))}"]
