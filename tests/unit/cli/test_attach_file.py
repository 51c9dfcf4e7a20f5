"""The file that `pyusdt attach` asks a process to run: nobody else may write it or make its name, and both sides see the same one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pydtrace.cli.commands import attach_file
from pydtrace.process import file_view

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="host: not root")


def folders(path: str) -> list[str]:
    found = [os.path.dirname(path)]
    while found[-1] != "/":
        found.append(os.path.dirname(found[-1]))
    return found


def test_nobody_else_can_make_its_name():
    """Of no folder on the way may others rename or replace what is in it."""
    path = attach_file.make_attach_file()
    for folder in folders(path):
        found = os.stat(folder)
        assert found.st_uid in (0, os.geteuid()), folder
        assert not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or found.st_mode & stat.S_ISVTX, (
            folder
        )
    if (
        os.geteuid() == 0
    ):  # others' processes read it, and nobody could have made the folder before root
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o644
        assert all(not os.stat(folder).st_mode & stat.S_IWOTH for folder in folders(path))
    assert not os.stat(path).st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def test_the_name_and_the_text_stay():
    first = attach_file.make_attach_file()
    before = os.stat(first)
    assert attach_file.make_attach_file() == first and os.path.samestat(os.stat(first), before)
    assert repr(attach_file.LOADER) in Path(first).read_text()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """In the place of root's."""
    monkeypatch.setattr(attach_file, "_ROOT_FOLDER", str(tmp_path / "run"))
    monkeypatch.setattr(attach_file, "_make_folder", lambda: str(tmp_path / "run"))
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def test_what_others_could_write_is_replaced(folder):
    path = attach_file.make_attach_file()
    wanted = Path(path).read_text()
    for spoil in (
        lambda: os.chmod(path, 0o666),
        lambda: Path(path).write_text("x"),
        lambda: (os.unlink(path), os.symlink("/dev/null", path)),
        lambda: (os.unlink(path), os.mkfifo(path)),
    ):
        spoil()
        assert attach_file.make_attach_file() == path
        assert Path(path).read_text() == wanted and stat.S_IMODE(os.lstat(path).st_mode) == 0o644
        assert os.listdir(folder) == [os.path.basename(path)]


def test_a_folder_that_others_could_write_to_is_refused(folder, tmp_path):
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match="others than this user can write there"):
        attach_file.make_attach_file()
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(OSError):
        attach_file.make_attach_file()


@NEEDS_ROOT
def test_a_folder_of_another_user_is_refused(folder):
    os.chown(folder, 65534, 65534)
    with pytest.raises(PermissionError):
        attach_file.make_attach_file()


@NEEDS_ROOT
def test_a_strict_umask_hides_it_from_nobody(folder):
    folder.chmod(0o700)
    before = os.umask(0o077)
    try:
        path = attach_file.make_attach_file()
    finally:
        os.umask(before)
    assert (
        stat.S_IMODE(os.stat(path).st_mode) == 0o644
        and stat.S_IMODE(folder.stat().st_mode) == 0o755
    )


# --- what a process sees ------------------------------------------------------------------------

WAITS = (
    "import os, sys; sys.argv[1:] and os.chroot(sys.argv[1]); print(flush=True); sys.stdin.read()"
)


def seen(paths, *command, arguments=()):
    """Whether a process sees the same files."""
    with subprocess.Popen(
        [*command, sys.executable, "-c", WAITS, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        process.stdout.readline()
        try:
            return [file_view.sees_same_file(process.pid, str(path)) for path in paths]
        finally:
            process.stdin.close()


def test_a_process_like_ours_sees_the_same(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "file").write_text("")
    (tmp_path / "absolute").symlink_to(tmp_path / "d")
    (tmp_path / "relative").symlink_to("absolute/../d")
    (tmp_path / "circle").symlink_to("circle")
    names = ["d/file", "absolute/file", "relative/file"]
    assert seen([tmp_path / name for name in names]) == [True] * 3
    assert seen([tmp_path / "circle" / "file"]) == [False]
    with pytest.raises(FileNotFoundError):
        seen([tmp_path / "none"])


@NEEDS_ROOT
def test_another_root_or_mount_shows_other_files(tmp_path):
    (tmp_path / "jail" / "etc").mkdir(parents=True)
    (tmp_path / "jail" / "etc" / "passwd").write_text("")
    assert seen(["/etc/passwd"], arguments=[str(tmp_path / "jail")]) == [False]
    (tmp_path / "over").mkdir()
    (tmp_path / "over" / "file").write_text("")
    (tmp_path / "link").symlink_to("over")
    mounted = [
        "unshare",
        "-m",
        "sh",
        "-c",
        f'mount -t tmpfs none "{tmp_path}/over"; touch "{tmp_path}/over/file"; exec "$@"',
        "sh",
    ]
    assert seen(
        [tmp_path / "over" / "file", tmp_path / "link" / "file", "/etc/passwd"], *mounted
    ) == [False, False, True]
