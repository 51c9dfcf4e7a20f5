"""The pass manager and the driver."""

import os
import subprocess
import sys
import time

import pytest

from pydtrace.dlang.compile import DUMP_STAGES, Compiler, compile_program, dump_stage
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.dlang.pass_manager import PassError, PassList, front_end


def test_a_pass_gets_what_it_needs_and_nothing_else():
    passes = PassList(("a", "b")).add_pass("sum", ("a", "b"), "c", lambda a, b: a + b)
    passes.add_pass("double", ("c",), "d", lambda c: 2 * c)
    assert passes.run({"a": 1, "b": 2}) == 6
    assert passes.up_to("sum").run({"a": 1, "b": 2}) == 3


def test_what_is_missing_is_found_at_registration():
    passes = PassList(("a",))
    with pytest.raises(PassError, match="pass p needs b, which no pass before it makes"):
        passes.add_pass("p", ("a", "b"), "c", None)
    with pytest.raises(PassError, match="makes a, which is there already"):
        passes.add_pass("p", ("a",), "a", None)
    with pytest.raises(PassError, match="no value for a"):
        passes.run({})
    with pytest.raises(
        PassError, match="the passes are preprocess, libraries, parse, types, lower"
    ):
        front_end().up_to("nosuch")


def test_texts_share_variables_but_not_clause_local_ones():
    compiler = Compiler()
    compiler.compile_text("BEGIN { x = 1; this->y = 1; @a[x] = count(); }")
    compiler.compile_text(
        'END { trace(x); this->y = "s"; @a["s"] = count(); }'.replace('@a["s"]', "@a[x]"), "x.d"
    )
    program = compiler.generate_program()
    assert [len(program.clauses), len(program.aggregations)] == [2, 1]
    with pytest.raises(CompileError, match="operands have incompatible types"):
        compiler.compile_text('END { x = "s"; }')


def test_pragmas_set_the_options_of_the_program():
    program = compile_program(
        "#pragma D option strsize=16\n#pragma D option quiet\nBEGIN { s = execname; }"
    )
    assert (program.strsize, program.options["quiet"]) == (16, True)


@pytest.mark.parametrize("stage", DUMP_STAGES)
def test_every_stage_can_be_dumped(stage):
    text = dump_stage(
        stage,
        Compiler(),
        '#pragma D option quiet\nBEGIN /pid/ { x++; @a[x] = count(); printf("%d", x); }',
    )
    expected = {"ast": "IncDec op=++", "types": "Assign op==  <int64_t>", "bpf": "exit"}[stage]
    assert expected in text


def script(clauses):
    """About ten lines a clause, with a bit of everything."""
    body = """
int64_t total{n};
pyusdt$target:::user_trace-n{n}
/arg0 > {n} && copyinstr(arg4) != "skip" /* {n} */ /
{{
	self->start{n} = timestamp;
	total{n} += arg1 * {n} + (arg2 >> 3);
	seen[arg3, copyinstr(arg5)]++;
	@calls[copyinstr(arg4)] = count();
	@latency{n}["read", pid] = quantize(timestamp - self->start{n});
	printf("%d %s %x\\n", total{n}, execname, arg7 ? arg8 : arg9);
}}
"""
    return "".join(body.format(n=n) for n in range(clauses))


def compiling(text):
    """Seconds of CPU time."""
    compiler = Compiler(macros={"target": 1})
    compiler.compile_text("BEGIN { }")  # what is imported on first use
    begin = time.process_time()
    compiler.compile_text(text, "x.d")
    return time.process_time() - begin


def test_ten_times_the_lines_take_little_more_than_ten_times_as_long():
    short, long = script(10), script(100)
    assert long.count("\n") >= 1000
    assert min(compiling(long) for _ in range(3)) < 16 * min(compiling(short) for _ in range(3))


IMPORTED = """
import sys, time
before = set(sys.modules)
begin = time.process_time()
{}
print(time.process_time() - begin, *sorted(set(sys.modules) - before))
"""
COMPILER = """from pydtrace.dlang.compile import Compiler
Compiler(macros={}).compile_text('BEGIN { printf("%d", pid); }')"""


def test_the_compiler_is_imported_and_run_in_less_than_it_takes_to_import_asyncio(tmp_path):
    """CPU time, from bytecode, as it is installed."""
    env = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}

    def run(statements):
        done = subprocess.run(
            [sys.executable, "-c", IMPORTED.format(statements)],
            env=env,
            check=True,
            capture_output=True,
            text=True,
        )
        seconds, *modules = done.stdout.split()
        return float(seconds), modules

    pairs = [(run(COMPILER), run("import asyncio")) for _ in range(6)]
    assert min(ours[0] for ours, _ in pairs) < 0.8 * min(asyncio[0] for _, asyncio in pairs)
    assert not {"dataclasses", "enum", "inspect", "asyncio", "typing", "re"} & set(pairs[0][0][1])
