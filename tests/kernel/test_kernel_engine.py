"""The kernel engine from outside: targets that run, are started, come later, die; what is counted is exact."""

import math
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

import pytest

from pydtrace.bpf import syscalls
from tests.support import harness
from tests.support.elf_notes import read_notes
from tests.support.kernel_harness import DATA, PYDTRACE, pydtrace, start_pydtrace, wait_until

PYUSDT = os.path.join(os.path.dirname(sys.executable), "pyusdt")

pytestmark = pytest.mark.usefixtures("bpf")
WAYS = [(), ("-x", "nop5"), ("-x", "attach=perf")]
COUNT = (
    "target*:::plain-two { @ = count(); @s = sum(arg0); } target*:::guarded-one { @g = sum(arg0); }"
)


def fire(process, times=1):
    for _ in range(times):
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "fired\n"


@pytest.mark.parametrize("options", WAYS, ids=" ".join)
def test_counts_are_exact_over_threads(target, options):
    n, threads = 100_000, 2
    out, err, status = pydtrace("-q", "-n", COUNT, "-c", f"{target} {n} {threads}", options=options)
    assert f"plain {n * threads} guarded {n * threads}\n" in out, err
    total = threads * n * (n - 1) // 2
    assert out.split()[-3:] == [str(n * threads), str(total), str(-total)] and status == 0


FUNCTIONS = """target*:::guarded-one { @n = count(); @s = sum(arg0); @a = avg(arg0); @l = min(arg0); @h = max(arg0);
    @d = stddev(arg0 * 3000000000); @q = quantize(arg0); @lq = lquantize(arg0, -100, 100, 50); }
    END { printa("%@d ", @n); printa("%@d ", @s); printa("%@d ", @a); printa("%@d ", @l); printa("%@d ", @h);
    printa("%@d\\n", @d); printa(@q); printa(@lq); clear(@n); }"""


