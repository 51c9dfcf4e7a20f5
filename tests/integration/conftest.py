"""Fixtures: tracers to run, and users to run them as.

What a fixture needs it installs or makes, where it may; where it may not, the test is skipped, and the reason says
what is missing ("host:" if nothing could be installed against it; see tests/conftest.py).
"""

from __future__ import annotations

import functools
import glob
import os
import pwd
import shutil
import subprocess
import tempfile
import textwrap

import pytest

from tests.support import chromium, harness, host_namespaces, python_builds
from tests.support.docs_blocks import commands_path  # noqa: F401 (the fixture path)
from tests.support.recordings import recording, replayer  # noqa: F401 (fixtures)


@pytest.fixture(scope="session")
def pydtrace():
    """pydtrace(ARG …, timeout=…) -> Run"""
    assert os.path.exists(harness.PYDTRACE), "pydtrace is not built: `make build`"

    def run(*arguments: str, **options) -> harness.Run:
        return harness.run([harness.PYDTRACE, *arguments], **options)

    return run


@pytest.fixture(scope="module")
def browser():
    with chromium.started("--window-size=1100,900") as made:
        yield made


@pytest.fixture(scope="session")
def python_of():
    """python_of(VERSION): the path of a CPython of harness.VERSIONS: one of pyenv's, or one that .ci/pythons gets."""
    got = harness.run([os.path.join(harness.ROOT, ".ci", "pythons")], timeout=3600)
    assert got.status == 0, got
    paths = got.stdout.split() + glob.glob(
        os.path.expanduser("~/.pyenv/versions/3.*/bin/python3.1[0-9]")
    )
    versions = {path: os.path.basename(path).removeprefix("python") for path in paths}
    found = {
        "without the GIL" if version.endswith("t") else version: path
        for path, version in versions.items()
    }

    def find(version: str) -> str:
        if version not in found:
            pytest.skip(f"host: no CPython {version}")
        return found[version]

    return find


@pytest.fixture(scope="session")
def other():
    """other(VERSION) -> the path of that CPython, with pyusdt built for it in builds.ROOM."""
    return functools.partial(find_built, only_core=False)


@pytest.fixture(scope="session")
def other_core():
    """other_core(VERSION) -> the same with what a traced program needs only."""
    return functools.partial(find_built, only_core=True)


def find_built(version: str, only_core: bool) -> str:
    path = python_builds.find(version)
    if path is None:
        pytest.skip(f"host: no CPython {version}")
    python_builds.build(path, only_core)
    return path


@pytest.fixture
def program(tmp_path):
    """program(TEXT, NAME="app.py") -> the path of a program with this text"""

    def write(text: str, name: str = "app.py") -> str:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return str(path)

    return write


@pytest.fixture(scope="session")
def root():
    """For tests of what only root can do."""
    if os.geteuid() != 0:
        pytest.skip("host: not root")


class Oracle:
    """The real dtrace and a current bpftrace, in the chroot of tests/oracle."""

    @staticmethod
    def run(*command: str, timeout: float = 60, **options) -> harness.Run:
        return harness.run([harness.ORACLE, *command], timeout=timeout, **options)

    def dtrace(self, *arguments: str, **options) -> harness.Run:
        return self.run("dtrace", *arguments, **options)

    def bpftrace(self, *arguments: str, **options) -> harness.Run:
        return self.run("bpftrace", *arguments, **options)


@pytest.fixture(scope="session")
def oracle(root) -> Oracle:
    if not os.path.exists("/sys/kernel/tracing") or not os.path.exists("/sys/kernel/btf/vmlinux"):
        pytest.skip("host: a kernel without tracefs or BTF")
    made = harness.run([harness.ORACLE, "setup"], timeout=900)
    assert made.status == 0, made
    return Oracle()


class User:
    """Somebody who is not root, with a checkout of his own in `root`, built with `python`."""

    def __init__(self, root: str, prefix: list[str], environment: dict[str, str]):
        self.root, self.prefix, self.environment = root, prefix, environment
        self.pydtrace = os.path.join(root, ".venv/bin/pydtrace")
        self.python = os.path.join(root, ".venv/bin/python")

    def run(self, *command: str, timeout: float = 60) -> harness.Run:
        return harness.run(
            [*self.prefix, *command], timeout=timeout, cwd=self.root, env=self.environment
        )


@pytest.fixture(scope="session")
def unprivileged():
    """A User. As root: `nobody`, in a copy of this tree built by his own `make build`, with the system's Python,
    since root's home, where another one may be, is closed to him. Otherwise: whoever runs the tests, here.
    """
    if os.geteuid() != 0:
        yield User(harness.ROOT, [], dict(os.environ))
        return
    nobody = pwd.getpwnam("nobody")
    folder = tempfile.mkdtemp(prefix="pyusdt-nobody-")
    try:
        tree = os.path.join(folder, "pyusdt")
        shutil.copytree(harness.ROOT, tree, symlinks=True, ignore=harness.NOT_SOURCE)
        subprocess.run(["chown", "-R", f"{nobody.pw_uid}:{nobody.pw_gid}", folder], check=True)
        ids = [f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
        environment = {
            **os.environ,
            "HOME": folder,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "PYTHON": "/usr/bin/python3",
        }
        del environment["PYUSDT_RUNDIR"]  # root's
        user = User(tree, ["setpriv", *ids, "--"], environment)
        if not os.path.exists("/usr/bin/python3"):
            pytest.skip("no /usr/bin/python3 for the unprivileged user")
        built = user.run("make", "build", timeout=900)
        assert built.status == 0, built
        yield user
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def nodes():
    """Five hosts, which are namespaces: the first process of each."""
    with host_namespaces.namespaces() as found:
        yield found
