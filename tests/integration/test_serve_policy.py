"""What a policy of `pydtrace --serve` bounds, on each engine: the table in docs/reference/host-policy.md, cell by cell.

The fields that are decided before there is an engine (scripts, commands, relay, audit) are in test_hosts.py, test_relays.py and
test_hosts_central.py as well.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import fcntl
import json
import subprocess
import sys
import time

import pytest

from pydtrace.dlang.compile import Compiler
from pydtrace.driver import cpu_limit
from pydtrace.driver.python_frame_names import PythonFrameNames
from pydtrace.engine import NotAllowed, Targets
from pydtrace.engine.embedded.engine import EmbeddedEngine
from pydtrace.engine.kernel.engine import KernelEngine
from pydtrace.engine.kernel.kernel_structs import KernelBtf
from pydtrace.engine.kernel.probes.raw_tracepoints import KernelInfo
from pydtrace.hosts.request import build_version
from pydtrace.options import Options
from pydtrace.process.identity import start_ticks
from tests.support import harness

# fires a probe, makes a system call, and works: what it shows is its second argument, its name the first
BUSY = """
import os, sys, pyusdt
open("/proc/self/comm", "w").write(sys.argv[1])
null = os.open("/dev/null", os.O_WRONLY)
print(flush=True)
while True:
    pyusdt.p(1, sys.argv[2])
    os.write(null, sys.argv[2].encode())
    sum(range(20000))
