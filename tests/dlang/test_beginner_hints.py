"""The mistakes that beginners make most: each gets a hint that names the way out.

The list: what the forums, mailing lists and guides of DTrace answer again and again (strings that are addresses, single quotes,
loops and if, = for ==, aggregations read as variables, declarations in a clause, #! and cpp), and what other languages' habits
give (true, null, sprintf, += of strings).
"""

import os

import pytest

from pydtrace.dlang.compile import compile_program
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.engine.probe_hints import explain_unmatched

MISTAKES = [
    ('BEGIN { printf("%s\\n", arg0); }', "copyinstr(arg)"),
    ('BEGIN /arg0 == "GET"/ { }', "copyinstr(arg)"),
    ("BEGIN /execname == 'bash'/ { }", "double quotes"),
    ("BEGIN { printf('hello world'); }", "double quotes"),
    ("BEGIN /execname == bash/ { }", 'double quotes: "bash"'),
    ("BEGIN { x = 1 y = 2; }", "expected ; after the statement"),
    ("BEGIN { trace(1);", "a { is not closed"),
    ('BEGIN { printf("unclosed); }', 'no closing "'),
    ('BEGIN { printf("%d" pid); }', "expected , or )"),
    ("BEGIN { for (i = 0; i < 3; i++) trace(i); }", "no loops"),
    ("BEGIN { while (1) { } }", "no loops"),
    ("BEGIN /pid = 3/ { }", "== compares"),
    ("BEGIN /pid == 1 and uid == 0/ { }", "&&"),
    ("BEGIN { trace(arg12); }", "arg0 … arg9"),
    ("BEGIN { trace(timestmap); }", "did you mean timestamp?"),
    ("BEGIN { @a[pid] = arg0; }", "count(), sum(x), quantize(x)"),
    ("profile-99 { @[kstack] = count(); }", "stack()"),
    ("profile-99 { @[kstack(5)] = count(); }", "stack()"),
    ("BEGIN { trace(elapsed); }", "timestamp"),
    ("uprobe:/bin/bash:readline { @ = count(); }", "pid$target:libc.so.6"),
    ("BEGIN { x = 1; } usdt:/usr/bin/python3:function__entry { }", "provider$target:::name"),
    ("BEGIN { @a[pid]++; }", "@name = count()"),
    ("BEGIN { count(); }", "@name = count("),
    ("BEGIN { a = count(); }", "begins with @"),
    ("BEGIN { @a = count(); printa(a); }", "@a"),
    ("BEGIN { @ = quantize(execname); }", "@[s] = count()"),
    ('BEGIN { s = execname + "x"; }', "strjoin(a, b)"),
    ('BEGIN { trace("%d", pid); }', "printf("),
    ("BEGIN { s = copyinstr(execname); }", "a string already"),
    ("BEGIN { x = 1.5; }", "integers"),
    ("BEGIN { exit; }", "exit(…)"),
    ("BEGIN { exit 0; }", "exit(…)"),
    ("BEGIN { exit(); }", "exit(int)"),
    ("int x = 3; BEGIN { }", "gets its value in a clause"),
    ("BEGIN { int x; x = 1; }", "declared outside"),
    ("BEGIN { x = true; }", "1 and 0"),
    ("BEGIN { x = null; }", "NULL"),
    ("BEGIN { trace(1) }; END { }", "remove the ; behind the clause"),
    ("BEGIN {{ trace(1); }}", "one pair of { }"),
    ('BEGIN { strcpy(x, "a"); }', "assigned with ="),
    ('BEGIN { s = "a"; s = 1; }', "lltostr(number)"),
    ("BEGIN { self.x = 1; }", "self->name"),
    ("BEGIN { this->a[1] = 2; }", "self-> or a global array"),
    ('BEGIN { x[1] = 1; x["a"] = 2; }', "types of its keys"),
    ("BEGIN { trace($2); }", "-x defaultargs"),
    ("# a comment\nBEGIN { }", "/* … */"),
    ("#include <stdio.h>\nBEGIN { }", "-C"),
    ("BEGIN", "add { }"),
    ("struct s { int a; } *p; BEGIN { p.a = 1; }", "->"),
    ("struct s { int count; } x; BEGIN { x.cuont = 1; }", "did you mean count?"),
    ('BEGIN { prinft("x"); }', "did you mean printf?"),
    ("BEGIN { if (pid == 1) { trace(1); } }", "predicate or ?:"),
    ('BEGIN { pid == 0 ? printf("a") : printf("b"); }', "the clause's predicate"),
    ('BEGIN { printf("%s %d\\n", execname); }', "each conversion takes an argument"),
    ('BEGIN { printf("a\\n", pid); }', "such as %d or %s"),
    ('BEGIN { printf("%d\\n", execname); }', "%s prints a string"),
    ('BEGIN { @a = count(); printf("%d\\n", @a); }', "printa() prints"),
    ("BEGIN { @a = count(); x = @a; }", "printa() prints"),
    ("BEGIN { @a = count(); trunc(a, 5); }", "@a"),
    ("BEGIN { @a = sum(); }", "sum(value)"),
    ("BEGIN { trace(arg0->x); }", "((struct name *)arg0)->member"),
    ('BEGIN { x = "a"; x += "b"; }', "strjoin(a, b)"),
    ("BEGIN /pid == 1 { trace(1); }", "ends with / before the {"),
    ("BEGIN, { }", "a probe description after the comma"),
    ("BEGIN { @[ustack] = count(); }", "ustack(…)"),
    ("#pragma D option quiett\nBEGIN { }", "did you mean quiet?"),
    ('BEGIN { x = 1; x = "a"; }', "x is an int since x.d:1:9; use another variable for the string"),
    ("BEGIN { printf('x'); }", 'a string has double quotes: "x"'),
    ("BEGIN { printf(\"%s\", 'abc'); }", 'a string has double quotes: "abc"'),
    ("struct a { int x; } struct b { int y; }; BEGIN { }", "; is missing"),
]


