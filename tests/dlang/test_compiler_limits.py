"""How large a program may be: what is too large is refused at its place, in time and memory that do not depend on it."""

import os
import subprocess
import sys
import textwrap
import time

import pytest

from pydtrace.dlang import compiler_limits
from pydtrace.dlang.compile import compile_program
from pydtrace.dlang.compile_errors import CompileError, PreprocessError
from pydtrace.dlang.front import preprocess
from pydtrace.options import Options
from tests.support.paths import ROOT


def doubled(first: str, each: str, last: str, count: int = 40) -> str:
    """A text whose definitions N use the one before them twice."""
    return "".join(
        [first, *(each.format(i=i, j=i - 1) for i in range(1, count)), last.format(i=count - 1)]
    )


COPIES = f"the program's inlines and translators are more than {compiler_limits.COPIES_MAX} operations where they are used"
CODE = f"clause is too large: more than {compiler_limits.CLAUSE_CODE_MAX} instructions"
DEEP = "nested too deeply"
LARGE = {
    "inlines": (doubled("inline int x0 = pid;\n", "inline int x{i} = x{j} + x{j};\n", "BEGIN {{ trace(x{i}); }}"), COPIES, 16),
    "inlines with keys": (doubled("inline int f0[int a] = a + a;\n", "inline int f{i}[int a] = f{j}[a] + f{j}[a];\n", "BEGIN {{ trace(f{i}[pid]); }}"), COPIES, 15),
    "an inline in its keys": (f"inline int f[int a] = a + a;\nBEGIN {{ trace({'f[' * 30}pid{']' * 30}); }}", COPIES, 2),
    "inlines of strings": (doubled("inline string x0 = execname;\n", "inline string x{i} = strjoin(x{j}, x{j});\n", "BEGIN {{ trace(x{i}); }}"), COPIES, 17),
    "translators": (doubled("struct s {{ int a; }};\nstruct t0 {{ int a; }}; translator struct t0 < struct s *T > {{ a = T->a; }};\n".replace("{{", "{").replace("}}", "}"),
                            "struct t{i} {{ int a; }}; translator struct t{i} < struct s *T > {{ a = xlate<struct t{j} *>(T)->a + xlate<struct t{j} *>(T)->a; }};\n",
                            "BEGIN {{ trace(xlate<struct t{i} *>((struct s *)0)->a); }}"), COPIES, None),
    "inlines one in another": (doubled("inline int x0 = pid;\n", "inline int x{i} = x{j} + 1;\n", "BEGIN {{ trace(x{i}); }}", 5000), DEEP, None),
    "parentheses": (f"BEGIN {{ trace({'(' * 100000}1{')' * 100000}); }}", "150 levels of nesting", 1),
    "signs": (f"BEGIN {{ trace({'!' * 100000}pid); }}", "nesting", 1),
    "pointers": (f"int {'*' * 100000}p; BEGIN {{ }}", "", 1),
    "an array": ("int a[2147483647];\nBEGIN { a[0] = 1; }", "bytes, more than", 1),
    "elements": ("struct s { char a[2147483647]; };\nself struct s x;\nBEGIN { self->x.a[0] = 1; }", "more than", None),
    "sums": (f"BEGIN {{ trace({'pid+' * 100000}1); }}", "", 1),
    "an expression of many parts": (f"BEGIN {{ trace(({'pid,' * 30000}1)); }}", CODE, 1),
    "a clause": (f"BEGIN {{ {'x=pid;' * 12000} }}", CODE, 1),
    "clauses": ("BEGIN { @ = count(); }\n" * 4200, f"more than {compiler_limits.DESCRIPTIONS_MAX} probe descriptions", compiler_limits.DESCRIPTIONS_MAX + 1),
    "descriptions": (",".join("user_trace-n*" for _ in range(5000)) + " { @ = count(); }", "probe descriptions", 1),
    "enumerators": ("enum e { " + ",".join(f"E{i}" for i in range(70000)) + " };\nBEGIN { }", f"more than {compiler_limits.TOKENS_MAX} words and signs", 1),
    "probes": ("provider p { " + "".join(f"probe p{i}(int, int);" for i in range(20000)) + " };\nBEGIN { }", "words and signs", 1),
    "bytes": (" " * (compiler_limits.TEXT_BYTES_MAX + 1) + "BEGIN { }", "a text of 4194314 bytes, more than 4194304, is not supported", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_what_is_too_large(name):
    text, message, line = LARGE[name]
    with pytest.raises(CompileError) as caught:
        compile_program(text, "large.d")
    assert message in str(caught.value) and len(str(caught.value)) < 9000 + len(
        caught.value.message
    )
    assert line is None or caught.value.loc.line == line, str(caught.value)


def test_in_little_memory():
    """One by one in a process that has few of it; the time of the processor is bounded, too, generously."""
    code = f"""
        import resource, sys
        sys.path[:0] = [{ROOT!r}]
        resource.setrlimit(resource.RLIMIT_DATA, (192 << 20, 192 << 20))
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        from tests.dlang import test_compiler_limits
        for name in ("inlines", "inlines with keys", "translators", "an array", "pointers"):
            test_compiler_limits.test_what_is_too_large(name)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done


def test_what_a_script_needs_is_not_too_large():
    """Thirty inlines that use each other, a hundred clauses."""
    text = "".join(f"inline int x{i} = {f'x{i - 1}' if i else 'pid'} + 1;\n" for i in range(30))
    program = compile_program(
        text + "".join(f"user_trace-n{i} {{ @[x29] = count(); }}\n" for i in range(100))
    )
    assert len(program.clauses) == 100


def test_types_of_types():
    """Of so many levels that what goes through them would need more of the stack than there is."""
    text = doubled("typedef int t0;\n", "typedef t{j} *t{i};\n", "t{i} p; BEGIN {{ p = 0; }}", 9000)
    assert compile_program(text).clauses
    with pytest.raises(CompileError):
        compile_program(text.replace("p = 0", "p = execname"))


def test_the_limits_are_of_all_texts():
    from pydtrace.dlang.compile import Compiler

    compiler = Compiler()
    with pytest.raises(CompileError, match="probe descriptions"):
        for _ in range(100):
            compiler.compile_text("BEGIN { }\n" * 100)


@pytest.mark.parametrize(
    ("text", "patience", "message"),
    [
        (
            b"".join(
                [
                    b"#define A0 x\n",
                    *(
                        f"#define A{i} A{i - 1} A{i - 1} A{i - 1} A{i - 1}\n".encode()
                        for i in range(1, 20)
                    ),
                    b"BEGIN { A19; }",
                ]
            ),
            60,
            "Preprocessor (made more than|failed)",
        ),
        (
            b"".join(
                [
                    b"#define A0 1\n",
                    *(f"#define A{i} (A{i - 1} + A{i - 1})\n".encode() for i in range(1, 40)),
                    b"#if A39\n#endif\nBEGIN { }",
                ]
            ),
            2,
            "Preprocessor (did not end|failed)",
        ),
    ],
    ids=["bytes", "memory or time"],
)
def test_the_preprocessor(text, patience, message, monkeypatch):
    """Texts that become larger than there is room for, that take all memory or time.  Nothing that cpp has started is left."""
    mark = f"PYUSDT_TEST_MARK={os.getpid()}-{time.monotonic_ns()}"
    monkeypatch.setenv(*mark.split("="))
    monkeypatch.setattr(preprocess, "_TIMEOUT_S", patience)
    monkeypatch.setattr(preprocess, "_MEMORY_MAX", 256 << 20)
    with pytest.raises(PreprocessError, match=message):
        preprocess.run_preprocessor(text, Options())
    deadline = time.monotonic() + 30
    while (
        left := marked(mark)
    ) and time.monotonic() < deadline:  # what was killed takes a moment to end
        time.sleep(0.01)
    assert not left


def marked(mark):
    """The other processes that have this in their environment."""
    found = []
    for pid in {int(name) for name in os.listdir("/proc") if name.isdigit()} - {os.getpid()}:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark.encode() in file.read().split(b"\0"):
                    found.append(pid)
        except OSError:
            continue
    return found


def test_a_preprocessor_still_works():
    assert b"BEGIN { trace(3); }" in preprocess.run_preprocessor(
        b"#!/usr/bin/dtrace\n#define X 3\nBEGIN { trace(X); }\n", Options()
    )
