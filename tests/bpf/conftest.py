"""The drivers, built once a run: as it ships, by the other compiler, and under ASan and UBSan."""

import os
import shutil

import pytest

from tests.support import bytecode_cases

BUILDS = {"gcc": ("gcc", []), "clang": ("clang", []), "asan": ("gcc", bytecode_cases.SANITIZE)}


@pytest.fixture(scope="session", params=BUILDS)
def build_driver(request, tmp_path_factory):
    compiler, flags = BUILDS[request.param]
    if not shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    return lambda main: bytecode_cases.build(
        str(tmp_path_factory.mktemp("bpf") / main[:-2]),
        main,
        [*flags, *bytecode_cases.FUSING],
        compiler,
    )


@pytest.fixture
def unprivileged():
    """Calls a function as nobody, in a child process; returns what it returns, as text."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")

    def run(function):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.setgid(65534)
                os.setuid(65534)
                os.write(write, str(function()).encode())
            finally:
                os._exit(0)
        os.close(write)
        with open(read) as file:
            text = file.read()
        os.waitpid(child, 0)
        return text

    return run
