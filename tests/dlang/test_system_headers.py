"""System headers that a script includes with -C: pydtrace takes and refuses those that the real dtrace does."""

import collections
import json
import os
import re
import subprocess
import sys

import pytest

from tests.support.paths import ORACLE

HERE = os.path.dirname(os.path.abspath(__file__))
# Taken here alone: an included file of musl's uses a type of the kernel's that none declares (docs/reference/language.md).
ALONE = {"x86_64-linux-musl/sys/sendfile.h"}


def swept(count, include, folder):
    """[[header, what dtrace said, what pydtrace said]] of so many headers in a folder that is /usr/include for both."""
    environment = {**os.environ, "ORACLE_BINDS": os.pathsep.join([str(folder), *include])}
    command = [
        ORACLE,
        "run",
        sys.executable,
        os.path.join(HERE, "compare_headers.py"),
        count,
        folder,
    ]
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, timeout=3600 * 3, check=True
    )
    return json.loads(done.stdout)


def told(rows):
    """How many passed, and of how many kinds the refusals of both are."""
    kinds = collections.Counter(
        re.sub(r'failed to compile script: ("[^"]*", )?line \d+: ', "", theirs)
        for _, theirs, _ in rows
    )
    passed = f"{len(rows)} headers; {kinds['exit 0']} are taken by dtrace, {sum(ours == 'exit 0' for _, _, ours in rows)} by pydtrace"
    return "\n".join([passed, *(f"{n:6} {kind}" for kind, n in kinds.most_common())])


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="host: not root")
@pytest.mark.parametrize("include", [[], ["/usr/include"]], ids=["sid", "host"])
def test_headers_that_gcc_takes(include, tmp_path):
    """All that are installed: the oracle's own, of glibc and Linux; and this machine's."""
    rows = swept("all", include, tmp_path)
    print(told(rows))
    assert len(rows) > 500
    print(
        *(row for row in rows if row[1] != row[2]), sep="\n"
    )  # refused by both, some in other words
    assert [
        row for row in rows if (row[1] == "exit 0") != (row[2] == "exit 0") and row[0] not in ALONE
    ] == []
