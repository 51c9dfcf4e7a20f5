"""Building and running the C core's test programs: a world is a run directory and the processes of one test."""

import contextlib
import json
import os
import shutil
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from tests.support import paths

ROOT = Path(paths.ROOT)
C_TESTS = Path(paths.TESTS) / "c"
CORE = [
    "shared/fsuid",
    "shared/rundir",
    "shared/session_slot",
    "shared/probe_table",
    "shared/glob",
    "shared/sigbus_guard",
    "shared/os_linux",
    "shared/memory_limits_linux",
    "target/publish",
    "target/head_room",
    "target/spare_stack",
    "target/session_join",
    "target/session_paths",
    "target/area",
    "target/ring",
    "target/frame_pointers",
    "target/code_address",
    "target/target_table",
    "target/flight_recorder",
    "target/ancestry",
    "target/code_places",
    "target/place_match",
    "target/in_target_count",
    "target/watcher",
    "target/text_truncate",
    "kernel/record_untrim",
    *(
        f"{folder}/{path.stem}"
        for folder in ("discovery", "events", "recording", "session")
        for path in sorted((ROOT / "c" / folder).glob("*.c"))
    ),
]
FLAGS = [
    "-std=gnu11",
    "-g",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fvisibility=hidden",
    "-fPIC",
    "-pthread",
    "-fno-omit-frame-pointer",
]
VARIANTS = {
    "plain": [],
    "hooks": ["-DPYUSDT_TEST_HOOKS"],
    "walk": ["-DPYUSDT_TEST_HOOKS", "-DPYUSDT_NO_OPENAT2"],  # a kernel before 5.6
    "bell": [
        "-DPYUSDT_TEST_HOOKS",
        "-DPYUSDT_WATCH_MS=3600000",
    ],  # a watcher that nothing but the bell wakes
    "portable": ["-DPYUSDT_FIND_PORTABLE"],
    "asan": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DPYUSDT_TEST_HOOKS"],
    "tsan": ["-fsanitize=thread", "-Wno-tsan"],  # it knows no fences: ours are for two processes
}
VARIANTS["layout"] = ["-DPYUSDT_LAYOUT_VERSION=99"]  # another build
VARIANTS["asan-layout"] = VARIANTS["asan"] + VARIANTS["layout"]
MAX_THREADS = 256  # of traced.h


class Build:
    """Compiles a variant of the core once, and links test programs with it."""

    def __init__(self, folder, sanitize):
        self.folder, self.sanitize = folder, sanitize

    def options(self, variant):
        return [*FLAGS, *VARIANTS[variant], f"-I{ROOT}/include", f"-I{ROOT}/c", f"-I{C_TESTS}"]

    def objects(self, variant="plain"):
        """The core, to link with."""
        place = self.folder / variant
        for each in CORE:
            made = place / f"{each}.o"
            if not made.exists():
                made.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(
                    ["gcc", *self.options(variant), "-c", ROOT / f"c/{each}.c", "-o", made],
                    check=True,
                )
        return [place / f"{each}.o" for each in CORE]

    def program(self, name, variant="plain"):
        if self.sanitize and variant != "tsan":
            variant = "asan-layout" if variant == "layout" else "asan"
        program = self.folder / variant / name
        if not program.exists():
            objects = self.objects(variant)
            subprocess.run(
                ["gcc", *self.options(variant), C_TESTS / f"{name}.c", *objects, "-o", program],
                check=True,
            )
        return str(program)

    def library(self, name, variant="plain"):
        """A shared object with the core in it."""
        variant = "asan" if self.sanitize else variant
        library = self.folder / variant / f"{name}.so"
        if not library.exists():
            objects = self.objects(variant)
            subprocess.run(
                [
                    "gcc",
                    *self.options(variant),
                    "-shared",
                    C_TESTS / f"{name}.c",
                    *objects,
                    "-o",
                    library,
                ],
                check=True,
            )
        return str(library)


class Account:
    """What ring_target counted itself (struct account in traced.h)."""

    def __init__(self, path):
        data = path.read_bytes()
        words = struct.unpack(f"<{len(data) // 8}Q", data)
        self.started_by, self.returned_by = (
            words[:MAX_THREADS],
            words[MAX_THREADS : 2 * MAX_THREADS],
        )
        self.started, self.returned = sum(self.started_by), sum(self.returned_by)
        self.off, self.ready, self.alone = words[2 * MAX_THREADS : 2 * MAX_THREADS + 3]


class World:
    """A run directory and the processes of one test."""

    def __init__(self, build, folder):
        self.build = build
        self.rundir = Path(tempfile.mkdtemp(prefix="pyusdt-test-", dir="/dev/shm"))
        self.folder = folder
        self.children = []
        self.env = {**os.environ, "PYUSDT_RUNDIR": str(self.rundir)}

    def target_command(self, account, threads, count, *options, variant="plain"):
        return [
            self.build.program("ring_target", variant),
            str(self.folder / account),
            str(threads),
            str(count),
            *options,
        ]

    def start(self, command, **env):
        env = {**self.env, **env}
        child = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.children.append(child)
        return child

    def target(self, account, threads, count, *options, variant="plain", **env):
        """Starts one and waits until it is published."""
        path = self.folder / account
        path.unlink(missing_ok=True)
        child = self.start(
            self.target_command(account, threads, count, *options, variant=variant), **env
        )
        while child.poll() is None and not (
            path.exists() and path.stat().st_size and Account(path).ready
        ):
            time.sleep(0.001)
        return child

    def reader_command(self, *options, variant="plain"):
        # a thread may not get the processor for a while in the middle of a firing, on a busy machine
        return [self.build.program("ring_reader", variant), "orderlag=5000000", *options]

    def reader(self, *options, command=None, variant="plain", **env):
        line = self.reader_command(*options, variant=variant)
        return self.start([*line, "--", *command] if command else line, **env)

    def finish(self, child, timeout=60):
        """The JSON that a reader printed."""
        out, err = child.communicate(timeout=timeout)
        assert child.returncode in (0, 1), (child.returncode, out, err)
        return json.loads(out.splitlines()[-1])

    def end_of(self, child):
        """Waits for one, and forgets it: in a loop of a thousand, descriptors are not to pile up."""
        child.communicate()
        self.children.remove(child)

    def trace(self, *options, command, **more):
        return self.finish(self.reader(*options, command=command, **more))

    def account(self, name):
        return Account(self.folder / name)

    def files(self):
        return sorted(path.name for path in self.rundir.iterdir())

    @contextlib.contextmanager
    def small(self, size):
        """The run directory is a file system of its own meanwhile, of so many bytes. By root."""
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", self.rundir],
            check=True,
        )
        try:
            yield
        finally:
            subprocess.run(["umount", "-l", self.rundir], check=True)

    def end(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.communicate()
        shutil.rmtree(self.rundir)


def wait_for(condition, timeout=5):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def check(result):
    """Nothing wrong with what was delivered."""
    assert {
        key: result[key] for key in ("bad", "unordered", "repeated", "out_of_order", "corrupt")
    } == {"bad": 0, "unordered": 0, "repeated": 0, "out_of_order": 0, "corrupt": 0}, result
