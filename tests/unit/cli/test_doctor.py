"""pyusdt doctor: its findings, of made-up machines and of processes."""

import errno
import os
import re
import subprocess
import sys

import pytest

from pydtrace.cli.commands import doctor, list_command, main
from pydtrace.cli.commands.doctor import Finding
from pydtrace.cli.commands.list_command import ListedProbe
from pydtrace.cli.pydtrace.usage import build_text, describe_python
from tests.support.pyusdt_command import PYUSDT, run

pytestmark = pytest.mark.own_processes


def test_finding_text():
    findings = [
        Finding("one", True, "fine"),
        Finding("another", False, "bad", "do this"),
        Finding("x", None, "so what"),
    ]
    assert main.format_findings(findings) == (
        "ok  one      fine\nNO  another  bad\n             -> do this\n--  x        so what\n"
    )


def test_a_report_has_build_python_and_platform():
    (python,) = (each for each in doctor.check_machine() if each.subject == "python")
    assert main.format_report([python, Finding("x", False, "a|b")]) == (
        f"{build_text()}\n|  | what | found | to do |\n| --- | --- | --- | --- |\n"
        f"| ok | python | {describe_python()} |  |\n| NO | x | a\\|b |  |\n"
    )


def test_folded():
    def names(probes):
        return [each.name for each in list_command.fold_families(probes)]

    numbered = [ListedProbe("p", f"n{i}", "m", "") for i in range(5)]
    assert names(numbered) == ["n0 … 4"]
    assert names(numbered[:2]) == ["n0", "n1"]
    assert names([*numbered, ListedProbe("p", "i4s4", "m", "")]) == ["n0 … 4", "i4s4"]
    on = [ListedProbe("p", f"n{i}", "m", "", "1" if i == 2 else "0") for i in range(7)]
    assert names(on) == ["n0", "n1", "n2", "n3 … 6"]
    assert names([ListedProbe("p", name, "m", "") for name in ("a", "a", "a")]) == ["a"] * 3


def test_doctor_finds_no_fault_here():
    findings = {each.subject: each for each in doctor.check_machine()}
    assert (
        findings["probes"].good
        and findings["embedded engine"].good
        and findings["own providers"].good
    )
    assert all(each.text and (each.good or each.advice) for each in findings.values())


DAMAGED = """
import os, pyusdt, sys
[control] = [name for name in os.listdir(sys.argv[1]) if name.startswith(f"{os.getpid()}-")]
with open(os.path.join(sys.argv[1], control), "r+b") as file:
    file.write(b"x" * 4096)
print(flush=True)
input()
"""


