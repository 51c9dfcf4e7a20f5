"""pyusdt serve: the scripts of a folder, with one that is bad, one that ends, one that costs too much, and files of others."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys

import pytest

from pydtrace.untrusted.trusted_files import changeable_by_others
from tests.support import harness
from tests.support.served_folder import put, served

pytestmark = pytest.mark.xdist_group(
    "unattended"
)  # ticks, and processes that are named: nothing beside them is seen
COMMAND = os.path.join(os.path.dirname(harness.PYDTRACE), "pyusdt")
TICKS = 'tick-50ms {{ printf("{0} %d\\n", n++); }} END {{ printf("{0} says goodbye\\n"); }}'


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "scripts"
    made.mkdir(mode=0o755)
    return made


def is_alive(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"
    return False


def test_nothing_is_imported_from_the_current_folder(folder, tmp_path, monkeypatch):
    """Whoever can write there would run code in the tracers."""
    (tmp_path / "current").mkdir()
    for name in ("ctypes", "os", "pyusdt", "signal"):
        (tmp_path / "current" / f"{name}.py").write_text(
            f"open({str(tmp_path / 'imported')!r}, 'a').write(__file__)"
        )
    monkeypatch.chdir(tmp_path / "current")
    put(folder, "a.d", 'BEGIN { printf("traced\\n"); exit(0); }')
    with served(folder) as found:
        found.wait("^a: traced$")
    assert not (tmp_path / "imported").exists()


def test_each_for_itself(folder):
    """A bad script is started again, later each time; one that has ended is not; another one goes on."""
    put(folder, "good.d", TICKS.format("tick"))
    put(folder, "bad.d", "BEGIN { trace(nosuch); }")
    put(folder, "over.d", 'BEGIN { printf("once\\n"); exit(0); }')
    with served(folder) as found:
        found.wait(r"^over: once$")
        found.wait(r"^over: the script has ended")
        found.wait(r"^bad: .*failed to resolve nosuch")
        found.wait(r"^bad: ended with exit status 1: it is started again in 2 s$")
        found.wait(r"^bad: ended with exit status 1: it is started again in 4 s$")
        found.wait(r"^good: tick \d+$")
        assert found.end() == 0
        assert "good: tick says goodbye\n" in found.said and found.said.count("over: once") == 1


def test_a_change_is_a_new_start(folder):
    put(folder, "one.d", TICKS.format("first"))
    put(folder, "gone.d", TICKS.format("leaves"))
    with served(folder) as found:
        found.wait(r"^one: first \d+$")
        found.wait(r"^gone: leaves \d+$")
        put(folder, "one.d", TICKS.format("second"))
        (folder / "gone.d").unlink()
        found.wait(r"^one: first says goodbye$")
        found.wait(r"^gone: leaves says goodbye$")
        found.wait(r"^one: second \d+$")
        put(folder, "one.args", "-x switchrate=100hz  # a comment\n-D 'unused=a b'")
        found.wait(r"^one: second says goodbye$")
        put(folder, "new.d", TICKS.format("third"))
        found.wait(r"^new: third \d+$")
        put(folder, "new.args", "'")
        found.wait(r"^new: not traced: .*new.args: No closing quotation$")


def test_sighup_begins_anew(folder):
    """Also what has ended by itself."""
    put(folder, "good.d", TICKS.format("tick"))
    put(folder, "over.d", 'BEGIN { printf("once\\n"); exit(0); }')
    with served(folder) as found:
        found.wait(r"^good: tick \d+$")
        found.wait(r"^over: the script has ended")
        found.process.send_signal(signal.SIGHUP)
        found.wait(r"^good: tick says goodbye$(.*\n)*^good: tick \d+$")
        found.wait(r"^over: once$(.*\n)*^over: once$")
        assert found.end() == 0


def test_what_others_could_have_written(folder):
    for name, mode in (("group.d", 0o664), ("all.d", 0o646)):
        put(folder, name, TICKS.format("wrong"))
        (folder / name).chmod(mode)
    (folder / "link.d").symlink_to("group.d")
    put(folder, "args.d", TICKS.format("wrong"))
    put(folder, "args.args", "")
    (folder / "args.args").chmod(0o666)
    with served(folder) as found:
        for name in ("group.d", "all.d", "args.args"):
            found.wait(rf"not traced: .*/{name} can be written by others than root")
        found.wait(r"^link: not traced: .*link.d is no regular file$")
        assert "wrong" not in found.said
    folder.chmod(0o777)
    shown = harness.run([COMMAND, "serve", str(folder)])
    assert shown.status == 1 and "can be written by others" in shown.stderr, shown
    shown = harness.run([COMMAND, "serve", str(folder / "none")])
    assert shown.status == 1 and "No such file" in shown.stderr, shown


@pytest.mark.skipif(os.geteuid() != 0, reason="host: not root")
def test_a_folder_that_others_could_exchange(folder, tmp_path):
    """A link of a stranger's, in a folder of a stranger's, or below one, leads to whatever root's folder he likes."""
    put(folder, "one.d", TICKS.format("wrong"))
    for name in ("theirs", "open", "ours"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "link").symlink_to(folder)
    os.chown(tmp_path / "theirs", 65534, 65534)
    (tmp_path / "open").chmod(0o777)
    os.chown(tmp_path / "ours" / "link", 65534, 65534, follow_symlinks=False)
    (tmp_path / "way").symlink_to("theirs/link")
    for path, blamed in (
        ("theirs/link", "theirs"),
        ("open/link", "open"),
        ("ours/link", "ours/link"),
        ("way", "theirs"),
    ):
        shown = harness.run([COMMAND, "serve", str(tmp_path / path)])
        assert (
            shown.status == 1
            and f"{tmp_path / blamed} can be written by others than root" in shown.stderr
        ), shown
    os.chown(tmp_path / "ours" / "link", 0, 0, follow_symlinks=False)
    (tmp_path / "open").chmod(0o1777)
    for path in ("ours/link", "open/link"):
        assert changeable_by_others(str(tmp_path / path)) is None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_script_outlives_it(folder, number):
    put(folder, "one.d", TICKS.format("tick"))
    with served(folder) as found:
        pid = int(found.wait(r"^one: traced by process (\d+)$")[1])
        found.wait(r"^one: tick \d+$")
        found.process.send_signal(number)
        found.process.wait(30)
        harness.wait_until(lambda: not is_alive(pid))


