"""Bit-fields lie where C has them: the C compiler is asked."""

import os
import random
import subprocess
import sys

from pydtrace.program import d_types as t

BASES = [f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)]
HEAD = """#include <stdint.h>
#include <stdio.h>
#include <string.h>
static void show(const void *object, size_t size) {
    for (size_t i = 0; i < size; i++) printf("%02x", ((const unsigned char *)object)[i]);
    printf("\\n");
}
int main(void) {
"""


def structs():
    """[[(name, type's name, bits or None)]]"""
    chance, found = random.Random(1), []
    for _ in range(300):
        bases = [chance.choice(BASES) for _ in range(chance.randint(1, 8))]
        found.append(
            [
                (
                    f"m{number}",
                    base,
                    chance.choice([None, *[chance.randint(1, 8 * t.TYPEDEFS[base].size)] * 4]),
                )
                for number, base in enumerate(bases)
            ]
        )
    return found


def test_members_have_the_bits_that_c_gives_them(tmp_path):
    text, cases = HEAD, []
    for fields in structs():
        record = t.Record("struct", "s")
        record.body.fields = {}
        members = "".join(
            f"{base} {name}{'' if bits is None else f': {bits}'}; " for name, base, bits in fields
        )
        for name, base, bits in fields:
            record.add_member(name, t.TYPEDEFS[base], bits)
            text += f"{{ struct {{ {members}}} s; memset(&s, 0, sizeof s); s.{name} = -1; show(&s, sizeof s); }}\n"
        cases += [
            (members, record, name, 8 * t.TYPEDEFS[base].size if bits is None else bits)
            for name, base, bits in fields
        ]
    (tmp_path / "bits.c").write_text(text + "}\n")
    subprocess.run(["gcc", "-w", "-o", tmp_path / "bits", tmp_path / "bits.c"], check=True)
    lines = subprocess.run(
        [tmp_path / "bits"], check=True, capture_output=True, text=True
    ).stdout.split()
    assert len(lines) == len(cases)
    for (members, record, name, width), line in zip(cases, lines):
        field = record.body.fields[name]
        wanted = int.from_bytes(bytes.fromhex(line), "little")
        assert ((1 << width) - 1) << 8 * field.offset + field.shift == wanted, (members, name)
        assert field.offset + field.size <= min(record.size, len(line) // 2), (members, name)


SCRIPT = """struct flags { unsigned a : 3; unsigned b : 5; unsigned c : 8; int : 0; int d; };
BEGIN {
    this->p = (struct flags *)alloca(16);
    *(uint64_t *)this->p = 0x7000001ff;
    printf("%d %d %d %d\\n", this->p->a, this->p->b, this->p->c, this->p->d);
    this->p->b = 2;
    printf("%x\\n", *(uint32_t *)this->p);
    exit(0);
}
"""


def test_what_a_program_has_written_is_read():
    """And written.  The real dtrace can do neither by a pointer to its own memory."""
    pydtrace = os.path.join(os.path.dirname(sys.executable), "pydtrace")
    run = subprocess.run(
        [pydtrace, "-x", "engine=embedded", "-qn", SCRIPT],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stdout.rstrip(), run.stderr) == (0, "7 31 1 7\n117", ""), run
