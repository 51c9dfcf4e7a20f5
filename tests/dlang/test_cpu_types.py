"""curcpu, chip, pset and lgrp: packages of a made-up machine; what the real dtrace prints is in cases/tst/machine/tst.cpuinfo.d."""

import pytest

from pydtrace.dlang.compile import Compiler, compile_program
from pydtrace.dlang.front import cpu_types
from pydtrace.options import Options
from tests.support.compiler.bpf_machine import Machine


def topology(folder, packages):
    for cpu, package in packages.items():
        (folder / f"cpu{cpu}" / "topology").mkdir(parents=True)
        (folder / f"cpu{cpu}" / "topology" / "physical_package_id").write_text(f"{package}\n")
    (folder / "cpufreq").mkdir()
    (folder / "cpu99").mkdir()  # offline: it has no topology


@pytest.mark.parametrize(
    "packages", [{}, {0: 0, 1: 0}, {0: 0, 1: 0, 2: 1, 3: 1}, {0: 0, 1: 3, 2: 0, 3: 3, 10: 5}]
)
def test_each_cpu_has_its_package(packages, tmp_path, monkeypatch):
    topology(tmp_path, packages)
    monkeypatch.setattr(cpu_types, "_TOPOLOGY", str(tmp_path))
    program = compile_program(
        "BEGIN { trace(chip); trace(curcpu->cpu_chip); trace(curcpu->cpu_id); }"
    )
    for cpu in packages or {0: -1}:
        emitted = Machine(program).fire(cpu=cpu)
        assert emitted == [(0, [packages.get(cpu, -1), packages.get(cpu, -1), cpu])]


def test_a_library_of_the_user_comes_first(tmp_path):
    (tmp_path / "sched.d").write_text(
        "typedef struct cpuinfo { int cpu_id; } cpuinfo_t;\ninline int chip = 7;\n"
    )
    options = Options()
    options.set("libdir", str(tmp_path))
    tree = Compiler(options).compile_text("BEGIN { trace(chip); trace(sizeof (cpuinfo_t)); }")
    assert [statement.expr.args[0].value for statement in tree.items[0].body] == [7, 4]
