"""Several consumers of one session (c/consumer/parallel_consumers.h), under the sanitizers: every event is seen by one of them, and nothing that they
have in common changes while they run."""

import struct
import subprocess

import pytest

from pydtrace.bpf import insn, map_kinds
from pydtrace.dlang.compile import compile_program
from tests.support.core.programs import C_TESTS, CORE, ROOT

FURTHER = sorted(
    str(path.relative_to(ROOT / "c").with_suffix(""))
    for folder in ("bpf", "consumer", "format")
    for path in (ROOT / "c" / folder).rglob("*.c")
    if path.stem != "poll_pacing"
)
SCRIPT = """pyusdt*:::*-i4* { @all = count(); }
pyusdt*:::*-i4* { @tid[tid] = count(); @text[substr(copyinstr(arg5), 0, 2)] = quantize(arg1); }
pyusdt*:::*-i4* /arg1 % 2/ { this->half = arg1 / 2; @half = sum(this->half); }"""


def parallel_consumers_main(build, variant):
    """The program, with all of the tracer that it needs."""
    variant = "asan" if build.sanitize and variant != "tsan" else variant
    program = build.folder / variant / "parallel_consumers_main"
    if not program.exists():
        further = [ROOT / f"c/{each}.c" for each in FURTHER if each not in CORE]
        subprocess.run(
            [
                "gcc",
                *build.options(variant),
                C_TESTS / "parallel_consumers_main.c",
                *further,
                *build.objects(variant),
                "-o",
                program,
            ],
            check=True,
        )
    return str(program)


def written(program, path):
    """A compiled script, as parallel_consumers_main reads it."""
    clauses = [
        (insn.encode(clause.code), insn.encode(clause.counting or [])) for clause in program.clauses
    ]
    words = [len(program.maps), len(clauses), 0, *program.this_area]
    for each in program.maps:
        words += [map_kinds.KINDS[each.kind].number, each.key_size, each.value_size, each.entries]
    parts = [struct.pack(f"={len(words)}I", *words)]
    for code, counting in clauses:
        parts += [struct.pack("=II", len(code) // 8, len(counting) // 8), code, counting]
    path.write_bytes(b"".join(parts))
    return str(path)


@pytest.mark.parametrize("variant, consumers", [("tsan", 3), ("hooks", 2)])
def test_each_event_is_seen_once(world, tmp_path, variant, consumers):
    each = 6000
    program = compile_program(SCRIPT)
    command = [
        parallel_consumers_main(world.build, variant),
        written(program, tmp_path / "program"),
        str(consumers),
    ]
    target = world.target("a", 4, each, "wait")
    tracer = world.start(
        [*command, str(target.pid)], **({"CREW_FORK": "yes"} if variant != "tsan" else {})
    )
    result = world.finish(tracer, timeout=120)
    assert target.wait(timeout=60) == 0
    seen = result["delivered"]
    assert (result["out_of_order"], result["corrupt"]) == (0, 0)
    assert seen + result["dropped"] == 4 * each and seen > 0
    found = {each.name: result["seen"][each.map] for each in program.aggregations}
    assert [found[name][0] for name in ("all", "tid", "text")] == [seen] * 3, found
    assert found["half"][0] == seen // 2 or result["dropped"] > 0
    assert all(having <= consumers for _, having in found.values())
