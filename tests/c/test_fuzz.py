"""libFuzzer on fuzz_reader.c: the corpus in `make test`, five minutes of searching in `make test-long`, and a planted bug.

The corpus (corpus.zip) is what a search of 18 minutes, 495,000 inputs, left after merging.
"""

import shutil
import subprocess
import zipfile

import pytest
from ring_world import CORE, HERE, ROOT

FLAGS = ["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-fsanitize=fuzzer,address,undefined",
         "-fno-sanitize-recover=undefined", f"-I{ROOT}/include", f"-I{ROOT}/c"]
OPTIONS = ["-handle_bus=0", "-max_len=300", "-len_control=0", "-timeout=20"]


def build(folder, core=ROOT / "c"):
    if not shutil.which("clang"):
        pytest.skip("no clang")
    program = folder / "fuzz_reader"
    sources = [core / f"{name}.c" for name in CORE]
    subprocess.run(["clang", *FLAGS, f"-I{core}", ROOT / "tests/c/fuzz_reader.c", *sources, "-o", program], check=True)
    return program


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory):
    return build(tmp_path_factory.mktemp("fuzzer"))


@pytest.fixture
def corpus(tmp_path):
    with zipfile.ZipFile(HERE / "corpus.zip") as archive:
        archive.extractall(tmp_path / "corpus")
    return tmp_path / "corpus"


def run(program, *arguments, timeout=60):
    return subprocess.run([program, *OPTIONS, *arguments], capture_output=True, text=True, timeout=timeout,
                          cwd=program.parent, check=False)


def test_corpus(fuzzer, corpus):
    got = run(fuzzer, "-runs=0", corpus)
    assert got.returncode == 0, got.stderr[-3000:]


@pytest.mark.long
def test_search(fuzzer, corpus):
    got = run(fuzzer, "-max_total_time=300", corpus, timeout=400)
    assert got.returncode == 0, got.stderr[-3000:]


@pytest.mark.long
def test_a_planted_bug_is_found(corpus, tmp_path):
    """An off-by-one: a probe one past the table is let through. The corpus has an input at that boundary, written by
    hand: a search of 90 s did not come upon it."""
    planted = tmp_path / "c"
    shutil.copytree(ROOT / "c", planted)
    reader = (planted / "tracer/reader.c").read_text()
    right = "source->next.probe >= source->target->table->table.nprobes"
    assert reader.count(right) == 2
    (planted / "tracer/reader.c").write_text(reader.replace(right, right.replace(">=", ">")))
    got = run(build(tmp_path, planted), "-runs=0", corpus)
    assert got.returncode != 0 and "an event of no probe" in got.stderr
