"""What the bytecode tests share: the case files, the drivers, and the kernel as judge.

A case file holds cases, each

    === what it shows => OUTCOME
        assembly (pydtrace.bpf.asm)
    -- SECTION
    text of it

OUTCOME: a number (r0); `load: message`; `EFAULT at SLOT`; `ELOOP at SLOT`.  Sections: maps (name kind
key value entries, a line each), state, context, user (hex, or "text"; user memory starts at
0x10000), steps (the step limit), output (records as hex), after (the maps' lines as driver.c
prints them), rows (a table: $1 … in the assembly stand for the columns, the last column is
the outcome), kernel: what the judge says instead of the same outcome: `accepts` (it would need
the traced process to give the same value), `refuses`, or `skip`, each with the reason behind it.
"""

import functools
import glob
import os
import re
import struct
import subprocess

from pydtrace.bpf import insn
from pydtrace.bpf.asm import assemble
from pydtrace.bpf.map_kinds import KINDS
from pydtrace.bpf.syscalls import (
    RAW_TRACEPOINT,
    LoadedProgram,
    ProgramRejected,
    map_lookup,
    map_update,
    prog_test_run,
)
from pydtrace.program.program import MapDef
from tests.support.paths import ROOT, TESTS

BPF_TESTS = os.path.join(TESTS, "bpf")
C = os.path.join(ROOT, "c")
PUBLIC = os.path.join(os.path.dirname(C), "include")
SOURCES = [
    "bpf/map.c",
    "bpf/program.c",
    "bpf/superinstructions.c",
    "bpf/helpers.c",
    "bpf/helpers/float.c",
    "bpf/helpers/json.c",
    "bpf/helpers/path.c",
    "bpf/helpers/term.c",
    "bpf/helpers/term_read.c",
    "bpf/helpers/term_show.c",
    "bpf/interpreter.c",
    "bpf/vm.c",
    "bpf/vm_internal.c",
    "shared/os_linux.c",
]
FUSING = ["-Wl,--wrap=pyusdt_fuse"]  # for the drivers that have fusing.h
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1"]


class Case:
    def __init__(self, file, name, outcome, text, sections):
        self.id = f"{os.path.basename(file)[:-5]}: {name}"
        self.outcome, self.text = outcome, text
        self.maps = [
            MapDef(n, kind, int(k), int(v), int(e))
            for n, kind, k, v, e in (line.split() for line in sections.get("maps", "").splitlines())
        ]
        self.map_names = [m.name for m in self.maps]
        self.state, self.context, self.user = (
            _bytes(sections.get(s, "")) for s in ("state", "context", "user")
        )
        self.steps = int(sections.get("steps", "0"))
        self.output = [_bytes(line) for line in sections.get("output", "").splitlines()]
        self.after = sections.get("after", "").split("\n") if "after" in sections else []
        self.kernel = sections.get("kernel", "agrees").split(":")[0]

    @functools.cached_property
    def insns(self):
        return assemble(self.text, self.map_names)


class Made:
    """A case that no file has: instructions, and what else differs from nothing."""

    maps, state, context, user, steps, kernel = (), b"", b"", b"", 0, "agrees"

    def __init__(self, insns, **sections):
        self.insns = insns
        vars(self).update(sections)


def _bytes(text):
    text = text.strip()
    return text[1:-1].encode() if text.startswith('"') else bytes.fromhex(text)


def parse(file):
    with open(file) as f:
        text = f.read()
    for chunk in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        head, _, body = chunk.partition("\n")
        name, _, outcome = head.partition("=>")
        parts = re.split(r"^-- (\w+)\n", body, flags=re.MULTILINE)
        sections = {name: text.strip() for name, text in zip(parts[1::2], parts[2::2])}
        if "rows" not in sections:
            yield Case(file, name.strip(), outcome.strip(), parts[0], sections)
            continue
        for row in sections["rows"].splitlines():
            columns = [column.strip() for column in row.split("|")]
            source = re.sub(r"\$(\d)", lambda m, columns=columns: columns[int(m[1]) - 1], parts[0])
            yield Case(file, f"{name.strip()} {row}", columns[-1], source, sections)