def test_every_function_adds_up_what_the_cpus_have(target):
    """Two threads on two CPUs: the same as if one had done it all."""
    n, threads = 50_000, 2
    out, err, _ = pydtrace("-q", "-n", FUNCTIONS, "-c", f"{target} {n} {threads}")
    values = [-i for i in range(n)] * threads
    scaled = [value * 3_000_000_000 for value in values]
    mean = abs(sum(scaled)) // len(values)
    deviation = math.isqrt(sum(value * value for value in scaled) // len(values) - mean * mean)
    mean_of_format = (
        sum(values) % (1 << 64) // len(values)
    )  # %@d divides without a sign, as dtrace's does
    expected = [len(values), sum(values), mean_of_format, 1 - n, 0, deviation]
    line = next(line for line in out.splitlines() if line.endswith(str(deviation)))
    assert list(map(int, line.split())) == expected, err
    buckets = [line.split() for line in out.splitlines() if "|" in line]
    assert sum(int(words[-1]) for words in buckets) == 2 * len(values)
    assert [words[-1] for words in buckets if words[0] == "<"] == [str(len(values) - 2 * 101)]


@pytest.mark.long
def test_ten_million_firings_are_counted_exactly(target):
    out, _, _ = pydtrace("-q", "-n", COUNT, "-c", f"{target} 5000000 2", timeout=300)
    assert out.split()[-3] == "10000000"


def test_every_firing_is_delivered_or_counted_as_dropped(target):
    n = 200_000
    out, err, _ = pydtrace(
        "-q",
        "-x",
        "bufsize=64k",
        "-n",
        'target*:::plain-two { printf("%d %s %d\\n", arg0, copyinstr(arg1), tid); }',
        "-c",
        f"{target} {n}",
    )
    delivered = len([line for line in out.splitlines() if line and line[0].isdigit()])
    dropped = harness.count_drops(err)
    assert delivered + dropped == n


def test_strings_and_order(target):
    out, err, _ = pydtrace(
        "-q",
        "-n",
        'target*:::plain-two { printf("%d %s\\n", arg0, copyinstr(arg1)); }',
        "-c",
        f"{target} 1000",
    )
    words = ["zero", "one", "two", "three"]
    assert [line for line in out.splitlines() if line[:1].isdigit()] == [
        f"{i} {words[i % 4]}" for i in range(1000)
    ], err


def test_what_the_event_says_of_the_process(target, running):
    process = running(0)
    script = (
        'BEGIN { printf("ready\\n"); } target$target:::plain-two { printf("%d %d %d %d %s %s %s %s %s\\n", pid, tid, '
        "uid, gid, execname, probeprov, probemod, probefunc, probename); exit(3); }"
    )
    tracer = start_pydtrace("-q", "-n", script, "-p", process.pid, wait_for="ready")
    wait_until(lambda: fire(process) or tracer.poll() is not None)
    pid = process.pid
    out = tracer.communicate()[0]
    assert (
        out == f"{pid} {pid} 0 0 target target{pid} target fire_plain plain-two\n\n"
        and tracer.returncode == 3
    )


def test_a_process_that_is_not_the_target_is_not_seen(target, running):
    one, other = running(0), running(0)
    tracer = start_pydtrace(
        "-q", "-n", SEEN.replace("target*", "target$target"), "-p", one.pid, wait_for="ready"
    )
    wait_until(lambda: _counter(one, target) > 0)
    fire(other, 3)
    fire(one, 5)
    assert counts_of(tracer) == {one.pid: 5, -one.pid: 5}


def test_a_pattern_beside_a_process_stands_for_all(target, running):
    one, other = running(0), running(0)
    tracer = start_pydtrace("-q", "-n", SEEN, "-p", one.pid, wait_for="ready")
    wait_until(lambda: _counter(one, target) > 0)
    fire(other, 3)
    fire(one, 5)
    assert counts_of(tracer) == {one.pid: 5, -one.pid: 5, other.pid: 3, -other.pid: 3}


def _counter(process, target):
    """The semaphore of guarded-one in a process."""
    line = subprocess.run(
        ["nm", target], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    address = next(
        int(words[0], 16)
        for words in map(str.split, line)
        if words[-1] == "target_guarded__one_semaphore"
    )
    with open(f"/proc/{process.pid}/maps") as maps:
        base = int(maps.readline().split("-")[0], 16)
    with open(f"/proc/{process.pid}/mem", "rb") as memory:
        memory.seek(base + address)
        return int.from_bytes(memory.read(2), "little")


def counts_of(tracer):
    """End the tracer; its aggregation {integer key: count}."""
    tracer.send_signal(signal.SIGINT)
    words = tracer.communicate(timeout=10)[0].split()
    return dict(zip(map(int, words[::2]), map(int, words[1::2])))


SEEN = 'BEGIN { printf("ready\\n"); } target*:::guarded-one { @[pid] = count(); } target*:::plain-two { @[-pid] = count(); }'


def test_all_processes_those_to_come_as_well(target, running):
    before = running(0)
    tracer = start_pydtrace("-q", "-n", SEEN, wait_for="ready")
    wait_until(lambda: _counter(before, target) > 0)
    after = running(0)
    fire(before, 2)
    fire(after, 3)
    assert counts_of(tracer) == {before.pid: 2, -before.pid: 2, after.pid: 3, -after.pid: 3}


@pytest.mark.parametrize(
    "end", [signal.SIGKILL, signal.SIGSEGV, signal.SIGINT], ids=["killed", "crashed", "stopped"]
)
@pytest.mark.parametrize("method", ["multi", "perf"])
def test_nothing_is_left(target, running, method, end):
    process = running(0)
    tracer = start_pydtrace(
        "-q", "-x", f"attach={method}", "-n", SEEN, "-p", process.pid, wait_for="ready"
    )
    wait_until(lambda: _counter(process, target) > 0)
    made = _objects(tracer.pid)
    assert {kind for kind, _ in made} == {"prog", "map", "link"} and all(
        _lives(*each) for each in made
    )
    tracer.send_signal(end)
    tracer.communicate()
    wait_until(lambda: not any(_lives(*each) for each in made))
    with open("/sys/kernel/tracing/uprobe_events") as events:
        assert os.path.basename(os.path.dirname(target)) not in events.read()
    wait_until(lambda: _counter(process, target) == 0)
    assert _site_bytes(process, target) == _site_bytes(None, target)  # no breakpoint either
    fire(process)


def _objects(pid):
    """{(kind, id)} of the BPF objects that a process has descriptors of."""
    found = set()
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{name}") as file:
                words = dict(line.split(":", 1) for line in file if ":" in line)
        except FileNotFoundError:
            continue  # it was open for a moment: the tracer looks at what processes map
        found |= {
            (kind, int(words[f"{kind}_id"]))
            for kind in ("prog", "map", "link")
            if f"{kind}_id" in words
        }
    return found


def _lives(kind, ident):
    """Whether the kernel has it still."""
    try:
        os.close(
            syscalls.bpf(
                {"prog": 13, "map": 14, "link": 30}[kind],
                syscalls._attribute_buffer(struct.pack("=I", ident)),
            )
        )
    except FileNotFoundError:
        return False
    return True


def _site_bytes(process, target):
    """The first bytes of plain-two's site, in the process or in the file."""
    note = next(note for note in read_notes(target) if note.name == "plain__two")
    if process is None:
        with open(target, "rb") as file:
            file.seek(note.location)  # gcc's programs have text where it is linked
            return file.read(1)
    with open(f"/proc/{process.pid}/maps") as maps:
        base = int(maps.readline().split("-")[0], 16)
    with open(f"/proc/{process.pid}/mem", "rb") as memory:
        memory.seek(base + note.location)
        return memory.read(1)


def test_a_deleted_file(target, running, tmp_path):
    copy = str(tmp_path / "gone")
    shutil.copy(target, copy)
    process = running(0, program=copy)
    fire(process)
    os.unlink(copy)
    tracer = start_pydtrace("-q", "-n", SEEN, "-p", process.pid, wait_for="ready")
    wait_until(lambda: _counter(process, target) > 0)
    fire(process, 4)
    assert counts_of(tracer) == {process.pid: 4, -process.pid: 4}


def test_a_process_in_another_mount_namespace(target, running, tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    shutil.copy(target, inside / "program")
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    command = f"mount --bind {inside} {hidden} && exec {hidden}/program 0"
    process = running("-m", "sh", "-c", command, program="unshare")
    fire(process)
    tracer = start_pydtrace("-q", "-n", SEEN, "-p", process.pid, wait_for="ready")
    wait_until(lambda: _counter(process, target) > 0)
    fire(process, 2)
    assert counts_of(tracer) == {process.pid: 2, -process.pid: 2}


def test_exit_stops_all_probes_at_once(target):
    out, _, status = pydtrace(
        "-q",
        "-n",
        "target*:::plain-two { @ = count(); } target*:::plain-two /arg0 == 9/ { exit(7); }"
        ' target*:::guarded-one { @g = count(); } END { printf("end\\n"); }',
        "-c",
        f"{target} 100000",
    )
    assert status == 7
    assert [line for line in out.split("\n") if line.strip().isdigit()] == [
        "               10",
        "                9",
    ]
    assert out.index("end\n") < out.index("  10\n")


def test_every_numbered_probe_at_once():
    program = os.path.join(DATA, "numbered.py")
    out, err, _ = pydtrace(
        "-q",
        "-n",
        "pyusdt$target:::user_trace-n* { @[probename] = count(); @n = sum(arg2); }",
        "-c",
        f"{sys.executable} {program}",
    )
    lines = out.split("\n")
    counted = {line.split()[0]: int(line.split()[1]) for line in lines if "user_trace" in line}
    assert counted == {f"user_trace-n{i}": 1 for i in range(951)}, err
    assert str(sum(range(951))) in out


def test_begin_ticks_and_probes_share_variables(running):
    process = running(0)
    script = (
        'BEGIN { n = 5; printf("ready\\n"); } target*:::plain-two { n += 100; } '
        'tick-10ms { ticks++; } tick-10ms /n == 105 && ticks > 2/ { printf("%d", n); exit(0); }'
    )
    tracer = start_pydtrace("-q", "-n", script, "-p", process.pid, wait_for="ready")
    wait_until(lambda: fire(process) or tracer.poll() is not None or True)
    fired = tracer.communicate(timeout=10)[0]
    assert fired == "105\n"


def test_no_such_process():
    out, err, status = pydtrace("-n", "target*:::", "-p", 4194303)
    assert (out, status) == ("", 1) and "No such process: 4194303" in err


def test_from_within_a_pid_namespace(target):
    """Ids are the namespace's."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("host: only root can make a namespace")
    script = (
        "target$target:::plain-two { @[pid, tid, probeprov] = count(); } syscall::exit_group:entry /pid == $target/ { "
        'printf("exit %d %d\\n", pid, $target); }'
    )
    done = subprocess.run(
        [
            "unshare",
            "--pid",
            "--fork",
            "--mount-proc",
            PYDTRACE,
            "-q",
            "-x",
            "engine=kernel",
            "-n",
            script,
            "-c",
            f"{target} 10",
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    words = [line.split() for line in done.stdout.splitlines() if line.strip()]
    pid = next(row[1] for row in words if row[0] == "exit")
    thread = next(row[1] for row in words if row[0] == pid)
    assert 0 < int(pid) < int(thread) < 50, done
    assert ["exit", pid, pid] in words and [pid, thread, f"target{pid}", "10"] in words, done


def test_a_container_seen_from_outside(target, running, tmp_path):
    """Its own mount and pid namespaces, and a program that only it can see."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("host: only root can make namespaces")
    inside = f"mount -t tmpfs none {tmp_path} && cp {target} {tmp_path}/hidden && exec {tmp_path}/hidden 0"
    shell = running(
        "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", inside, program="unshare"
    )
    fire(shell)
    children = f"/proc/{shell.pid}/task/{shell.pid}/children"
    with open(children) as file:
        pid = int(file.read())
    tracer = start_pydtrace(
        "-q",
        "-n",
        'BEGIN { printf("ready\\n"); } target$target:::plain-two { printf("%d %s\\n", pid, probemod); '
        "exit(0); }",
        "-p",
        pid,
        wait_for="ready",
    )
    wait_until(lambda: fire(shell) or tracer.poll() is not None)
    assert tracer.communicate()[0].split() == [str(pid), "hidden"]
    os.kill(pid, signal.SIGKILL)


def test_a_program_that_is_in_no_folder(target, running):
    """A memfd, found through /proc/PID/map_files."""
    with open(target, "rb") as file:
        fd = os.memfd_create("pyusdt-test")
        os.write(fd, file.read())
    process = running(0, program=f"/proc/self/fd/{fd}", pass_fds=(fd,))
    os.close(fd)
    tracer = start_pydtrace(
        "-q",
        "-n",
        'BEGIN { printf("ready\\n"); } target$target:::plain-two { printf("%s\\n", probemod); exit(0); }',
        "-p",
        process.pid,
        wait_for="ready",
    )
    wait_until(lambda: fire(process) or tracer.poll() is not None)
    assert tracer.communicate()[0].split() == ["memfd:pyusdt-test"]


def test_a_32_bit_program_is_refused(tmp_path):
    path = tmp_path / "narrow"
    path.write_bytes(b"\x7fELF\x01\x01\x01" + bytes(60))
    path.chmod(0o755)
    _, err, status = pydtrace("-n", "x$target:::y", "-c", path)
    assert status == 1 and f"{path} is a 32-bit program, which cannot be traced" in err


def test_string_functions_of_string_functions(tmp_path):
    """The verifier would give up if it went through the rest of the program for every length of a string."""
    program = tmp_path / "asks.py"
    program.write_text("import ctypes\nctypes.CDLL(None).getenv(b'/usr/lib/NAME')\n")
    script = """pid$target:libc.so:getenv:entry /basename(copyinstr(arg0)) == "NAME"/ {
        printf("%d %s %s", strlen(basename(copyinstr(arg0))), strjoin(basename(copyinstr(arg0)), "x"),
            strjoin(dirname(copyinstr(arg0)), substr(basename(copyinstr(arg0)), 1))); exit(0); }"""
    out, err, _ = pydtrace("-qn", script, "-c", f"{sys.executable} {program}")
    assert out == "4 NAMEx /usr/libAME\n", err


def test_string_functions_in_keys_of_distributions(tmp_path):
    """It gave up, since it went through the loop over the string for each bucket that quantize()'s value may be in."""
    program = tmp_path / "asks.py"
    program.write_text(
        "import ctypes\nfor name in (b'/usr/lib/A', b'/B', b'/opt/A'):\n    ctypes.CDLL(None).getenv(name)\n"
    )
    script = """pid$target:libc.so:getenv:entry /substr(copyinstr(arg0), 0, 1) == "/"/ {
        this->name = copyinstr(arg0);
        @b[basename(copyinstr(arg0)), copyinstr(arg0)] = quantize(strlen(this->name));
        @d[dirname(copyinstr(arg0)), toupper(basename(this->name))] = llquantize(strlen(this->name), 10, 0, 3, 10);
        self->n[strlen(this->name)] = 1; }
        END { printa("%s %s\\n", @b); printa("%s %s\\n", @d); }"""
    out, err, _ = pydtrace("-qn", script, "-c", f"{sys.executable} {program}")
    assert sorted(out.split("\n")) == sorted(
        ["A /opt/A", "A /usr/lib/A", "B /B", "/ B", "/opt A", "/usr/lib A", "", ""]
    ), (out, err)


def test_a_run_directory_that_is_another_s_is_told():
    """Who makes it before root's first process keeps the embedded engine from root, but not in silence."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("host: only root can make a namespace")
    squat = "mount -t tmpfs tmpfs /dev/shm && chmod 1777 /dev/shm && mkdir -m 700 /dev/shm/pyusdt-0 && chown 54001 /dev/shm/pyusdt-0"
    environment = {name: value for name, value in os.environ.items() if name != "PYUSDT_RUNDIR"}
    done = subprocess.run(
        [
            "unshare",
            "-m",
            "sh",
            "-c",
            f'{squat} && exec "$@"',
            "-",
            PYDTRACE,
            "-Zqn",
            "pyusdt*:::, BEGIN { exit(0); }",
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and done.stderr == (
        "dtrace: the kernel engine traces, since the embedded one does not work: run directory /dev/shm/pyusdt-0 does not belong to "
        "uid 0: remove it, or set PYUSDT_RUNDIR to another one, for program and tracer\n"
    ), done


@pytest.mark.parametrize("engine", ["kernel", "embedded"])
def test_walltimestamp_goes_on_from_clause_to_clause(engine):
    """As in dtrace."""
    out, err, _ = pydtrace(
        "-x",
        f"engine={engine}",
        "-qn",
        'BEGIN { t = walltimestamp; } BEGIN { u = walltimestamp; } BEGIN { printf("%d %d %d", t < u, u < walltimestamp, '
        "walltimestamp / 1000000000); exit(0); }",
    )
    later, more, seconds = map(int, out.split())
    assert (later, more) == (1, 1) and abs(seconds - time.time()) < 60, err


def test_without_sysfs():
    """The error and the doctor say what is missing; no other engine takes its place."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("host: not root, or no unshare")
    for command, status, text in (
        (
            [PYDTRACE, "-qn", "syscall::openat:entry { exit(0); }"],
            1,
            "the kernel engine reads /sys, which is not mounted here: mount -t sysfs sysfs /sys",
        ),
        ([PYUSDT, "doctor"], None, "unknown: /sys is not mounted"),
    ):
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", 'umount -l /sys && exec "$@"', "sh", *command],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert text in done.stdout + done.stderr and "bug" not in done.stderr, done
        assert status is None or done.returncode == status, done
