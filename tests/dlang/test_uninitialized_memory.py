"""Nothing of an earlier firing is seen by a later one: a program does the same whatever lies in the memory that it has not
written itself.  Each runs twice, the second time with noise there before each clause."""

import collections
import random

import pytest

from pydtrace.dlang.compile import compile_program
from pydtrace.options import Options
from pydtrace.program import program as p
from tests.support.compiler.bpf_machine import Machine
from tests.support.compiler.recorded_cases import SCRIPTS, id_of
from tests.support.random_programs.random_clauses import Generator
from tests.support.random_programs.random_types import ARGUMENTS

# A line for each place that keeps something from one firing to the next, or looks as if it did.
KINDS = {
    "memory of alloca()": "this->p = (char *)alloca(16); trace(this->p[3]); tracemem(this->p, 16); @[this->p[8]] = count()",
    "alloca() that is not filled": 'this->p = alloca(24); bcopy("abc", this->p, 4); tracemem(this->p, 24)',
    "the rest of copyin()'s last word": "this->p = (char *)copyin(arg0, 3); trace(this->p[5])",
    "strings of alloca()'s memory": "this->p = alloca(32); trace(stringof(this->p)); @[stringof(this->p)] = count()",
    "the user's stack": "@[ustack()] = count(); trace(ustackdepth); ustack(3); @b[ustack(3), jstack()] = count()",
    "the kernel's stack": "@[stack()] = count(); trace(stackdepth); stack(3); @b[stack(2)] = count()",
    "strtok()'s string": 'trace(strtok(0, " ") == 0); trace(strtok("a b", " "))',
    "this-> variables": "this int i; this string s; BEGIN { trace(this->i); trace(this->s == 0); this->i = 7; this->s = probename }",
    "strings' tails": '@[copyinstr(arg0), strjoin("a", copyinstr(arg0)), substr("abcdef", 1, 2)] = count()',
    "strings of helpers": "@[basename(copyinstr(arg0)), cleanpath(copyinstr(arg0)), inet_ntoa6(0), lltostr(12)] = count()",
    "keys' gaps": "@[(char)1, arg1, (short)2] = count(); a[(char)1, (int)2] = 3; trace(a[(char)1, (int)2])",
    "what is reached only sometimes": 'this->s = arg1 ? "yes" : "no, not yet"; trace(this->s); @[arg1 && arg0] = count()',
    "a speculation": "BEGIN { this->n = speculation(); speculate(this->n); trace(arg1) } BEGIN { commit(this->n) }",
    "faults": "trace(*(int *)0)",
    "distributions": "@q[arg1] = quantize(arg1); @l = llquantize(arg1, 10, 0, 6, 20); @s = stddev(arg1)",
    "structs that are larger than what is zero": """
        struct large { char text[400]; int last; } a[int], b[int];
        BEGIN { a[1].last = 3; b[1] = a[1]; @[b[1].text[399], b[1].last] = count(); trace(a[2].text[1]) }""",
    "a translated struct": """
        struct large { char text[400]; int one; int two; } a[int];
        translator struct large < int n > { one = n; };
        BEGIN { a[1] = xlate < struct large > ((int)arg1); trace(a[1].two) }""",
}


def outcome(program, noise):
    """All that a program leaves behind."""
    machine = Machine(program)
    for argument in (0, 5):
        machine.fire([], args=(b"/one/../two", argument), names=("dtrace", "", "", "BEGIN"))
        for clause in program.clauses:
            if noise:
                machine.disturb()
            machine.run(clause.index)
    maps = [
        machine.map_bytes(index)
        for index in range(1, len(program.maps))
        if program.maps[index].kind != "ringbuf"
    ]
    return machine.records, maps


def is_the_same(text, *arguments):
    program = compile_program(text, "script.d", Options(), {"target": 1}, ["script.d", *arguments])
    assert program.maps[p.MAP_STATE].value_size > program.this_area[0]
    assert outcome(program, True) == outcome(program, False)


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
def test_of_each_kind(text):
    is_the_same(text if "BEGIN" in text else f"BEGIN {{ {text}; }}")


@pytest.mark.parametrize("path", SCRIPTS, ids=id_of)
def test_of_the_recorded_cases(path):
    with open(path, encoding="utf-8") as file:
        is_the_same(file.read())


@pytest.mark.parametrize("kind", ["numbers", "strings", "events"])
def test_of_random_programs(kind):
    for seed in range(3):
        rng = random.Random(seed)
        is_the_same(
            Generator(rng, collections.Counter(), kind == "events", True, kind == "numbers")
            .program(30)
            .text(),
            *ARGUMENTS,
        )