def build(path, main, flags=(), compiler="gcc", sources=None, include=C):
    """Compile tests/bpf/`main` with the interpreter; sources, include: instead of c/'s own files."""
    subprocess.run(["python3", os.path.join(C, "generators", "generate_bpf.py")], check=True)
    sources = sources or [os.path.join(C, name) for name in SOURCES]
    subprocess.run(
        [
            compiler,
            "-std=gnu11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O2",
            *flags,
            "-I",
            include,
            "-I",
            PUBLIC,
            "-o",
            path,
            os.path.join(BPF_TESTS, main),
            *sources,
        ],
        check=True,
    )
    return path


class Result:
    def __init__(self, lines):
        self.load = self.run = None
        self.output, self.after, self.fused = [], [], {}
        self.blind = False  # found to do the same whatever the state block holds
        for line in lines:
            what, _, rest = line.partition(" ")
            if what in ("load", "maps"):
                code, _, message = rest.partition(" ")
                self.load = (int(code), message)
            elif what == "run":
                self.run = tuple(int(n) for n in rest.split())
            elif what == "fused":
                name, _, count = rest.partition(" ")
                self.fused[name] = int(count)
            elif what == "blind":
                self.blind = True
            elif what == "output":
                self.output.append(bytes.fromhex(rest))
            else:
                self.after.append(line)

    @property
    def outcome(self):
        """As a case file has it."""
        if self.load[0] < 0:
            return f"load: {self.load[1]}"
        rc, r0, pc = self.run[:3]
        return hex(r0) if rc == 0 else f"{ {-14: 'EFAULT', -40: 'ELOOP'}.get(rc, rc) } at {pc}"


def request(case):
    blocks = b"".join(struct.pack("=I", len(b)) + b for b in (case.context, case.user, case.state))
    maps = b"".join(
        struct.pack("=4I", KINDS[m.kind].number, m.key_size, m.value_size, m.entries)
        for m in case.maps
    )
    return (
        struct.pack("=I", len(case.maps))
        + maps
        + struct.pack("=I", len(case.insns))
        + insn.encode(case.insns)
        + blocks
        + struct.pack("=I", case.steps)
    )


def run_all(driver, cases, *plain):
    """[Result] of the cases, in one process of the driver; with one argument more, each instruction by itself."""
    done = subprocess.run(
        [driver, *plain],
        input=b"".join(request(c) for c in cases),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    chunks = done.stdout.decode().split("end\n")
    assert chunks.pop() == "" and len(chunks) == len(cases)
    return [Result(chunk.splitlines()) for chunk in chunks]


# --- the kernel ----------------------------------------------------------------
def in_kernel(case):
    """The kernel's Result-like outcome: ("refused", log) or ("ran", r0, state after)."""
    result_map = MapDef("result", "array", 4, 8, 1)
    maps = [*case.maps, result_map]
    code = [
        *assemble(
            "callsub +5\nldmapval r1, result\nstxdw [r1], r0\nmov r0, 0\nexit",
            [m.name for m in maps],
        ),
        *case.insns,
    ]
    try:
        with LoadedProgram(code, maps, RAW_TRACEPOINT) as loaded:
            if case.state:
                map_update(
                    loaded.map_fds[0], bytes(4), case.state.ljust(case.maps[0].value_size, b"\0")
                )
            if case.kernel == "accepts":
                return ("accepted",)
            prog_test_run(loaded.fd, case.context)
            r0 = struct.unpack("=Q", map_lookup(loaded.map_fds[-1], bytes(4), 8))[0]
            arrays = [
                f"array {i} {map_lookup(fd, bytes(4), m.value_size).hex()}"
                for i, (m, fd) in enumerate(zip(case.maps, loaded.map_fds))
                if m.kind == "array"
            ]
            return "ran", hex(r0), arrays
    except ProgramRejected as error:
        return "refused", str(error)


CASES = [
    case
    for file in sorted(glob.glob(os.path.join(BPF_TESTS, "cases", "*.data")))
    for case in parse(file)
]
