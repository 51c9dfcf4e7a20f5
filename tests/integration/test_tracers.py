"""Every tracer on a live process: the values of user_trace-i4s4 (with the tag), user_trace-n950 and a provider of its
own, and the semaphores up while it is attached and down when it has gone. What only lists must list all three.

The process is programs/probes_for_tracers.py. test_probe_sites.py has the layout of sites and notes, and each tracer's own corners."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import subprocess
import sys

import pytest

import pyusdt._core
from tests.support import harness

MODULE = pyusdt._core.__file__
DOUBLE = 0x4004000000000000  # 2.5
NOTES = {
    "i4s4": ("pyusdt", "user_trace__i4s4"),
    "n950": ("pyusdt", "user_trace__n950"),
    "own": ("telling", "own__probe"),
}
# the arguments: "s" text, "d" a number; and their values
KINDS = {"i4s4": "ssddddssss", "n950": "ssddddss", "own": "sdsddd"}
VALUES = {
    "i4s4": ["the tag", 1, -2, 3, -(1 << 40), "s1", "zwölf", "s3", "4"],
    "n950": ["the tag", 9, 8, 7, 6, "n1", "n2"],
    "own": [-5, "text", 0xFFFFFFFF, -3, DOUBLE],
}


class Telling:
    """programs/probes_for_tracers.py, running. file: of its own probe."""

    def __init__(self, process):
        self.process, self.pid = process, process.pid
        self.file = process.stdout.readline().rstrip("\n")

    def path(self, what):
        return self.file if what == "own" else MODULE

    def values(self, what):
        """What a tracer has to show, in one line; the first argument of the user-trace probes is who fired."""
        who = [] if what == "own" else [f"<{self.pid}.{self.pid}>"]
        return "|".join(map(str, [*who, *VALUES[what]]))

    def expect_on_and_off(self):
        """The semaphore went up, and is down again, so what the tracer printed was printed because of it."""
        assert [self.process.stdout.readline() for _ in range(2)] == ["on\n", "off\n"]


@pytest.fixture
def telling(tmp_path):
    environment = {**os.environ, "PYUSDT_CACHE": str(tmp_path / "cache")}
    with harness.running(harness.program("probes_for_tracers.py"), env=environment) as process:
        yield Telling(process)


def kinds(what):
    return KINDS[what][1:] if what == "own" else KINDS[what]


def printf(what, number, text):
    """(format, arguments) of a printf of all arguments; number and text take an argument's index."""
    formats = "|".join("%s" if kind == "s" else "%lld" for kind in kinds(what))
    return formats, ", ".join(
        text(i) if kind == "s" else number(i) for i, kind in enumerate(kinds(what))
    )


@pytest.mark.parametrize("what", NOTES)
def test_gdb(what, telling):
    if lacking := harness.tools("gdb"):
        pytest.skip(f"no {lacking}")
    formats, arguments = printf(
        what, lambda i: f"(long){f'$_probe_arg{i}'}", lambda i: f"(char *)$_probe_arg{i}"
    )
    shown = harness.run(
        [
            "gdb",
            "-nx",
            "-batch",
            "-p",
            str(telling.pid),
            "-ex",
            f"break -probe-stap {':'.join(NOTES[what])}",
            "-ex",
            "continue",
            "-ex",
            f'printf "{formats}\\n", {arguments}',
            "-ex",
            "detach",
        ],
        timeout=60,
    )
    assert telling.values(what) + "\n" in shown.stdout, shown
    telling.expect_on_and_off()


@pytest.mark.parametrize("what", NOTES)
def test_current_bpftrace(what, telling, oracle):
    formats, arguments = printf(what, lambda i: f"arg{i}", lambda i: f"str(arg{i})")
    script = f'usdt:{telling.path(what)}:{":".join(NOTES[what])} {{ printf("{formats}\\n", {arguments}); exit(); }}'
    shown = oracle.bpftrace("-q", "-p", str(telling.pid), "-e", script, timeout=60)
    assert telling.values(what) in shown.stdout.splitlines(), shown
    telling.expect_on_and_off()


@pytest.mark.parametrize("what", NOTES)
def test_debians_bpftrace(what, telling, root):
    """0.17 knows the first six arguments."""
    if lacking := harness.tools("bpftrace"):
        pytest.skip(f"no {lacking}")
    formats, arguments = printf(what, lambda i: f"arg{i}", lambda i: f"str(arg{i})")
    formats, arguments = "|".join(formats.split("|")[:6]), ", ".join(arguments.split(", ")[:6])
    script = f'usdt:{telling.path(what)}:{":".join(NOTES[what])} {{ printf("{formats}\\n", {arguments}); exit(); }}'
    shown = harness.run(["bpftrace", "-q", "-p", str(telling.pid), "-e", script], timeout=60)
    wanted = "|".join(telling.values(what).split("|")[:6])
    assert wanted in shown.stdout.splitlines(), shown
    telling.expect_on_and_off()


