"""Processes by their control group: paths of both versions, systemd's units, ids of containers."""

import os

import pytest

from pydtrace.process import cgroups

ID, OTHER = "a1" * 32, "a1" * 31 + "b2"
GROUPS = {
    10: [("", "/system.slice/shop.service")],
    11: [("", f"/system.slice/docker-{ID}.scope/init.scope"), ("pids", "/")],
    12: [("memory", f"/docker/{OTHER}"), ("pids", "/docker")],
    13: [("", f"/kubepods/cri-containerd:{'c3' * 32}")],
    14: [("", "/system.slice/shop.service.d")],
}


@pytest.fixture(autouse=True)
def _groups(monkeypatch):
    monkeypatch.setattr(cgroups, "_list_processes", GROUPS.items)
    monkeypatch.setattr(
        cgroups,
        "_read_mounts",
        lambda: [
            ("/sys/fs/cgroup", "/", ""),
            ("/sys/fs/cgroup/memory", "/", "memory"),
            ("/mnt/inner", "/docker", "memory"),
        ],
    )


@pytest.mark.parametrize(
    ("name", "pids"),
    [
        ("/system.slice/shop.service", [10]),
        ("/system.slice/", [10, 11, 14]),
        ("shop.service", [10]),
        (ID, [11]),
        (OTHER, [12]),
        ("c3" * 6, [13]),
        ("/sys/fs/cgroup/system.slice", [10, 11, 14]),
        ("/sys/fs/cgroup/memory/docker", [12]),
        (f"/mnt/inner/{OTHER}", [12]),
        ("/docker", [12]),
    ],
)
def test_a_group_and_those_below(name, pids):
    assert cgroups.list_cgroup_pids(name) == pids


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("/", "holds every process"),
        ("/sys/fs/cgroup/memory/", "holds every process"),
        ("/sys/fs/cgroup/docker", "no process"),
        ("shop", "no process"),
        ("a1" * 6, "begins the ids of 2 containers"),
        ("a1" * 5, "no process"),
        ("..", "no process"),
    ],
)
def test_what_is_no_group(name, message):
    with pytest.raises(cgroups.CgroupNotFound, match=message):
        cgroups.list_cgroup_pids(name)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("nr_periods 4\nnr_throttled 1\nthrottled_time 1735156626\n", 1_735_156_626),
        ("usage_usec 9\nthrottled_usec 17\n", 17_000),
        ("throttled_usec x\n", 0),
        ("", 0),
    ],
)
def test_how_long_a_group_was_throttled(tmp_path, text, nanoseconds):
    path = tmp_path / "cpu.stat"
    path.write_text(text)
    assert cgroups.read_throttled_time(str(path)) == nanoseconds
    assert cgroups.read_throttled_time(str(tmp_path / "none")) == 0


def test_the_statistics_of_a_process():
    assert all(os.path.isfile(path) for path in cgroups.list_cpu_statistics(os.getpid()))
    assert cgroups.list_cpu_statistics(2**30) == []


def test_a_name_that_claims_to_be_another_line(tmp_path, monkeypatch):
    """The kernel forbids a newline in the name of a group, and allows all else."""
    (tmp_path / "cgroup").write_bytes(b"3:freezer:/x\r0::/system.slice/shop.service\n0::/\x85y\n")
    before = open
    monkeypatch.setattr(
        cgroups,
        "open",
        lambda _path, **how: before(tmp_path / "cgroup", encoding="latin-1", **how),
        raising=False,
    )
    assert cgroups._read_groups("1") == [
        ("freezer", "/x\r0::/system.slice/shop.service"),
        ("", "/\x85y"),
    ]
