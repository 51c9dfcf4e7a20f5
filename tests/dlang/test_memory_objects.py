"""Pointers, structs and alloca()'s memory beyond what the recorded cases show: what dtrace's own verifier refuses, and
what must be a fault."""

import pytest

from pydtrace.dlang.compile import compile_program
from tests.support.compiler.bpf_machine import Machine

DECLARED = """
#pragma D option quiet
struct point { int x; int y; } *r, o;
struct point many[int];
int a[5];
int *p;
char *s;
"""


def outcome(text):
    """(exit status, messages of faults, output) of BEGIN clauses."""
    machine = Machine(compile_program(DECLARED + text))
    status = machine.run_begin()
    output, errors = machine.printed()
    return status, errors, output.decode()


@pytest.mark.parametrize(
    ("body", "printed"),
    [
        ('p = a; *p = 99; p[1] += 5; (*p)++; printf("%d %d", a[0], a[1]);', "100 5"),
        ('p = &a[1]; printf("%d %d", &a[4] - p, p < &a[4]);', "3 1"),
        (
            'r = alloca(sizeof (struct point)); r->x = 3; r->y = r->x + 4; printf("%d %d", r->x, r->y);',
            "3 7",
        ),
        (
            'many[4].x = 12; many[4].y++; printf("%d %d %d", many[4].x, many[4].y, many[5].x);',
            "12 1 0",
        ),
        ('p = (int *)alloca(16); p[3] = 7; i = 3; printf("%d", p[i]);', "7"),
        (
            "s = alloca(4); s[0] = 'a'; s[1] = 'b'; s[2] = 0; printf(\"%s %d\", stringof(s), strlen(s));",
            "ab 2",
        ),
        ('i = 0; a[i++] += 4; a[i++] += 5; printf("%d %d %d", a[0], a[1], i);', "4 5 2"),
        ('this->o = o; this->o.y = 8; p = &this->o.y; printf("%d", *p);', "8"),
        ('str = "abc"; printf("%d %d", str[1], probename[4]);', "98 78"),
    ],
)
def test_memory(body, printed):
    status, errors, output = outcome(f"BEGIN {{ {body} exit(0); }}")
    assert (status, errors, output.strip()) == (0, [], printed)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("i = 5; a[i] = 1;", "index out of bounds (5)"),
        ("i = -1; a[i] = 1;", "index out of bounds (18446744073709551615)"),
        ("p = (int *)64; trace(*p);", "invalid address (0x40)"),
        ("p = (int *)64; *p = 1;", "invalid address (0x40)"),
        ("p = alloca(4); p += 2; *p = 1;", "invalid address (0x"),
        ("p = alloca(4); p -= 1; trace(*p);", "invalid address (0x"),
        ("trace(alloca(200) == alloca(200));", "out of scratch space"),
        ("p = a; p += 1000; *p = 1;", "invalid address (0x"),
        ("r = 0; trace(r->y);", "invalid address (0x4)"),
        ('i = 100; bcopy("abc", alloca(8), i);', "invalid size (0x64)"),
    ],
)
def test_what_is_out_of_bounds_is_a_fault(body, fault):
    _, errors, _ = outcome(f'BEGIN {{ {body} printf("not reached"); }} BEGIN {{ exit(0); }}')
    assert len(errors) == 1
    assert fault in errors[0]


def test_memory_of_alloca_belongs_to_its_clause():
    status, errors, output = outcome(
        "BEGIN { s = alloca(1); *s = 'a'; } BEGIN { trace(*s); } BEGIN { printf(\"%d\", s == alloca(1)); exit(0); }"
    )
    assert (status, output.strip()) == (0, "1")
    assert len(errors) == 1
    assert "invalid address" in errors[0]


def test_a_translated_struct_with_bit_fields():
    """dtrace has no code for a whole translated struct."""
    text = """
    struct bits { int low : 3; int high : 13; int rest; };
    translator struct bits < int n > { low = n; high = n + 2; rest = n + 4; };
    BEGIN { this->b = xlate <struct bits> (3); printf("%d %d %d", this->b.low, this->b.high, this->b.rest); }
    """
    assert outcome(text) == (0, [], "3 5 7\n")