@pytest.mark.parametrize(("text", "hint"), MISTAKES, ids=[text for text, _ in MISTAKES])
def test_the_hint_names_the_way_out(text, hint):
    with pytest.raises(CompileError) as caught:
        compile_program(text, "x.d", macros={"target": 0}, arguments=["x.d"])
    assert hint in (caught.value.hint or "no hint")
    assert caught.value.render().endswith(f"hint: {caught.value.hint}")


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        (
            "BEGIN { trace('abc'); }",
            [
                'x.d:1:15: a character constant is a number, here 6382179; a string has double quotes: "abc"'
            ],
        ),
        ("BEGIN { trace('a'); trace(6382179); x = 'abc'; }", []),
    ],
)
def test_what_is_right_and_likely_not_meant(text, warnings):
    assert compile_program(text, "x.d").warnings == warnings


@pytest.mark.parametrize(
    ("text", "engine", "hint"),
    [
        ("fbt::vfs_read:entry { }", "embedded", "no provider fbt"),
        ("sdt:::foo { }", "kernel", "no provider sdt"),
        ("syscall::read:entry { }", "embedded", "the kernel engine"),
        ("pid$target::malloc:entry { }", "embedded", "the kernel engine"),
        ("profile-97 { }", "embedded", "the kernel engine"),
        ("sched:::on-cpu { }", "embedded", "the kernel engine"),
        ("sched:::enqueue { }", "embedded", "sched has no probe enqueue"),
        ("sched:::enqueue { }", "kernel", "sched has no probe enqueue"),
        ("proc:::wakeup { }", "embedded", "proc has no probe wakeup"),
        ("sched:::*cpu { }", "embedded", "the kernel engine"),
        (
            "pid$target:libc:malloc:entry { }",
            "embedded",
            "the process maps no module libc; did you mean libc.so.6?",
        ),
        (
            "pid$target:libc:malloc:entry { }",
            "kernel",
            "the process maps no module libc; did you mean libc.so.6?",
        ),
        ("pid$target:libc.so.6:nosuch:entry { }", "kernel", None),
        ("pid$target:libnosuch:malloc:entry { }", "kernel", None),
        ("syscall::nosuch:entry { }", "kernel", None),
        ("pyusdt*:::nosuch { }", "embedded", None),
        ("erlang*:::copy-struct { }", "embedded", "no Erlang node has"),
        ("erlang$target:::gc_major-end { }", "embedded", "pyusdt_vm:enable()"),
        ("python*:::alloc { }", "embedded", "needs CPython 3.13"),
        ("python$target:::exception-handled { }", "embedded", "needs CPython 3.12"),
        ("python$target:::audit { }", "embedded", "pyusdt.vm.enable(audit=True)"),
        ("python*:::line { }", "embedded", None),
        ("http*:::request-done { }", "embedded", "`pyusdt run COMMAND`"),
        ("db$target:::query-* { }", "kernel", "`pyusdt run COMMAND`"),
        ("http*:::nosuch { }", "embedded", None),
        ("erlang*:::message-send { }", "embedded", "--enable '#{unsafe => true}'"),
        ("interval:s:1 { }", "kernel", "tick-1s"),
        ("profile:hz:99 { }", "embedded", "profile-99"),
        ("kprobe:vfs_read { }", "kernel", "rawtp:::"),
        ("tracepoint:syscalls:sys_enter_openat { }", "kernel", "syscall::openat:entry"),
        ("usdt:x:y { }", "embedded", "pyusdt list FILE"),
        ("pidgin*:::message { }", "embedded", None),
        ("shop$target:::sold { }", "replay", None),
    ],
)
def test_the_hint_for_a_probe_that_is_not_there(text, engine, hint):
    program = compile_program(text, "x.d", macros={"target": os.getpid()}, arguments=["x.d"])
    told = explain_unmatched(program.clauses[0].probes[0], engine)
    assert hint in told if hint else told is None
