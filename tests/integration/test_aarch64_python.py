"""The extensions on aarch64: cross-compiled for Debian's Python of that processor, which qemu's user emulation runs: the
notes of the sites; probes of both kinds fired there, and seen by the embedded engine there. (A tracer outside would take
the process for another one: the emulator makes up the start time in /proc/self/stat.)"""

from __future__ import annotations

import os
import platform

import pytest

from tests.support import aarch64, elf_notes, harness

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="host: not x86-64"),
]
EMULATOR = "qemu-aarch64-static"
FIRES = """
import os, pyusdt
own = pyusdt.Provider("cross").probe("made", int, str)
pyusdt.put_tag("tag")
script = '''pyusdt$1:::user_trace-i4s4 { printf("%s %d %s", copyinstr(arg1), arg2, copyinstr(arg6)); }
    cross$1:::made { printf("%d %s", arg0, copyinstr(arg1)); }'''
assert not pyusdt.p(1) and pyusdt.available() and own.path
with pyusdt.trace(script, os.getpid(), pid=os.getpid()) as t:
    assert pyusdt.p(17, "zw\u00f6lf") and own(-1, "text")
print(os.uname().machine, [record.values for record in t])
"""
STACKS = """
import os, pyusdt
def called():
    return pyusdt.p(18)
pyusdt.available()
with pyusdt.trace("pyusdt$1:::user_trace-i4s4 { trace(ustack()); trace(jstack()); }", os.getpid(), pid=os.getpid()) as t:
    called()
for user, language in (record.values for record in t):
    print(["`" in text for text in user], [text.partition(" ")[0] for text in language])
"""


@pytest.fixture(scope="module")
def emulated(tmp_path_factory):
    """(the extension, a command that wants the name of a program, its environment)"""
    if lacking := harness.tools(EMULATOR, *aarch64.TOOLS):
        pytest.skip(f"no {lacking}")
    folder = str(tmp_path_factory.mktemp("aarch64"))
    root = aarch64.find_root()
    library = f"{folder}/lib"
    extension = aarch64.build(root, library)
    for name in ("cache", "run"):
        os.mkdir(f"{folder}/{name}", 0o700)
    for name, text in (
        ("fires", FIRES),
        ("stacks", STACKS),
    ):  # beside the package, which they thus find
        with open(f"{folder}/lib/{name}.py", "w") as file:
            file.write(text)
    environment = {
        **os.environ,
        "PYUSDT_CACHE": f"{folder}/cache",
        "PYUSDT_RUNDIR": f"{folder}/run",
    }
    return (
        extension,
        f"{EMULATOR} -L {root} {root}/usr/bin/{aarch64.PYTHON} {folder}/lib/",
        environment,
    )


def test_notes(emulated):
    extension, _, _ = emulated
    notes = elf_notes.read_notes(extension)
    assert len(notes) == len({note.semaphore for note in notes}) == 953
    shown = harness.run(["readelf", "--wide", "--file-header", "--notes", extension]).stdout
    assert "AArch64" in shown and "Name: user_trace__n950" in shown


def run_program(emulated, name: str) -> harness.Run:
    """The emulator rounds a process's start time in /proc/self/stat up or down as it likes: where it differs from the kernel's, the tracer
    takes the process for one that has ended, nothing is printed, and the next try may do."""
    _, command, environment = emulated
    for _ in range(20):
        ran = harness.run(f"{command}{name}.py".split(), timeout=120, env=environment)
        if ran.stdout:
            break
    return ran


def test_fires(emulated):
    fired = run_program(emulated, "fires")
    assert fired.stdout == "aarch64 [('tag', 17, 'zwölf'), (-1, 'text')]\n", fired


def test_stacks(emulated):
    """Debian's Python keeps frame pointers on aarch64: Python's functions stand in the place of the interpreter's, native ones around them."""
    fired = run_program(emulated, "stacks")
    natives, _, language = fired.stdout.partition("] ")
    assert language == "['called', '<module>']\n", fired
    kinds = natives.strip("[").split(", ")
    assert kinds[0] == kinds[-1] == "True" and kinds.count("False") == 2, fired
