"""The NIF under ASan and UBSan, in an ordinary emulator that the sanitizers are preloaded into.

Not under TSan: with its library preloaded Debian's emulator dies before it runs a line of Erlang. The core that the NIF
is made of is tested under TSan by itself (tests/c).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from tests.erlang import test_erlang_vm
from tests.support import harness

pytestmark = pytest.mark.long
NIF = os.path.join(harness.ROOT, "erlang_nif")
FLAGS = "-fsanitize=address,undefined"


@pytest.fixture(scope="module")
def sanitized(erlang, tmp_path_factory):
    """sanitized(erl's argument …) -> Run, in the folder of a build of its own; every report is a failure."""
    folder = tmp_path_factory.mktemp("sanitized")
    for name in ("Makefile", "src", "c_src", "otp", "test"):
        copy = shutil.copytree if os.path.isdir(f"{NIF}/{name}") else shutil.copy
        copy(f"{NIF}/{name}", folder / name)
    made = harness.run(
        [
            "make",
            "-s",
            f"PYUSDT_ROOT={harness.ROOT}",
            f"LDFLAGS={FLAGS}",
            f"CFLAGS=-O1 -g {FLAGS} -fno-sanitize-recover=undefined",
        ],
        timeout=300,
        cwd=folder,
    )
    assert made.status == 0, made
    tests = sorted(str(path) for path in folder.glob("test/*_tests.erl"))
    subprocess.run(["erlc", "-o", folder / "ebin", *tests], check=True)
    libraries = [
        harness.run(["gcc", f"-print-file-name=lib{name}.so"]).stdout.strip()
        for name in ("asan", "ubsan")
    ]

    def command(*arguments: str) -> list[str]:
        return [
            "env",
            f"LD_PRELOAD={':'.join(libraries)}",
            f"ASAN_OPTIONS=detect_leaks=0:log_path={folder}/report",
            "erl",
            "-noshell",
            "-pa",
            str(folder / "ebin"),
            "-pa",
            erlang.programs,
            *arguments,
        ]

    command.reports = lambda: [path.read_text()[:3000] for path in folder.glob("report*")]
    return command


def test_eunit(sanitized):
    run = harness.run(
        sanitized(
            "-eval",
            'io:format("~p", [eunit:test([pyusdt_tests, pyusdt_instrument_tests, dyntrace_tests])]), halt().',
        ),
        timeout=120,
    )
    assert run.stdout.split()[-1] == "ok" and not sanitized.reports(), (
        run,
        sanitized.reports(),
    )


@pytest.mark.parametrize(
    ("module", "function", "arguments"),
    [
        ("fires", "values", ["none"]),
        ("fires", "bounds", ["none"]),
        ("fires", "count", ["8", "200"]),
        ("own", "values", ["none"]),
        ("own", "cut", ["none"]),
        ("own", "terms", ["printed"]),
        ("own", "many", ["8", "20"]),
        ("instrumented", "phoenix", ["20"]),
        ("instrumented", "wrong", ["none"]),
    ],
)
def test_traced(sanitized, tmp_path, monkeypatch, module, function, arguments):
    """Every argument is read, so that everything is converted."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    arguments = [str(tmp_path / each) if each == "printed" else each for each in arguments]
    program = "".join(
        f'{provider}*::: {{ @n["events"] = count(); {reads} }}'
        for provider, reads in (
            (
                "erlang",
                "".join(
                    f'@ = max(strlen(arg{i} ? copyinstr(arg{i}) : ""));' for i in (1, 6, 7, 8, 9)
                ),
            ),
            ("shop", "this->t = term(arg1);"),
            ("http", "@ = max(strlen(copyinstr(arg0)));"),
            ("telemetry", "this->t = term(arg2);"),
        )
    )
    run = harness.run(
        [
            harness.PYDTRACE,
            "-qZ",
            "-x",
            "engine=embedded",
            "-x",
            "strsize=2048",
            "-b",
            "16m",
            "-n",
            program,
            "-c",
            " ".join(sanitized("-run", module, function, *arguments)),
        ],
        timeout=120,
    )
    assert run.status == 0 and not sanitized.reports(), (run, sanitized.reports())
    assert int(re.search(r" events +(\d+)\n", run.stdout)[1]) > 0, run


class There:
    """The fixture `erlang` of a test of test_erlang_vm.py, for a node with the sanitizers."""

    def __init__(self, sanitized):
        self.sanitized = sanitized

    def node(self, function, *arguments, options=(), module):
        return self.sanitized(*options, "-run", module, function, *map(str, arguments or ["none"]))


@pytest.mark.parametrize(
    "test",
    [
        "tables",
        "servers",
        "supervisors_and_loaded_code",
        "sockets_that_are_ports",
        "sockets_of_the_module_socket",
        "drivers",
        "functions_of_each_kind",
        "functions_are_places",
        "names_of_elixir",
        "code_that_is_loaded_while_it_is_traced",
        "files_as_the_chapter_of_otp_shows_them",
        "terms_of_any_size",
    ],
)
def test_probes_of_the_emulator(sanitized, trace, test):
    """Their arguments are compared as without the sanitizers."""
    getattr(test_erlang_vm, f"test_{test}")(There(sanitized), trace)
    assert not sanitized.reports(), sanitized.reports()


def test_on_and_off_under_load(sanitized, trace):
    test_erlang_vm.test_on_and_off_under_load(There(sanitized), trace, 200)
    assert not sanitized.reports(), sanitized.reports()
