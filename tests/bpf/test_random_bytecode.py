"""Random programs, random map operations, and the same random arithmetic in the kernel.

Bounded seconds here; `make test-long` runs the same for long.  A planted fault shows that the
fuzzer would see a wrong bound.
"""

import os
import random
import re
import shutil
import subprocess

import pytest

from pydtrace.bpf import insn
from tests.support import bytecode_cases
from tests.support.compiler import verifier

WRAP = ["-Wl,--wrap=mmap,--wrap=munmap"]
FLAGS = [*bytecode_cases.SANITIZE, *WRAP]


def run(binary, seconds, seed):
    return subprocess.run(
        [binary, str(seconds), str(seed)],
        check=False,
        capture_output=True,
        text=True,
        timeout=seconds + 60,
    )


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory):
    return bytecode_cases.build(
        str(tmp_path_factory.mktemp("fuzz") / "fuzz"), "fuzz.c", [*FLAGS, *bytecode_cases.FUSING]
    )


@pytest.fixture(scope="module")
def map_model(tmp_path_factory):
    return bytecode_cases.build(
        str(tmp_path_factory.mktemp("model") / "map_model"), "map_model.c", FLAGS
    )


def fuzz_programs(fuzzer, seconds, seed):
    done = run(fuzzer, seconds, seed)
    assert done.returncode == 0, done.stderr
    made, loaded, ended, faults, loops = (int(n) for n in re.findall(r"\d+", done.stdout))
    assert loaded > made / 20 and ended > loaded / 50 and faults > loaded / 50 and loops > 0, (
        done.stdout
    )


def test_random_programs(fuzzer):
    fuzz_programs(fuzzer, 4, random.randrange(1 << 30))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_random_programs_long(fuzzer, seed):
    fuzz_programs(fuzzer, 900, random.randrange(1 << 30) + seed)


def model_maps(map_model, seconds):
    done = run(map_model, seconds, random.randrange(1 << 30))
    assert done.returncode == 0, done.stderr


def test_maps_against_a_model(map_model):
    model_maps(map_model, 2)


@pytest.mark.long
def test_maps_against_a_model_long(map_model):
    model_maps(map_model, 900)


PLANTED = [
    ("bpf/vm_internal.h", "size <= high - addr;", "size <= high - addr + 1;"),
    ("bpf/vm_internal.h", "(8 - size)", "(9 - size)"),
    ("bpf/vm_internal.h", "addr <= run->stack_top - size", "addr <= run->stack_top - size + 1"),
    (
        "bpf/helpers.c",
        "pyusdt_run_memory(run, args[1], map->def.key_size, false)",
        "(const void *)args[1]",
    ),
    ("bpf/program.c", "target >= function->end", "target > function->end"),
    (
        "bpf/interpreter.c",
        "frame == frames + PYUSDT_VM_FRAMES - 1",
        "frame == frames + PYUSDT_VM_FRAMES",
    ),
    ("bpf/superinstructions.c", "f->insns[slot + 1].imm == 0", "true"),
    (
        "bpf/superinstructions.c",
        "f->program->ops[slot].off == f->program->ops[slot + 3].off",
        "true",
    ),
    (
        "bpf/superinstructions.c",
        "f->program->ops[slot].off == f->program->ops[slot + 2].off",
        "true",
    ),
]


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        pytest.param(*each, id=f"{each[0]}: {each[2]}", marks=[pytest.mark.long] * (number > 0))
        for number, each in enumerate(PLANTED)
    ],
)
def test_a_planted_fault_is_found(tmp_path, file, right, wrong):
    c = tmp_path / "c"
    shutil.copytree(bytecode_cases.C, c)
    (tmp_path / "include").symlink_to(os.path.join(bytecode_cases.ROOT, "include"))
    text = (c / file).read_text()
    assert right in text
    (c / file).write_text(text.replace(right, wrong))
    sources = [str(c / name) for name in bytecode_cases.SOURCES]
    fuzzer = bytecode_cases.build(
        str(tmp_path / "fuzz"),
        "fuzz.c",
        [*FLAGS, *bytecode_cases.FUSING],
        sources=sources,
        include=str(c),
    )
    assert any(run(fuzzer, 3, seed).returncode != 0 for seed in range(1, 5))


# --- the kernel as judge of random arithmetic -------------------------------------
_ARITHMETIC = [row for row in insn.ROWS if row.form in ("dst_src", "dst_imm", "dst", "swap")]
_JUMPS = [row for row in insn.ROWS if row.form in ("jump_reg", "jump_imm")]
_NUMBERS = [0, 1, -1, 2, 31, 32, 63, 64, 0x7FFFFFFF, -0x80000000, 0x80, 0xFFFF]


def random_arithmetic(rng):
    """A program over r0 … r9 that runs to its end and returns a mixture of all of them."""
    code = []
    for reg in range(10):
        code += insn.ld_imm64(reg, rng.choice([rng.getrandbits(64), rng.choice(_NUMBERS)]))
    length = rng.randrange(10, 60)
    for i in range(length):
        row = rng.choice(_ARITHMETIC if rng.random() < 0.8 else _JUMPS)
        imm = rng.choice([rng.choice(_NUMBERS), rng.getrandbits(32) - (1 << 31)])
        if row.form == "dst_imm" and row.name.startswith(("div", "mod")):
            imm = imm or 1
        if row.form == "dst_imm" and row.name.startswith(("lsh", "rsh", "arsh")):
            imm = rng.randrange(32 if row.name.endswith("32") else 64)
        has_src, has_imm = row.form in ("dst_src", "jump_reg"), row.form in ("dst_imm", "jump_imm")
        code.append(
            insn.Insn(
                row.opcode,
                rng.randrange(10),
                rng.randrange(10) if has_src else 0,
                rng.randrange(length - i) if row in _JUMPS else 0,
                imm if has_imm else row.sub,
            )
        )
    for reg in range(1, 10):
        code += [insn.alu_imm("mul", 0, 31), insn.alu("xor", 0, reg)]
    return [*code, insn.exit_()]


def test_the_kernel_computes_the_same(tmp_path):
    if verifier.why_not_loadable():
        pytest.skip(f"host: {verifier.why_not_loadable()}")
    rng = random.Random(20)
    cases = [bytecode_cases.Made(random_arithmetic(rng)) for _ in range(150)]
    driver = bytecode_cases.build(str(tmp_path / "driver"), "driver.c", bytecode_cases.FUSING)
    ours = [result.outcome for result in bytecode_cases.run_all(driver, cases)]
    kernels = [bytecode_cases.in_kernel(case) for case in cases]
    ran = [i for i, verdict in enumerate(kernels) if verdict[0] == "ran"]
    assert len(ran) > 100, kernels[0]
    assert [ours[i] for i in ran] == [kernels[i][1] for i in ran]
