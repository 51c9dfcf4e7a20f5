"""What setup.py would run on macOS, FreeBSD and illumos (c/generators/build_sites.py), and what it does where that fails.

tests/integration/test_dtrace_sites.py builds and traces such sites, with the two dtraces that there are for Linux."""

import importlib.util
import os

import pytest

from tests.support.paths import ROOT

SPEC = importlib.util.spec_from_file_location(
    "build_sites", os.path.join(ROOT, "c", "generators", "build_sites.py")
)
build_sites = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(build_sites)


@pytest.fixture
def dtrace(tmp_path):
    """A dtrace that writes down how it was called, and makes what -o names."""
    path = tmp_path / "dtrace"
    path.write_text(f"""#!/bin/sh
echo "$@" >>{tmp_path}/calls
[ -e {tmp_path}/fail ] && echo "no such probe" && exit 1
while [ $# -gt 1 ]; do [ "$1" = -o ] && : >"$2"; shift; done
exit 0
""")
    path.chmod(0o755)
    return path


def calls(dtrace):
    path = dtrace.parent / "calls"
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize(
    ("platform", "makes_object", "compile_args", "libraries"),
    [
        ("darwin", False, [], []),
        ("freebsd14", True, ["-fno-lto"], ["elf"]),
        ("sunos5", True, ["-fno-lto"], []),
    ],
)
def test_ways(platform, makes_object, compile_args, libraries):
    way = build_sites.way(platform)
    assert (way.object, way.compile_args, way.libraries) == (makes_object, compile_args, libraries)


@pytest.mark.parametrize("platform", ["win32", "cygwin", "aix", "emscripten"])
def test_no_way(platform):
    assert build_sites.way(platform) is None


def test_command_lines():
    assert build_sites.header_command("dtrace", "a.d", "a.h") == [
        "dtrace",
        "-h",
        "-s",
        "a.d",
        "-o",
        "a.h",
    ]
    assert build_sites.object_command(
        "/usr/sbin/dtrace", build_sites.way("freebsd13"), "a.d", "a.o", ["x.o", "y.o"]
    ) == ["/usr/sbin/dtrace", "-G", "-64", "-s", "a.d", "-o", "a.o", "x.o", "y.o"]


def test_header_is_made_before_anything_is_compiled(dtrace, tmp_path):
    header = tmp_path / "user_trace.h"
    assert build_sites.make_header(str(dtrace), "user_trace.d", str(header)) == ""
    assert header.exists() and calls(dtrace) == [f"-h -s user_trace.d -o {header}"]


def test_object_is_made_of_exactly_what_is_linked(dtrace, tmp_path):
    made = str(tmp_path / "probes.o")
    linked = build_sites.make_object(
        str(dtrace), build_sites.way("freebsd14"), "u.d", made, ["b.o", "a.o", "core.o"]
    )
    assert linked == ["b.o", "a.o", "core.o", made]
    assert calls(dtrace) == [f"-G -64 -s u.d -o {made} b.o a.o core.o"]


def test_macos_links_without_an_object(dtrace):
    assert build_sites.make_object(
        str(dtrace), build_sites.way("darwin"), "u.d", "probes.o", ["a.o"]
    ) == ["a.o"]
    assert calls(dtrace) == []


def test_failures_are_told(dtrace, tmp_path):
    assert (
        build_sites.make_header(str(tmp_path / "missing"), "u.d", "u.h")
        == f"{tmp_path}/missing: No such file or directory"
    )
    (tmp_path / "fail").touch()
    assert build_sites.make_header(str(dtrace), "u.d", "u.h") == f"{dtrace} -h: no such probe"
    with pytest.raises(OSError, match="no such probe"):
        build_sites.make_object(
            str(dtrace), build_sites.way("freebsd14"), "u.d", "probes.o", ["a.o"]
        )