def test_a_script_that_costs_too_much(folder):
    """It ends itself, and comes back in a minute; another one goes on."""
    put(folder, "busy.d", "".join(f"tick-{n}hz {{ @ = count(); }}" for n in range(4980, 5000)))
    put(folder, "one.d", TICKS.format("tick"))
    put(folder, "one.args", "-x maxcpu=1000")  # its own, whatever --cpu says
    with served(folder, "--cpu", "1") as found:
        found.wait(
            r"^busy: .*tracing stops: it has taken \d+ % of a processor for \d+ s, and -x maxcpu=1 is what it may take$",
            60,
        )
        found.wait(r"^busy: ended with exit status 4: it is started again in 60 s$")
        said = len(found.said)
        harness.wait_until(lambda: "one: tick" in found.said[said:])


def test_memory_is_bounded(folder):
    put(folder, "large.d", "tick-100hz { @[n++] = count(); }")
    with served(folder, "--memory", "96m", "--cpu", "200") as found:
        pid = int(found.wait(r"^large: traced by process (\d+)$")[1])
        with open(f"/proc/{pid}/limits") as file:
            assert re.search(r"Max data size +100663296 +100663296", file.read())


def test_too_much_memory_ends_one_script(folder):
    """It is told, and tried again; another one does not notice."""
    put(folder, "large.d", "tick-1s { @[n++] = llquantize(0, 10, 0, 17, 100); }")
    put(folder, "large.args", "-x aggsize=4g")
    put(folder, "one.d", TICKS.format("tick"))
    with served(folder, "--memory", "256m") as found:
        found.wait(r"^large: .*the script's data need more memory than pydtrace may take")
        found.wait(r"^large: ended with exit status 1: it is started again in 4 s$")
        said = len(found.said)
        harness.wait_until(lambda: "one: tick" in found.said[said:])
        assert found.said.count("one: traced by process") == 1


def test_processes_come_and_go(folder):
    """All that fires while the script is traced counts, also of those that come later, and of those that have gone."""
    put(
        folder,
        "one.d",
        'pyusdt*:::user_trace-i4s4 /copyinstr(arg6) == "come and go"/ { @ = count(); }'
        ' BEGIN { printf("begun\\n"); } tick-100ms { printa("so far %@d\\n", @); }',
    )
    program = (
        "import pyusdt, sys\nfor n in range(100): pyusdt.p(n, 0, 'come and go')\nprint('fired', flush=True)\nsys.stdin.readline()\n"
        "for n in range(100): pyusdt.p(n, 0, 'come and go')"
    )
    fires = [sys.executable, "-c", program]
    with served(folder) as found:
        found.wait(r"^one: begun$")
        for number in range(3):
            with harness.running(fires, stdin=subprocess.PIPE) as process:
                assert process.stdout.readline() == "fired\n"
                found.wait(rf"^one: so far {100 + 200 * number}$")
                process.stdin.write("\n")
                assert harness.finish(process, 30).status == 0
            found.wait(rf"^one: so far {200 + 200 * number}$")


def test_systemd_hears_how_it_is(folder, tmp_path):
    put(folder, "one.d", TICKS.format("tick"))
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as here:
        here.bind(path)
        here.settimeout(30)
        with served(folder, NOTIFY_SOCKET=path):
            told = here.recv(4096).decode()
            while "STATUS=1 of 1 scripts run" not in told:
                told += "\n" + here.recv(4096).decode()
    assert told.startswith("READY=1\n") and "WATCHDOG=1" in told


def test_the_unit_is_one(tmp_path):
    """With the path of this pyusdt in it, as its guide says."""
    with open(os.path.join(harness.ROOT, "scripts", "systemd", "pyusdt.service")) as file:
        text = file.read()
    assert "/usr/local/bin/pyusdt" in text
    (tmp_path / "pyusdt.service").write_text(text.replace("/usr/local/bin/pyusdt", COMMAND))
    shown = harness.run(["systemd-analyze", "verify", str(tmp_path / "pyusdt.service")])
    assert shown.status == 0 and shown.stderr == "", shown
