"""pydtrace -h and -G as a C build made for dtrace(1) calls them: objects that link, probes that tracers see, and what is refused."""

import os
import subprocess
import sys

import pytest

from tests.support import harness

PROVIDER = "provider shop { probe order__placed(int, char *); probe done(); };\n"
MAIN = """#include "shop.h"
int main(void)
{
    char fruit[] = "quince"; /* in memory that is there, for dtrace */
    SHOP_ORDER_PLACED(7, fruit);
    if (SHOP_DONE_ENABLED())
        SHOP_DONE();
    return 0;
}
"""
PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")
ADVICE = "dtrace: probes need no -G on Linux: the header that -h makes has them; an empty object was written\n"


def pydtrace(folder, *words):
    done = subprocess.run(
        [PYDTRACE, *words], cwd=folder, check=False, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stderr


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shop.d").write_text(PROVIDER)
    (tmp_path / "main.c").write_text(MAIN)
    return tmp_path


@pytest.fixture
def program(folder):
    """Built as with dtrace: a header, the program's object, the object of -G that is given the program's, the linker."""
    assert pydtrace(folder, "-h", "-s", "shop.d") == (0, "")
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-c", "main.c"], cwd=folder, check=True)
    assert pydtrace(folder, "-G", "-s", "shop.d", "main.o") == (0, ADVICE)
    subprocess.run(
        ["gcc", "-Wl,--fatal-warnings", "-o", "main", "main.o", "shop.o"], cwd=folder, check=True
    )
    return str(folder / "main")


def test_the_objects_link_and_have_the_probes(program, folder):
    subprocess.run([program], check=True)
    notes = subprocess.run(
        ["readelf", "-n", program], check=True, capture_output=True, text=True
    ).stdout
    assert (
        notes.count("Provider: shop") == 2
        and "Name: order__placed" in notes
        and "Name: done" in notes
    )
    sections = subprocess.run(
        ["readelf", "-SW", folder / "shop.o"], check=True, capture_output=True, text=True
    ).stdout
    assert ".note.GNU-stack" in sections


@pytest.mark.parametrize(
    "words, said",
    [
        (["-h"], "dtrace: failed to open header file '': No such file or directory\n"),
        (
            ["-G"],
            "dtrace: failed to link script shop.d: failed to open : No such file or directory\n",
        ),
    ],
)
def test_an_output_without_a_name(words, said, folder):
    """It was as if none had been asked for."""
    assert pydtrace(folder, *words, "-s", "shop.d", "-o", "") == (1, said)


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_dtrace_and_pydtrace_see_them(program, folder):
    """The same line from the real dtrace, which runs the program in its chroot, and from the kernel engine."""
    clause = 'shop$target:::order-placed { printf("%d %s", arg0, copyinstr(arg1)); }'
    for command in ([harness.ORACLE, "dtrace"], [PYDTRACE]):
        done = subprocess.run(
            [*command, "-qn", clause, "-c", program],
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "7 quince" in done.stdout, (command, done)


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ["-h", "-s", "63.d", "-o", "x.h"],
        ["-h", "-s", "64.d", "-o", "x.h"],
        ["-G", "-s", "53.d"],
        ["-G", "-s", "54.d"],
        ["-G", "-s", "54.d", "-o", "x.o"],
        ["-G", "-s", "53.d", "-s", "54.d"],
        ["-G", "-s", "shop.d", "-o", "/nonexistent/x.o"],
        ["-h", "-s", "shop.d", "-o", "/nonexistent/x.h"],
        ["-G", "-xlinktype=dof", "-s", "shop.d"],
        ["-G", "-xldpath=ld", "-s", "shop.d"],
        ["-xldpath", "-G", "-s", "shop.d"],
        ["-h", "-s", "shop.d", "-o", ""],
        ["-G", "-s", "shop.d", "-o", ""],
        ["-G", "-xlinkmode=static", "-s", "shop.d"],
        ["-G"],
        ["-h"],
        ["-h", "-n", "BEGIN"],
        ["-h", "-G", "-s", "shop.d"],
    ],
    ids=" ".join,
)
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_is_refused_is_what_dtrace_refuses(words, folder):
    """The same exit status and the same first line, but for our advice where -G went well."""
    for length in (53, 54, 63, 64):
        (folder / f"{length}.d").write_text(f"provider {'a' * length} {{ probe go(int); }};\n")
    theirs = subprocess.run(
        [harness.ORACLE, "dtrace", *words],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    status, said = pydtrace(folder, *words)
    wanted = theirs.stderr or (ADVICE if words[0] == "-G" else "")
    assert (status, said.split("\n")[0]) == (theirs.returncode, wanted.split("\n")[0])
