"""The drivers, built once a run: as it ships, by the other compiler, and under ASan and UBSan."""

import shutil

import harness
import pytest

BUILDS = {"gcc": ("gcc", []), "clang": ("clang", []), "asan": ("gcc", harness.SANITIZE)}


@pytest.fixture(scope="session", params=BUILDS)
def build_driver(request, tmp_path_factory):
    compiler, flags = BUILDS[request.param]
    if not shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    return lambda main: harness.build(str(tmp_path_factory.mktemp("bpf") / main[:-2]), main, flags, compiler)
