"""A file that appears as a whole, and links in its way."""

from __future__ import annotations

import os

import pytest

from pydtrace.sinks.atomic_file import AtomicFile
from pydtrace.sinks.output_file import OutputError


@pytest.mark.skipif(os.geteuid() != 0, reason="host: only root makes links of other users'")
@pytest.mark.parametrize(
    ("owner", "mode", "is_followed"),
    [(54001, 0o1777, False), (0, 0o1777, True), (54001, 0o755, True)],
)
def test_another_users_link_is_not_followed(owner, mode, is_followed, tmp_path):
    """In a folder as /tmp is; the file that it leads to stays what it was."""
    folder, victim = tmp_path / "shared", tmp_path / "victim"
    folder.mkdir()
    folder.chmod(mode)
    victim.write_text("victim")
    link = folder / "profile.svg"
    link.symlink_to("../victim")
    os.lchown(link, owner, owner)
    aside = AtomicFile(str(link))
    if is_followed:
        with open(aside.create_file(), "w", encoding="utf-8") as file:
            file.write("new")
        aside.commit_file()
    else:
        with (
            pytest.raises(OutputError, match=f"failed to write to {link}: Permission denied"),
            aside.report_errors(),
        ):
            aside.create_file()
    assert victim.read_text() == ("new" if is_followed else "victim")
    assert (
        link.is_symlink()
        and sorted(os.listdir(tmp_path)) == ["shared", "victim"]
        and os.listdir(folder) == ["profile.svg"]
    )


def test_links_in_a_circle(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with (
        pytest.raises(OutputError, match="Too many levels of symbolic links"),
        AtomicFile(str(tmp_path / "a")).report_errors() as _,
    ):
        AtomicFile(str(tmp_path / "a")).create_file()