@pytest.mark.parametrize("what", NOTES)
def test_dtrace(what, telling, oracle):
    provider, name = NOTES[what]
    formats, arguments = printf(what, lambda i: f"arg{i}", lambda i: f"copyinstr(arg{i})")
    formats = formats.replace("lld", "d")
    script = (
        f"{provider}{telling.pid}:::{name.replace('__', '-')} "
        f'{{ printf("{formats}|%s\\n", {arguments}, probemod); exit(0); }}'
    )
    shown = oracle.dtrace("-q", "-n", script, "-p", str(telling.pid), timeout=60)
    assert (
        f"{telling.values(what)}|{os.path.basename(telling.path(what))}"
        in shown.stdout.splitlines()
    ), shown
    telling.expect_on_and_off()


@pytest.mark.parametrize("what", NOTES)
def test_pydtraces_kernel_engine(what, telling, root, pydtrace):
    """For comparison: what the others see, ours does."""
    provider, name = NOTES[what]
    formats, arguments = printf(what, lambda i: f"arg{i}", lambda i: f"copyinstr(arg{i})")
    formats = formats.replace("lld", "d")
    script = f'{provider}$target:::{name.replace("__", "-")} {{ printf("{formats}\\n", {arguments}); exit(0); }}'
    shown = pydtrace("-x", "engine=kernel", "-q", "-n", script, "-p", str(telling.pid))
    assert telling.values(what) in shown.stdout.splitlines(), shown
    telling.expect_on_and_off()


@contextlib.contextmanager
def perf_event(path, provider, name, folder):
    """The event of a probe in a file that only perf knows; its cache is in the folder."""
    perf = ["perf", "--buildid-dir", folder]
    subprocess.run([*perf, "buildid-cache", "--add", path], check=True)
    event = f"sdt_{provider}:{name}"
    subprocess.run(
        [*perf, "probe", "--quiet", "--del", event], check=False
    )  # of a run that was killed
    subprocess.run([*perf, "probe", "--quiet", "--add", event], check=True)
    try:
        yield perf, event
    finally:
        subprocess.run([*perf, "probe", "--quiet", "--del", event], check=True)


@pytest.mark.parametrize("what", NOTES)
def test_perf(what, telling, root, tmp_path):
    """Strings stay addresses."""
    if lacking := harness.tools("perf"):
        pytest.skip(f"no {lacking}")
    with perf_event(telling.path(what), *NOTES[what], str(tmp_path / "debug")) as (perf, event):
        recorded = harness.run(
            [
                *perf,
                "record",
                "--quiet",
                "--output",
                str(tmp_path / "data"),
                "--event",
                event,
                "--pid",
                str(telling.pid),
                "--",
                "sleep",
                "0.2",
            ],
            timeout=60,
        )
        assert recorded.status == 0, recorded
        shown = harness.run([*perf, "script", "--input", str(tmp_path / "data")], timeout=60)
    expected = [
        None if kind == "s" else value
        for kind, value in zip(kinds(what), telling.values(what).split("|"), strict=True)
    ]
    lines = [
        re.findall(r"arg\d+=(-?\d+)", line)
        for line in shown.stdout.splitlines()
        if f" {event}: " in line
    ]
    assert lines, shown
    for line in lines:
        for i, value in enumerate(expected):
            if (
                what == "own" and i == 3 and "-" not in line[i]
            ):  # an int8_t: perf 6.1 prints it as unsigned
                value = str(int(value) & 0xFF)
            assert value is None or line[i] == value, line
    telling.expect_on_and_off()


@pytest.fixture(scope="module")
def kernel_tree(tmp_path_factory):
    """What `stap -L` demands of the kernel's build tree before it looks at a file. Nothing is compiled."""
    folder = tmp_path_factory.mktemp("kernel")
    options = ("TRACEPOINTS", "ARCH_SUPPORTS_UPROBES", "UPROBES", "X86_64")
    for name, text in (
        (".config", "".join(f"CONFIG_{each}=y\n" for each in options)),
        ("include/config/kernel.release", platform.release()),
        ("include/generated/utsrelease.h", f'#define UTS_RELEASE "{platform.release()}"\n'),
        ("Module.symvers", ""),
        ("Makefile", ""),
        ("System.map", ""),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder)


@pytest.mark.parametrize("what", NOTES)
def test_stap_lists(what, telling, kernel_tree):
    if lacking := harness.tools("stap"):
        pytest.skip(f"no {lacking}")
    provider, name = NOTES[what]
    point = f'process("{telling.path(what)}").provider("{provider}").mark("{name}")'
    shown = harness.run(["stap", "-r", kernel_tree, "-L", point], timeout=60)
    count = {"i4s4": 10, "n950": 10, "own": 5}[what]
    assert shown.stdout == " ".join([point, *(f"$arg{i + 1}:long" for i in range(count))]) + "\n", (
        shown
    )


