"""Interpreters whose files were removed or replaced while they run, as by an upgrade of a package, or do not export their symbols."""

import os
import re
import shutil
import subprocess

import pytest

from tests.support import stacks_harness as harness

PROGRAM = os.path.join(harness.STACKS, "programs", "waits.py")


def copied(python, folder):
    """(command, environment) of a copy of this interpreter, with its libpython if it has one."""
    real = os.path.realpath(python)
    shown = subprocess.run(["ldd", real], capture_output=True, text=True, check=True).stdout
    for path in [real, *re.findall(r"=> (\S*libpython\S+)", shown)]:
        shutil.copy(path, folder)
    home = os.path.dirname(os.path.dirname(real))
    return [str(folder / os.path.basename(real)), "-u", PROGRAM], {
        **os.environ,
        "PYTHONHOME": home,
        "LD_LIBRARY_PATH": str(folder),
    }


def is_static(python):
    with open(os.path.realpath(python), "rb") as file:
        return b"\0_PyRuntime\0" in file.read()


@pytest.mark.parametrize("python", harness.INTERPRETERS, ids=harness.name_of)
@pytest.mark.parametrize("replaced", [False, True])
def test_its_files_are_gone(python, replaced, tmp_path):
    """Shared or static, at any address or at one: it is the open file that is read."""
    if os.geteuid() != 0:
        pytest.skip("host: not root, who alone may read the file of a library that is gone")
    command, environment = copied(python, tmp_path)
    with harness.started(command, env=environment) as subject:
        for path in list(tmp_path.iterdir()):
            path.unlink()
            if replaced:
                shutil.copy("/bin/true", path)
        run = harness.pyusdt("dump", subject.pid)
    assert run.returncode == 0 and f"\n    <module> ({PROGRAM}:4)\n" in run.stdout, run


@pytest.mark.parametrize("python", filter(is_static, harness.INTERPRETERS), ids=harness.name_of)
def test_symbol_is_not_exported(python, tmp_path):
    """As in a static Python of hidden visibility: its section says where the runtime is."""
    command, environment = copied(python, tmp_path)
    path = tmp_path / os.path.basename(command[0])
    path.write_bytes(path.read_bytes().replace(b"\0_PyRuntime\0", b"\0_PyRuntimX\0"))
    with harness.started(command, env=environment) as subject:
        run = harness.pyusdt("dump", subject.pid)
    assert run.returncode == 0 and f"\n    <module> ({PROGRAM}:4)\n" in run.stdout, run
