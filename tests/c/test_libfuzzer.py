"""libFuzzer on what reads shared memory and files of strangers: the corpora in `make sanitize`, five minutes of searching in
`make test-long`, a bug in each that is planted and has to be found, and how much of the readers the corpora come through.

The corpora (corpus*.zip) are what searches left after merging: tests/results/long-tests.md.
"""

import json
import os
import re
import shutil
import subprocess
import zipfile

import pytest

from tests.support.core.programs import C_TESTS, CORE, ROOT

# fuzz_forge.c lets them fail; before write() it does what a harness asks for.
WRAPPED = [
    "calloc",
    "realloc",
    "mmap",
    "posix_fallocate",
    "pyusdt_os_open_in",
    "getrandom",
    "write",
]
PARTS = ["fuzz_files", "fuzz_forge", "fuzz_mutator"]
FLAGS = [
    "-std=gnu11",
    "-g",
    "-O1",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-pthread",
    "-DPYUSDT_RECORD_BUFFER=4096u",
    f"-I{ROOT}/include",
    *(f"-Wl,--wrap={function}" for function in WRAPPED),
]
SANITIZED = ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined"]
COVERED = ["-fsanitize=fuzzer", "-fprofile-instr-generate", "-fcoverage-mapping"]
OPTIONS = ["-handle_bus=0", "-len_control=0", "-timeout=20", "-rss_limit_mb=6000"]
# Each harness, its corpus, the longest input, and the files that the corpus is to come through.
HARNESSES = {
    "fuzz_reader": (
        "corpus",
        768,
        ["session/ring_merge.c", "session/target_process.c", "session/control_file.c"],
    ),
    "fuzz_flight": (
        "corpus_flight",
        256,
        ["recording/flight_reader.c", "recording/recording_reader.c"],
    ),
    "fuzz_keep": ("corpus_keep", 512, ["session/kept_session.c"]),
}


def build(folder, harness, core=ROOT / "c", options=SANITIZED):
    if not shutil.which("clang"):
        pytest.skip("no clang")
    program = folder / harness
    sources = [core / f"{name}.c" for name in CORE] + [
        C_TESTS / f"{part}.c" for part in (harness, *PARTS)
    ]
    subprocess.run(["clang", *FLAGS, *options, f"-I{core}", *sources, "-o", program], check=True)
    return program


def unpacked(harness, folder):
    with zipfile.ZipFile(C_TESTS / f"{HARNESSES[harness][0]}.zip") as archive:
        archive.extractall(folder)
    return folder


def run(program, *arguments, timeout=120):
    longest = HARNESSES[program.name][1]
    return subprocess.run(
        [program, *OPTIONS, f"-max_len={longest}", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=program.parent,
        check=False,
    )


@pytest.mark.parametrize("harness", HARNESSES)
def test_corpus(harness, tmp_path):
    got = run(build(tmp_path, harness), "-runs=0", unpacked(harness, tmp_path / "corpus"))
    assert got.returncode == 0, got.stderr[-3000:]


@pytest.mark.long
@pytest.mark.parametrize("harness", HARNESSES)
def test_search(harness, tmp_path):
    got = run(
        build(tmp_path, harness),
        "-max_total_time=300",
        unpacked(harness, tmp_path / "corpus"),
        timeout=400,
    )
    assert got.returncode == 0, got.stderr[-3000:]


# Where, what stands there and what in its place, how often, and what finds it.
PLANTED = [
    (
        "fuzz_reader",
        "session/ring_merge.c",
        "source->next.probe < source->target->table->table.nprobes",
        "source->next.probe <= source->target->table->table.nprobes",
        1,
        "an event of no probe",
    ),
    (
        "fuzz_flight",
        "recording/flight_reader.c",
        "pyusdt_event_is_header_valid(event, available)",
        "event->size <= available",
        1,
        "ERROR: AddressSanitizer",
    ),
    (
        "fuzz_keep",
        "session/ring_source.c",
        "else if (source->published > source->shown)",
        "else if (source->published < source->shown)",
        1,
        "the account does not hold",
    ),
]


@pytest.mark.long
@pytest.mark.parametrize("harness, file, right, wrong, times, found", PLANTED)
def test_a_planted_bug_is_found(harness, file, right, wrong, times, found, tmp_path):
    """From nothing: the mutator knows edges, not this bug."""
    planted = tmp_path / "c"
    shutil.copytree(ROOT / "c", planted)
    text = (planted / file).read_text()
    assert text.count(right) == times
    (planted / file).write_text(text.replace(right, wrong))
    (tmp_path / "empty").mkdir()
    got = run(
        build(tmp_path, harness, planted),
        "-max_total_time=300",
        "-seed=1",
        tmp_path / "empty",
        timeout=400,
    )
    assert got.returncode != 0 and re.search(found, got.stderr), got.stderr[-3000:]


@pytest.mark.long
@pytest.mark.parametrize("harness", HARNESSES)
def test_the_corpus_covers_the_reader(harness, tmp_path):
    """At least 95 % of the lines, those that only a failing allocation reaches included."""
    program = build(tmp_path, harness, options=COVERED)
    profile = tmp_path / "profile"
    subprocess.run(
        [program, *OPTIONS, "-runs=0", unpacked(harness, tmp_path / "corpus")],
        check=True,
        capture_output=True,
        env={**os.environ, "LLVM_PROFILE_FILE": f"{profile}.raw"},
    )
    subprocess.run(["llvm-profdata", "merge", f"{profile}.raw", "-o", profile], check=True)
    shown = subprocess.run(
        ["llvm-cov", "export", "-summary-only", f"-instr-profile={profile}", program],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    lines = {
        file["filename"]: file["summary"]["lines"] for file in json.loads(shown)["data"][0]["files"]
    }
    for name in HARNESSES[harness][2]:
        (percent,) = (summary["percent"] for path, summary in lines.items() if path.endswith(name))
        assert percent >= 95, (name, percent)