BCC = """
import sys
from bcc import USDT
usdt = USDT(pid=int(sys.argv[1]))  # the probes live as long as this
for probe in usdt.enumerate_probes():
    if (probe.provider.decode(), probe.name.decode()) == (sys.argv[2], sys.argv[3]):
        place = probe.get_location(0)
        print(probe.num_locations, *(place.get_argument(i) for i in range(probe.num_arguments)), sep="|")
"""


@pytest.mark.parametrize("what", NOTES)
def test_bcc_reads(what, telling, root):
    """libbcc's reader of notes: sizes, signs and registers."""
    if harness.run(["/usr/bin/python3", "-c", "import bcc"]).status != 0:
        pytest.skip("no python3-bpfcc")
    shown = harness.run(["/usr/bin/python3", "-c", BCC, str(telling.pid), *NOTES[what]], timeout=60)
    if what == "own":
        operands = [
            ("8 signed", "di"),
            ("8 unsigned", "si"),
            ("4 unsigned", "dx"),
            ("1 signed", "cx"),
            ("8 unsigned", "r8"),
        ]
    else:
        registers = ["di", "si", "dx", "cx", "r8", "r9", "ax", "r10", "r11", "bx"]
        operands = [
            (f"8 {'signed' if 2 <= i < 6 else 'unsigned'}", register)
            for i, register in enumerate(registers)
        ]
    place, *arguments = re.sub(" +", " ", shown.stdout.rstrip("\n")).split("|")
    assert place == "1" and [tuple(each.split(" bytes @ ")) for each in arguments] == operands, (
        shown
    )


def test_strings_are_in_memory_when_the_site_is_hit(oracle, tmp_path):
    """The tracer waits for the program, which fires once, at once, with texts that nothing has read before: a kernel
    tracer can not have a page brought in. Each text would be empty, or an error, if its page were not there."""
    text = tmp_path / "text"
    text.write_bytes(b"from a file")
    program = f"""if True:
        import mmap, pyusdt
        with open({str(text)!r}, "rb") as file:
            never_read = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        shop = pyusdt.Provider("resident").probe("first", str, str)
        pyusdt.put_tag("the tag")
        assert pyusdt.pn(413, 1, 2, "a literal", never_read, b"bytes", "x" * 900)
        assert shop("typed", never_read), shop.path
    """
    environment = {**os.environ, "PYUSDT_CACHE": str(tmp_path / "cache")}
    path = "pyusdt.Provider('resident').probe('first', str, str).path"
    made = harness.run([sys.executable, "-c", f"import pyusdt; print({path})"], env=environment)
    texts = ", ".join(f"str(arg{i})" for i in (0, 1, 6, 7, 8))
    script = (
        f'BEGIN {{ printf("ready\\n"); }} '
        f'usdt:{MODULE}:pyusdt:user_trace__n413 {{ printf("%s|%s|%s|%s|%s|", {texts}); '
        'printf("%s\\n", str(arg9)); } '
        f'usdt:{made.stdout.strip()}:resident:first {{ printf("%s|%s\\n", str(arg0), str(arg1)); exit(); }}'
    )
    with harness.running(
        [harness.ORACLE, "bpftrace", "-q", "-e", script],
        env={**os.environ, "BPFTRACE_MAX_STRLEN": "1024"},
    ) as tracer:
        assert tracer.stdout.readline() == "ready\n"
        fired = harness.start([sys.executable, "-c", program], env=environment)
        done = harness.finish(fired, 30)
        assert done.status == 0, done
        shown = harness.finish(tracer, 60)
    who = f"<{fired.pid}.{fired.pid}>"
    assert shown.stdout.split("\n")[:2] == [
        f"{who}|the tag|a literal|from a file|bytes|{'x' * 900}",
        "typed|from a file",
    ], shown


def test_a_tracer_that_is_there_first(tmp_path, root):
    """A provider's file is where it will be, so a tracer attaches to it before the program runs."""
    if lacking := harness.tools("bpftrace"):
        pytest.skip(f"no {lacking}")
    environment = {**os.environ, "PYUSDT_CACHE": str(tmp_path)}
    shop = [
        os.path.join(harness.ROOT, ".venv/bin/python"),
        os.path.join(harness.ROOT, "examples/shop.py"),
    ]
    subprocess.run(shop, env=environment, check=True)
    (path,) = (str(each) for each in tmp_path.glob("shop-*.so"))
    script = (
        f'BEGIN {{ printf("ready\\n"); }} usdt:{path}:shop:closed {{ exit(); }} '
        f'usdt:{path}:shop:order__placed {{ printf("%d %s\\n", arg0, str(arg1)); }}'
    )
    with harness.running(["bpftrace", "-q", "-e", script]) as tracer:
        assert tracer.stdout.readline() == "ready\n"
        subprocess.run(shop, env=environment, check=True)
        shown = harness.finish(tracer, 30)
    assert shown.stdout.split() == [
        "1",
        "green",
        "tea",
        "2",
        "black",
        "tea",
        "3",
        "green",
        "tea",
    ], shown