"""
ONLY = "processes: onlyme\naudit: no\n"
SECRET = "hunter2"
_FRAMES = 16  # where in a key that is a stack


@pytest.fixture(scope="module")
def neighbours():
    """The pids of a process that the policy allows and of one that it does not."""
    with contextlib.ExitStack() as stack:
        found = []
        for name, text in (("onlyme", "mine"), ("another", SECRET)):
            process = stack.enter_context(harness.running([sys.executable, "-c", BUSY, name, text]))
            process.stdout.readline()
            found.append(process.pid)
        yield found


class Served:
    """A run of pydtrace --serve.  lines: what it said; other: what was no JSON."""

    def __init__(self, status: int, text: str, seconds: float):
        self.status, self.seconds, self.lines, self.other = status, seconds, [], []
        for line in text.splitlines():
            try:
                self.lines.append(json.loads(line))
            except ValueError:
                self.other.append(line)

    def __repr__(self) -> str:
        return f"status {self.status} after {self.seconds:.1f} s: {str(self.lines)[:3000]} {self.other}"

    @property
    def why(self) -> str:
        return "".join(line["why"] for line in self.lines if line["type"] == "refused")

    def keys(self) -> set[tuple]:
        return {
            tuple(map(str, row[0]))
            for line in self.lines
            if line["type"] == "delta"
            for row in line["rows"]
        }

    def has(self, kind: str) -> bool:
        return any(line["type"] == kind for line in self.lines)


@pytest.fixture
def serve(tmp_path):
    """serve(POLICY, SCRIPT, until=a text that has to come before it is stopped, seconds=how long that is waited for, **the request's)"""

    def run(
        policy: str,
        script: str,
        *,
        until: str = '"delta"',
        seconds: float = 20,
        send: bool = True,
        **request,
    ) -> Served:
        path = tmp_path / "policy"
        path.write_text(policy)
        asked = {
            "type": "trace",
            "schema": 2,
            "release": build_version(),
            "host": "h",
            "interval": 0.1,
            "width": 9,
            "operands": [],
            "pids": [],
            "command": None,
            "options": {},
            "requests": [{"text": script, "level": "name"}],
            **request,
        }
        began = time.monotonic()
        with open(tmp_path / "said", "w+") as said:
            process = subprocess.Popen(
                [harness.PYDTRACE, f"--serve={path}"],
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=subprocess.STDOUT,
                bufsize=0,
            )

            def await_text(text: str, until: float) -> None:
                while (
                    process.poll() is None
                    and time.monotonic() < until
                    and text not in (tmp_path / "said").read_text()
                ):
                    time.sleep(0.02)

            try:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.write(
                        "".join(
                            json.dumps(line) + "\n" for line in (asked, {"type": "go"}) * send
                        ).encode()
                    )
                    await_text(until, began + seconds)
                    process.stdin.write(b'{"type": "stop"}\n')
                    await_text('"exit"', began + seconds + 20)
                process.stdin.close()
                status = process.wait(20)
            finally:
                process.kill()
                process.wait()
            said.seek(0)
            return Served(status, said.read(), time.monotonic() - began)

    return run


# --- processes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"engine": "embedded"}, {}])
def test_processes_embedded(options, serve, neighbours):
    """Probes of pyusdt, and samples."""
    script = "pyusdt*:::user_trace-i4s4 { @[copyinstr(arg6)] = count(); } profile-97 { @[execname] = count(); }"
    done = serve(ONLY, script, options=options, until="onlyme")
    assert done.keys() == {("mine",), ("onlyme",)}, done


def test_processes_that_send_their_events(serve, neighbours):
    done = serve(
        ONLY,
        "pyusdt*:::user_trace-i4s4 { @[copyinstr(arg6)] = count(); }",
        options={"hostmode": "central"},
        until='"events"',
    )
    events = b"".join(
        base64.b64decode(line["data"]) for line in done.lines if line["type"] == "events"
    )
    assert b"mine" in events and SECRET.encode() not in events, done


def test_processes_kernel(serve, root, neighbours):
    """All that can fire in any process, and may be kept to some."""
    pid = neighbours[0]
    script = "syscall::write:entry { @[execname, copyinstr(arg1, 16)] = count(); }syscall:::return { @[execname, probename] = count(); }profile-97 { @[execname, probeprov] = count(); }pid*:libc:write:entry { @[execname, probefunc] = count(); }pyusdt*:::user_trace-i4s4 { @[execname, copyinstr(arg6)] = count(); }"
    done = serve(ONLY, script, options={"engine": "kernel"}, until="profile")
    assert done.keys() == {("onlyme", text) for text in ("mine", "return", "profile", "write")}, (
        done
    )
    named = serve(
        ONLY, "syscall::write:entry { @[pid] = count(); }", options={"engine": "kernel"}, pids=[pid]
    )
    assert named.keys() == {(str(pid),)}, named


def test_processes_kernel_for_a_command(serve, root, neighbours):
    """The command that may be started, and nobody beside it."""
    done = serve(
        ONLY + "commands: yes\n",
        "syscall::write:entry { @[execname] = count(); }",
        options={"engine": "kernel"},
        command="dd if=/dev/zero of=/dev/null bs=1 count=100000",
        until="dd",
    )
    assert done.keys() == {("dd",)}, done
    done = serve(
        ONLY + "commands: yes\n",
        "pyusdt*:::user_trace-i4s4 { @[copyinstr(arg6)] = count(); }",
        options={"engine": "embedded"},
        command=f"{sys.executable} -c 'import pyusdt, time\nfor i in range(100): pyusdt.p(1, \"own\"); time.sleep(0.01)'",
    )
    assert done.keys() == {("own",)}, done


@pytest.mark.parametrize("script", [
    "sched:::on-cpu { trace(execname); }", "sched:::wakeup { trace(args[0]->pr_lwpid); }", "proc:::exec { trace(stringof(arg0)); }", "io:::start { trace(1); }",
    "tcp:::send { trace(1); }", "rawtp:::sys_enter { trace(arg0); }", "rawtp:sched::sched_switch { trace(1); }", "*:::start { trace(1); }",
    "syscall:::entry { trace(curthread->comm); }", "profile-97 { trace(curpsinfo->pr_fname); }", "syscall:::entry { trace(curlwpsinfo->pr_lwpid); }",
    "syscall:::entry { trace(((struct task_struct *)arg0)->pid); }",
])  # fmt: skip
def test_what_can_not_be_kept_to_processes(script, serve, root, neighbours):
    """It is refused, whichever engine is asked for."""
    done = serve(ONLY, script)
    assert done.status == 1 and "this host's policy allows only some processes, and " in done.why, (
        done
    )


def test_the_kernel_s_memory_is_not_read(serve, root, neighbours):
    """By a number that is an address there: a fault, with the ERROR probe, too."""
    (key,) = keys_of(
        f"syscall::write:entry /pid == {neighbours[1]}/ {{ @[(uint64_t)curthread] = count(); }}",
        Targets(),
    )
    address = int.from_bytes(key[-8:], "little") + KernelInfo().member_offset("task_struct", "comm")
    at = f"{address:#x}ULL"
    read = f"stringof((char *){at})"
    script = f"syscall::write:entry {{ trace({read}); }} ERROR {{ trace(copyinstr({at})); }}"
    done = serve(ONLY, script, options={"engine": "kernel"}, until='"fault"')
    assert done.has("fault") and not done.has("record"), done
    assert (
        keys_of(f'syscall::write:entry {{ @[curthread == 0 ? "" : {read}] = count(); }}', Targets())
        != []
    )


@pytest.mark.parametrize(
    "how", [{"options": {"engine": "dtrace"}}, {"script": "#pragma D option engine=dtrace\n"}]
)
def test_processes_dtrace(how, serve, neighbours):
    done = serve(ONLY, how.pop("script", "") + "pyusdt*:::user_trace-i4s4 { trace(1); }", **how)
    assert done.status == 1 and (
        "cannot be limited to them" in done.why or "there is no dtrace" in done.why
    ), done


@contextlib.contextmanager
def opened(make, script, targets, options=()):
    """An engine, whose BEGIN has fired."""
    compiler = Compiler(Options(options), kernel=KernelBtf())
    compiler.compile_text(script)
    engine = make(compiler.generate_program(), compiler.options)
    try:
        engine.open(targets)
        engine.interpreters = (
            PythonFrameNames(engine.has_pthread_ids) if engine.needs_interpreters else None
        )
        engine.begin()
        yield engine
    finally:
        engine.close()


def keys_of(script, targets):
    """The keys of the first aggregation, of what the kernel engine saw in a moment."""
    with opened(KernelEngine, script, targets) as engine:
        engine.poll(0.3)
        return [key for key, _ in engine.items(engine.program.aggregations[0].map)]


def test_a_process_is_its_id_and_when_it_began(root, neighbours):
    """Another one that has the id is not read, on either engine."""
    pid = neighbours[0]
    began = start_ticks(pid)
    counts = [
        len(keys_of("syscall::write:entry { @ = count(); }", Targets((pid,), allowed={pid: when})))
        for when in (began, began - 1)
    ]
    assert counts == [1, 0]
    with (
        pytest.raises(NotAllowed, match="another process has its id"),
        opened(
            EmbeddedEngine,
            "user_trace-i4s4 { @ = count(); }",
            Targets((pid,), allowed={pid: began - 1}),
        ),
    ):
        pass


def test_probes_of_the_tracer_read_nothing_of_it(root, neighbours):
    """BEGIN, ticks and END fire in the tracer."""
    pid, text = neighbours[0], ctypes.create_string_buffer(b"of the tracer")
    script = f"BEGIN {{ trace(copyinstr({ctypes.addressof(text)})); }} BEGIN {{ trace(execargs); }} BEGIN {{ @[ustack()] = count(); }}"
    found = []
    for allowed in (None, {pid: start_ticks(pid)}):
        with opened(KernelEngine, script, Targets((pid,), allowed=allowed)) as engine:
            (key, _), *_ = engine.items(engine.program.aggregations[0].map)
            records = engine.poll(0.1)
            found.append((b"of the tracer" in records, b"python" in records, any(key[_FRAMES:])))
    assert found == [(True, True, True), (False, False, False)]


# --- options, destructive ------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_options(engine, serve, root, tmp_path):
    """Of the request and of the script, but of scripts that are the policy's own."""
    policy = "options: strsize engine\naudit: no\n"
    done = serve(
        policy, "user_trace-i4s4 { @ = count(); }", options={"engine": engine, "aggsize": 1 << 20}
    )
    assert done.why == "this host's policy does not allow -x aggsize", done
    script = "#pragma D option quiet\n#pragma D option aggsize=1m\nuser_trace-i4s4 { @ = count(); }"
    done = serve(policy, script, options={"engine": engine})
    assert done.why == "this host's policy does not allow the script's #pragma D option aggsize", (
        done
    )
    (tmp_path / "own.d").write_text(script)
    done = serve(
        policy + f"scripts: {tmp_path}/own.d\n",
        script,
        options={"engine": engine},
        until='"heartbeat"',
    )
    assert done.status == 0, done


@pytest.mark.parametrize(
    "options",
    [
        {"strsize": 1 << 30},
        {"bufsize": -1},
        {"bufsize": "4m"},
        {"strsize": [1]},
        {"engine": "fast"},
        {"nolibs": False},
    ],
)
def test_options_that_no_pydtrace_would_send(options, serve):
    done = serve("audit: no\n", "user_trace-i4s4 { @ = count(); }", options=options)
    assert done.status == 1 and f"option {next(iter(options))} cannot have the value" in done.why, (
        done
    )


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_destructive(engine, serve, root):
    done = serve(
        "audit: no\n",
        "#pragma D option destructive\nuser_trace-i4s4 { @ = count(); }",
        options={"engine": engine},
    )
    assert done.why == "this host's policy does not allow destructive actions", done


def test_values(serve, tmp_path):
    """They may be forbidden; the audit has their paths, whatever comes of it."""
    audit = tmp_path / "audit"
    script = (
        "python*::f:function-entry /local.cart.total > 1/ { @[(string)global.NAME] = count(); }"
    )
    done = serve(f"audit: {audit}\nvalues: no\n", script)
    assert done.why == "this host's policy does not allow values of programs: local.cart.total", (
        done
    )
    line = audit.read_text()
    assert "values=local.cart.total,global.NAME script=" in line and "refused: " in line
    done = serve(
        f"audit: {audit}\nvalues: no\n", "python*::f:function-entry { @ = count(); }", seconds=1
    )
    assert not done.why and "values=" not in audit.read_text().splitlines()[1], done


@pytest.mark.parametrize("by_script", [False, True])
def test_secrets(serve, by_script):
    """Not without the policy, whether the request or the script asks for them."""
    script = "python*::f:function-entry { @[repr(local)] = count(); }"
    options = {} if by_script else {"secrets": True}
    script = "#pragma D option secrets\n" * by_script + script
    done = serve("audit: no\n", script, options=options)
    assert done.why == "this host's policy does not allow -x secrets", done
    done = serve("audit: no\nsecrets: yes\n", script, options=options, seconds=1)
    assert not done.why, done


# --- maxcpu, memory, time ------------------------------------------------------------------------


def test_maxcpu_kernel(root, neighbours):
    """What its programs take in the traced processes counts, where a policy bounds it; test_pyusdt_serve.py has what pydtrace itself takes."""
    took = []
    for options in ({}, {"programstime": True}):
        with opened(
            KernelEngine,
            "syscall::write:entry { @[copyinstr(arg1)] = count(); }",
            Targets(neighbours),
            options,
        ) as engine:
            bound = cpu_limit.CpuLimit(1, engine.programs_time)
            engine.poll(0.5)
            took.append(engine.programs_time())
    assert took[0] == 0.0 < took[1]
    bound._began -= cpu_limit.WINDOW
    bound._other_seconds = lambda: 60.0
    assert "and -x maxcpu=1 is what it may take" in bound.check_limit()


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_memory(engine, serve, root, neighbours):
    script = (
        "user_trace-i4s4 { @[pid] = quantize(arg0); }"
        if engine == "embedded"
        else "syscall:::entry { @[pid] = quantize(arg0); }"
    )
    done = serve("memory: 64m\naudit: no\n", script, options={"engine": engine, "aggsize": 1 << 32})
    assert done.status == 1 and "memory" in done.why and "-x aggsize" in done.why, done
    assert serve("memory: 256m\naudit: no\n", script, options={"engine": engine}).status == 0


def test_memory_of_a_ring(serve):
    done = serve(
        "memory: 128m\naudit: no\n",
        "user_trace-i4s4 { @ = count(); }",
        options={"engine": "embedded", "bufsize": 256 << 20},
    )
    assert done.status == 1 and "bufsize" in done.why, done


@pytest.mark.parametrize("field", ["memory: 128m", "maxcpu: 10"])
def test_bounds_that_dtrace_would_not_keep(field, serve):
    done = serve(
        f"{field}\naudit: no\n", "syscall:::entry { @ = count(); }", options={"engine": "dtrace"}
    )
    assert (
        done.status == 1
        and f"bounds {field.partition(':')[0]}, which dtrace(1) does not support" in done.why
    ), done


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_time(engine, serve, root, neighbours):
    """It ends by itself, with what was counted; on a slow machine only compiling fits into a short time."""
    script = (
        "user_trace-i4s4 { @ = count(); }"
        if engine == "embedded"
        else "syscall:::entry { @ = count(); }"
    )
    for seconds in (2, 4, 8, 16):
        done = serve(
            f"time: {seconds}s\naudit: no\n",
            script,
            options={"engine": engine},
            until='"exit"',
            seconds=60,
        )
        if done.has("delta"):
            break
    assert done.has("delta") and done.has("exit") and done.seconds < seconds + 15, done


def test_time_begins_with_the_first_byte(serve, tmp_path):
    """Of who asks for nothing, too; it is written down."""
    done = serve(f"time: 500ms\naudit: {tmp_path}/audit\n", "", send=False, until="refused")
    assert (
        done.status == 1
        and done.why == "the time that this host's policy gives is over"
        and done.seconds < 10
    ), done
    assert (
        "refused: the time that this host's policy gives is over"
        in (tmp_path / "audit").read_text()
    )


def test_a_coordinator_that_does_not_read(tmp_path, neighbours):
    """Its pipe is full, and still the run ends."""
    path = tmp_path / "policy"
    path.write_text("time: 2s\naudit: no\n")
    asked = {
        "type": "trace",
        "schema": 2,
        "release": build_version(),
        "host": "h",
        "interval": 0.1,
        "width": 9,
        "operands": [],
        "pids": neighbours[:1],
        "command": None,
        "options": {},
        "requests": [{"text": "user_trace-i4s4 { trace(copyinstr(arg6)); }", "level": "name"}],
    }
    code = f"import pydtrace.hosts.agent.run_deadline as d; d.GRACE = 1.0\nfrom pydtrace.cli.pydtrace.main import main; main(['--serve={path}'])"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        process.stdin.write("".join(json.dumps(line) + "\n" for line in (asked, {"type": "go"})))
        process.stdin.flush()
        try:
            assert process.wait(20) in (1, -14)
        finally:
            process.kill()


def test_memory_is_not_the_command_s(serve):
    """It bounds pydtrace, from the first byte; what is started is not pydtrace."""
    done = serve(
        "memory: 300m\ncommands: yes\naudit: no\n",
        "pyusdt$target:::user_trace-i4s4 { @[copyinstr(arg6)] = count(); }",
        command=f"sh -c 'ulimit -d; exec {sys.executable} -c \"import pyusdt, resource\nfor i in range(50): pyusdt.p(1, str(resource.getrlimit(resource.RLIMIT_DATA)[0]))\"'",
    )
    assert done.keys() == {("-1",)}, done
