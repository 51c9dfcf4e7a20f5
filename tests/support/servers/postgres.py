"""A PostgreSQL server of Debian's, for tests: its own folder, user and port, no address of the network."""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import shutil
import subprocess
import tempfile

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROGRAMS = sorted(glob.glob("/usr/lib/postgresql/*/bin"))


@contextlib.contextmanager
def server(
    port: int,
) -> Iterator[tuple[Callable[..., subprocess.CompletedProcess[str]], dict[str, str]]]:
    """(run(PROGRAM, ARG …) of the server's as its user, the environment by which a client finds it), while it runs."""
    if not PROGRAMS:
        pytest.skip("no postgresql")
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    owner = pwd.getpwnam("postgres")
    folder = tempfile.mkdtemp(prefix="pyusdt-pg-")
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    environment = {
        "PGHOST": folder,
        "PGPORT": str(port),
        "PGDATABASE": "postgres",
        "PGUSER": "postgres",
    }

    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [os.path.join(PROGRAMS[-1], program), *arguments],
            check=True,
            capture_output=True,
            text=True,
            user=owner.pw_uid,
            group=owner.pw_gid,
            cwd=folder,
            timeout=60,
            env={**os.environ, **environment},
        )

    try:
        run("initdb", "-D", "data", "-A", "trust", "--no-sync")
        run(
            "pg_ctl",
            "-D",
            "data",
            "-w",
            "-l",
            "log",
            "-o",
            f"-k {folder} -p {port} -c listen_addresses= -c fsync=off",
            "start",
        )
        try:
            yield run, environment
        finally:
            run("pg_ctl", "-D", "data", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
