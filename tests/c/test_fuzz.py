"""libFuzzer on what reads shared memory: the corpus in `make test`, five minutes of searching in `make test-long`, a bug that
is planted and has to be found, and how much of the reader the corpus comes through.

The corpus (corpus.zip) is what a search of an hour, 420,813 inputs, left after merging.
"""

import json
import os
import shutil
import subprocess
import zipfile

import pytest
from ring_world import CORE, HERE, ROOT

WRAPPED = ["calloc", "realloc", "mmap", "posix_fallocate", "pyusdt_os_open_in", "getrandom"]  # fuzz_forge.c lets them fail
FLAGS = ["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{ROOT}/include",
         *(f"-Wl,--wrap={function}" for function in WRAPPED)]
SANITIZED = ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined"]
COVERED = ["-fsanitize=fuzzer", "-fprofile-instr-generate", "-fcoverage-mapping"]
OPTIONS = ["-handle_bus=0", "-max_len=768", "-len_control=0", "-timeout=20", "-rss_limit_mb=6000"]
READER = ["tracer/reader.c", "tracer/target.c"]  # what takes apart what others have written


def build(folder, core=ROOT / "c", options=SANITIZED):
    if not shutil.which("clang"):
        pytest.skip("no clang")
    program = folder / "fuzz_reader"
    sources = [core / f"{name}.c" for name in CORE] + [HERE / f"fuzz_{part}.c" for part in ("reader", "forge", "mutator")]
    subprocess.run(["clang", *FLAGS, *options, f"-I{core}", *sources, "-o", program], check=True)
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
def test_a_planted_bug_is_found(tmp_path):
    """An off-by-one: a probe one past the table is let through. From nothing: the mutator knows edges, not this bug."""
    planted = tmp_path / "c"
    shutil.copytree(ROOT / "c", planted)
    reader = (planted / "tracer/reader.c").read_text()
    right = "source->next.probe >= source->target->table->table.nprobes"
    assert reader.count(right) == 2
    (planted / "tracer/reader.c").write_text(reader.replace(right, right.replace(">=", ">")))
    (tmp_path / "empty").mkdir()
    got = run(build(tmp_path, planted), "-max_total_time=300", "-seed=1", tmp_path / "empty", timeout=400)
    assert got.returncode != 0 and "an event of no probe" in got.stderr


@pytest.mark.long
def test_the_corpus_covers_the_reader(tmp_path, corpus):
    """At least 95 % of the lines, those that only a failing allocation reaches included."""
    program = build(tmp_path, options=COVERED)
    profile = tmp_path / "profile"
    subprocess.run([program, *OPTIONS, "-runs=0", corpus], check=True, capture_output=True,
                   env={**os.environ, "LLVM_PROFILE_FILE": f"{profile}.raw"})
    subprocess.run(["llvm-profdata", "merge", f"{profile}.raw", "-o", profile], check=True)
    shown = subprocess.run(["llvm-cov", "export", "-summary-only", f"-instr-profile={profile}", program], check=True,
                           capture_output=True, text=True).stdout
    lines = {file["filename"]: file["summary"]["lines"] for file in json.loads(shown)["data"][0]["files"]}
    for name in READER:
        (percent,) = (summary["percent"] for path, summary in lines.items() if path.endswith(name))
        assert percent >= 95, (name, percent)