def test_doctor_of_a_forked_child_that_has_not_fired(tmp_path):
    """It has no file of its own yet, and can be traced."""
    tmp_path.chmod(0o700)
    program = "import os, pyusdt\nif os.fork(): os.wait()\nelse: print(os.getpid(), flush=True); input(); pyusdt.p(1)"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYUSDT_RUNDIR": str(tmp_path)},
    ) as process:
        child = int(process.stdout.readline())
        done = run("doctor", "-p", str(child), PYUSDT_RUNDIR=str(tmp_path))
        with subprocess.Popen(
            [
                os.path.join(os.path.dirname(PYUSDT), "pydtrace"),
                "-x",
                "engine=embedded",
                "-p",
                str(child),
                "-n",
                'pyusdt$target:::user_trace-i4s4 { printf("it fired"); exit(0); }',
                "--ready",
            ],
            env={**os.environ, "PYUSDT_RUNDIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as tracer:
            said = []
            while "ready" not in "".join(said[-1:]):
                said.append(tracer.stderr.readline())
                assert said[-1], said
            process.stdin.write(b"\n")
            process.stdin.flush()
            out = tracer.communicate(timeout=60)[0]
        process.stdin.close()
    assert "it fired" in out and any(
        f"process {child} has fired nothing since it was forked" in line for line in said
    ), (out, said)
    assert f"ok  embedded engine  pydtrace -p {child} works: {tmp_path}\n" in done.stdout, done


FORKED_IN_C = """import ctypes, threading
import pyusdt, pyusdt.vm
pyusdt.vm.enable()
def forks():
    global child
    child = ctypes.PyDLL(None).fork()
    if child == 0:
        ctypes.CDLL(None).pause()
thread = threading.Thread(target=forks)
thread.start()
thread.join()
print(child, flush=True)
input()
ctypes.CDLL(None).kill(child, 9)
"""


def test_doctor_of_a_child_without_the_providers_thread():
    """Another thread than the main one has forked in C."""
    with subprocess.Popen(
        [sys.executable, "-c", FORKED_IN_C], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        child = int(process.stdout.readline())
        said, of_parent = (run("doctor", "-p", str(pid)).stdout for pid in (child, process.pid))
        process.communicate(b"\n")
    missing = "--  provider python  nothing fires: its thread pyusdt-watch is not there"
    assert missing in said and missing not in of_parent, (said, of_parent)


def test_doctor_says_that_a_control_file_is_damaged(tmp_path):
    tmp_path.chmod(0o700)
    with subprocess.Popen(
        [sys.executable, "-c", DAMAGED, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYUSDT_RUNDIR": str(tmp_path)},
    ) as process:
        process.stdout.readline()
        done = run("doctor", "-p", str(process.pid), PYUSDT_RUNDIR=str(tmp_path))
        traced = subprocess.run(
            [
                os.path.join(os.path.dirname(PYUSDT), "pydtrace"),
                "-x",
                "engine=embedded",
                "-p",
                str(process.pid),
                "-n",
                "pyusdt$target:::user_trace-s1",
            ],
            env={**os.environ, "PYUSDT_RUNDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        process.stdin.close()
    assert (
        f"hint: the probe list of process {process.pid} is damaged: see pyusdt doctor -p"
        in traced.stderr
    )
    assert (done.returncode, traced.returncode) == (1, 1)
    assert (
        f"NO  embedded engine  what the process says in {tmp_path} of its probes is damaged\n"
        in done.stdout
    )


def test_doctor_says_what_is_wrong(tmp_path):
    tmp_path.chmod(0o755)
    done = run("doctor", PYUSDT_RUNDIR=str(tmp_path), PYUSDT_CACHE="/proc/none")
    assert done.returncode == 1
    assert re.search(
        rf"NO  embedded engine +run directory {tmp_path} is open to others", done.stdout
    ), done.stdout
    assert (
        "-> make that directory yours" in done.stdout
        and "-- " in done.stdout
        and "set PYUSDT_CACHE" in done.stdout
    )


@pytest.mark.parametrize(
    "said",
    [
        "run directory /x is open to others: its mode must be 0700",
        "run directory /x does not belong to uid 7: remove it, or set PYUSDT_RUNDIR to another one",
    ],
)
def test_doctor_gives_the_advice_about_the_run_directory_once(said, monkeypatch):
    def refuse():
        raise PermissionError(errno.EPERM, said)

    monkeypatch.setattr("pydtrace._tracer.list_probes", refuse)
    found = doctor._check_run_directory()
    assert not found.good and f"{found.text} {found.advice}".count("set PYUSDT_RUNDIR") == 1


def test_doctor_of_a_process_without_pyusdt():
    with subprocess.Popen(["sleep", "30"]) as process:
        done = run("doctor", "-p", str(process.pid))
        process.kill()
    assert (
        done.returncode == 1
        and "has no pyusdt in it" in done.stdout
        and "import pyusdt" in done.stdout
    )
    gone = run("doctor", "-p", "4194305")
    assert gone.returncode == 1 and "no process has this id" in gone.stdout


def test_what_uprobes_do_with_our_sites():
    assert doctor.parse_version("6.18.3-amd64") == (6, 18) and doctor.parse_version("what") == (
        0,
        0,
    )
    versions = [(4, 19), (5, 15), (6, 17), (6, 18), (7, 2), (7, 3)]
    said = {version: doctor.describe_uprobes(version) for version in versions}
    assert "semaphores" in said[4, 19] and said[5, 15] == said[6, 17] == "a trap"
    assert "+11" in said[6, 18] and "kills forked children" in said[6, 18]
    assert said[6, 18] == said[7, 2] and "+1)" in said[7, 3]


NOTHING = {"exists": [], "files": {}, "capabilities": 0, "which": None}
UPROBES = "/sys/bus/event_source/devices/uprobe"
EVERYTHING = {
    "exists": [
        "/sys/bus",
        UPROBES,
        f"{UPROBES}/format/ref_ctr_offset",
        "/sys/kernel/btf/vmlinux",
        "/sys/kernel/tracing/uprobe_events",
    ],
    "files": {"/proc/self/uid_map": "0 0 4294967295"},
    "capabilities": ~0,
    "which": "/bin/sh",
}


@pytest.mark.parametrize(
    ("machine", "subject", "good", "said"),
    [
        ({}, "uprobes", True, "Linux 6.18.0: a trap at the note's nop"),
        ({"exists": []}, "uprobes", False, "/sys is not mounted"),
        ({"exists": ["/sys/bus"]}, "uprobes", False, "CONFIG_UPROBE_EVENTS"),
        ({"exists": ["/sys/bus", UPROBES]}, "uprobes", True, "no reference counters"),
        ({}, "kernel engine", True, "CAP_BPF"),
        ({"capabilities": 0}, "kernel engine", None, "run pydtrace as root"),
        ({"exists": []}, "kernel engine", None, "CONFIG_DEBUG_INFO_BTF"),
        (
            {"files": {"/sys/kernel/security/lockdown": "none [confidentiality]"}},
            "kernel engine",
            False,
            "lockdown",
        ),
        ({}, "tracefs", True, "/sys/kernel/tracing"),
        ({"exists": []}, "tracefs", None, "as root"),
        ({}, "namespaces", True, "the machine"),
        ({"exists": ["/.dockerenv"]}, "namespaces", None, "a container"),
        ({"files": {"/proc/self/uid_map": "0 1000 1"}}, "namespaces", None, "a user namespace"),
        ({}, "other tracers", True, "bpftrace, perf"),
        (NOTHING, "other tracers", None, "pyusdt help tracers"),
        ({}, "dtrace(1)", True, "/bin/sh"),
        (NOTHING, "dtrace(1)", None, "pydtrace takes its place"),
    ],
)
def test_doctor_of_made_up_machines(machine, subject, good, said, monkeypatch):
    """Each finding is told from what it is told from; whatever does not work has an advice."""
    machine = {**EVERYTHING, **machine}
    monkeypatch.setattr(doctor.os.path, "exists", lambda path: path in machine["exists"])
    monkeypatch.setattr(doctor.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(doctor, "_read_small_file", machine["files"].get)
    monkeypatch.setattr(doctor, "effective_capabilities", lambda: machine["capabilities"])
    monkeypatch.setattr(doctor.shutil, "which", lambda name: machine["which"])
    monkeypatch.setattr(doctor.platform, "release", lambda: "6.18.0")
    checks = (
        doctor._check_uprobes,
        doctor._check_rights,
        doctor._check_tracefs,
        doctor._check_namespaces,
        doctor._check_tools,
        doctor._check_dtrace,
    )
    found = {each.subject: each for each in (check() for check in checks)}
    assert (
        found[subject].good is good and said in f"{found[subject].text} {found[subject].advice}"
    ), found
    assert all(each.good or each.advice for each in found.values()), found


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ((3, 10), "frame evaluation hook.*attach PID"),
        ((3, 12), "by sys.monitoring; .*attach PID"),
    ],
)
def test_doctor_says_how_pythons_own_probes_are_had(version, said, monkeypatch):
    monkeypatch.setattr(doctor.sys, "version_info", version)
    assert re.search(said, doctor._check_python_vm().text)


@pytest.mark.parametrize(
    ("release", "good"), [("13.1.5 25", None), ("13.2 25", True), ("15.2.7 27", True), (None, None)]
)
def test_doctor_says_which_erlang_there_is(release, good, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "releases").mkdir()
    (tmp_path / "bin" / "erl").touch(0o755)
    if release:
        (tmp_path / "releases" / "start_erl.data").write_text(f"{release}\n")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    finding = doctor._check_erlang_vm()
    assert (
        finding.good is good
        and f"OTP {release.split()[1] if release else 'of an unknown'}" in finding.text
    )
    assert bool(finding.advice) is not bool(good)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor._check_erlang_vm().good is None


@pytest.mark.parametrize(("status", "good"), [("enabled", None), ("disabled", True)])
def test_doctor_on_macos(status, good, tmp_path, monkeypatch):
    (tmp_path / "csrutil").write_text(
        f"#!/bin/sh\necho System Integrity Protection status: {status}.\n"
    )
    (tmp_path / "csrutil").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    finding = doctor._check_sip()
    assert finding.good is good and bool(finding.advice) is not good


def test_a_check_that_breaks_is_a_finding():
    def _odd_check():
        raise RuntimeError("broken")

    finding = doctor._run_check(_odd_check)
    assert (
        finding.subject == "odd check"
        and finding.good is False
        and "broken" in finding.text
        and finding.advice
    )


def test_systemtaps_dtrace_is_none():
    assert not doctor.is_dtrace(b"#!/usr/bin/python3\n# vim")
    assert doctor.is_dtrace(b"\x7fELF") and doctor.is_dtrace(b"#!/bin/sh\n")
