"""The D library of the CPU that a probe fired on: cpuinfo_t, curcpu, chip, pset and lgrp, as in
dtrace's sched.d.

It needs only `cpu`, so it means the same on every engine. Linux has neither processor sets nor
locality groups; dtrace 2.0 shows both as 0.
"""

from __future__ import annotations

import os

_TOPOLOGY = "/sys/devices/system/cpu"
_LIBRARY = """
typedef id_t psetid_t;
typedef id_t chipid_t;
typedef id_t lgrp_id_t;
typedef struct cpuinfo { processorid_t cpu_id; psetid_t cpu_pset; chipid_t cpu_chip; lgrp_id_t cpu_lgrp; } cpuinfo_t;
typedef cpuinfo_t *cpuinfo_t_p;
translator cpuinfo_t < processorid_t C > { cpu_id = C; cpu_pset = 0; cpu_chip = %s; cpu_lgrp = 0; };
inline cpuinfo_t *curcpu = xlate < cpuinfo_t * > (cpu);
inline psetid_t pset = curcpu->cpu_pset;
inline chipid_t chip = curcpu->cpu_chip;
inline lgrp_id_t lgrp = curcpu->cpu_lgrp;
"""


def library_text() -> str:
    return _LIBRARY % _package_expression(_merge_runs(_read_packages()))


def _read_packages() -> list[tuple[int, int]]:
    """[(CPU, its package's id)] by CPU; none where /sys does not tell."""
    found = []
    for name in os.listdir(_TOPOLOGY) if os.path.isdir(_TOPOLOGY) else ():
        try:
            with open(os.path.join(_TOPOLOGY, name, "topology", "physical_package_id")) as file:
                found.append((int(name[3:]), int(file.read())))
        except (OSError, ValueError):
            continue  # another folder, or a CPU that is offline
    return sorted(found)


def _merge_runs(chips: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """[(last CPU, package)]: as few as say the same."""
    runs: list[tuple[int, int]] = []
    for cpu, chip in chips:
        if runs and runs[-1][1] == chip:
            runs.pop()
        runs.append((cpu, chip))
    return runs


def _package_expression(runs: list[tuple[int, int]]) -> str:
    """The D expression of C's package; -1, as the kernel has it, where it is not known."""
    return "".join(f"C <= {last} ? {chip} : " for last, chip in runs[:-1]) + str(
        runs[-1][1] if runs else -1
    )
