#!/usr/bin/env python3
"""Judge pydtrace, or any command that takes dtrace's options, by DTrace's own tests; as root.

    tests/conformance/run.py                            the tests of list.txt, with .venv's pydtrace
    tests/conformance/run.py --list more.txt            others
    tests/conformance/run.py test/unittest/aggs/*.d     these, paths in the suite
    tests/conformance/run.py --dtrace CMD --json FILE   another command; results for a program to read

The tests come from the oracle's chroot (Debian's package dtrace-tests); nothing of them is in this repository but the
names in list.txt and more.txt. A tst.* must exit with 0 and print what its .r says, an err.D_TAG.* must exit with 1 and name the tag.
Exit status 0 if none fails.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import difflib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where the package tests is

from tests.support.conformance import kernel_settings
from tests.support.conformance.suite import MACHINE, Case

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
CHROOT = os.environ.get("ORACLE_ROOT") or os.path.join(CACHE, "pyusdt-oracle")
LIBRARY = os.path.join(CHROOT, f"usr/lib/{MACHINE}-linux-gnu/dtrace")
SUITE = os.path.join(ROOT, "build", "conformance")
NO_CARETS = "-fno-diagnostics-show-caret -fdiagnostics-color=never -fno-diagnostics-show-option -fno-show-column"


def prepare() -> None:
    """A copy of the suite, since tests write beside themselves."""
    if not shutil.which("gawk"):
        raise SystemExit(
            "run.py: the suite's own filters need gawk, which is not installed: apt-get install gawk"
        )
    subprocess.run([os.path.join(ROOT, "tests/oracle/oracle"), "setup"], check=True)
    if not os.path.exists(os.path.join(SUITE, "include")):
        shutil.copytree(
            os.path.join(LIBRARY, "testsuite"), SUITE, symlinks=True, dirs_exist_ok=True
        )
        shutil.copytree(os.path.join(LIBRARY, "include"), os.path.join(SUITE, "include"))


def normalised(output: bytes) -> bytes:
    """Without addresses, as the suite compares."""
    return re.sub(
        rb"0x[0-9a-f]+", b"{ptr}", re.sub(rb"at BPF pc [1-9]\d*", b"at BPF pc NNN", output)
    )


def same(case: Case, want: bytes, got: bytes) -> bool:
    if case.has("nosort"):
        return want == got
    return sorted(want.removesuffix(b"\n").split(b"\n")) == sorted(
        got.removesuffix(b"\n").split(b"\n")
    )


class Result:
    """status: PASS, FAIL, SKIP, or XFAIL and XPASS for a test that the suite itself expects to fail."""

    def __init__(self, case: Case, status: str, why: str = "", output: str = ""):
        self.test, self.status, self.why, self.output = case.path, status, why, output


class Runner:
    def __init__(self, dtrace: str, timeout: float):
        self.dtrace, self.timeout = dtrace, timeout
        self.flags = [f"-DARCH_{MACHINE}", f"-I{SUITE}/include"]
        self.environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": os.path.expanduser("~"),
            "LANG": "C",
            "LC_COLLATE": "C",
            "_DTRACE_TESTING": "t",
            "dtrace": dtrace,
            "CC": "/usr/bin/gcc",
            "NM": "/usr/bin/nm",
            "OBJDUMP": "/usr/bin/objdump",
            "READELF": "/usr/bin/readelf",
            "test_libdir": "installed",
            "test_cppflags": f"{' '.join(self.flags)} -fno-lto",
            "test_ldflags": "-fno-lto",
            "DTRACE_OPT_CPPARGS": NO_CARETS,
            "timeout": str(int(timeout)),
        }

    def judge(self, case: Case) -> Result:
        with tempfile.TemporaryDirectory(prefix="pyusdt-conformance-") as folder:
            environment = {
                **self.environment,
                "tmpdir": folder,
                "tst": os.path.splitext(case.path)[0],
            }
            level, why = case.unwanted(environment)
            if level == 2:
                return Result(case, "SKIP", why)
            status, output = self.run(case, environment)
        failure = self.failure(case, status, output)
        verdict = ("XFAIL" if failure else "XPASS") if level else ("FAIL" if failure else "PASS")
        return Result(
            case, verdict, failure or why, output.decode("utf-8", "replace") if failure else ""
        )

    def command(self, case: Case, trigger: str, environment: dict[str, str]) -> list[str]:
        options = [*self.flags, *([case.tag_option] if case.tag_option else [])]
        options += case.expanded("runtest-opts", environment).split()
        script = ["-s", case.path]
        environment["dt_flags"] = " ".join(
            [*options, *script] if case.path.endswith(".d") else options
        )
        if case.path.endswith(".sh"):
            return [case.file, self.dtrace]
        if case.sources[0].startswith("#!dtrace"):
            return self.interpreted(case, options, environment)
        return [self.dtrace, *options, *script, *([] if trigger else ["-e"])]

    @staticmethod
    def interpreted_path(case: Case, environment: dict[str, str]) -> str:
        return os.path.join(environment["tmpdir"], os.path.basename(case.path))

    def interpreted(self, case: Case, options: list[str], environment: dict[str, str]) -> list[str]:
        """A script that is run by its first line gets the command under test there."""
        script = self.interpreted_path(case, environment)
        with open(script, "w", encoding="latin-1") as file:
            file.write(case.sources[0].replace("#!dtrace ", f"#!{self.dtrace} ", 1))
        os.chmod(script, 0o755)
        return [script, *options]

    def run(self, case: Case, environment: dict[str, str]) -> tuple[int, bytes]:
        """(exit status, what it printed as the suite compares it)."""
        trigger = case.trigger(environment)
        command = self.command(case, trigger, environment)
        background = None
        if trigger not in ("", "none"):
            timing = case.option("trigger-timing") or "synchro"
            if timing == "synchro":
                command += ["-c", trigger]
            else:
                delay = {"before": 0.0, "after": 1.0}.get(timing) or float(
                    timing if timing[0].isdigit() else 0
                )
                background = self.start(
                    ["sh", "-c", f"sleep {delay}; exec {trigger}"], environment, subprocess.DEVNULL
                )
                environment["_pid"] = str(background.pid)
                command = [word.replace("$_pid", environment["_pid"]) for word in command]
                environment["dt_flags"] = environment["dt_flags"].replace(
                    "$_pid", environment["_pid"]
                )
        process = self.start(command, environment, subprocess.PIPE)
        try:
            status, output = self.finish(process)
        finally:
            if background:
                os.killpg(background.pid, signal.SIGKILL)
                background.wait()
        output = output.replace(
            self.interpreted_path(case, environment).encode(), case.path.encode()
        )
        return status, self.postprocessed(case, output, environment)

    def start(
        self, command: list[str], environment: dict[str, str], output: int
    ) -> subprocess.Popen:
        return subprocess.Popen(
            command,
            cwd=SUITE,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    def finish(self, process: subprocess.Popen) -> tuple[int, bytes]:
        """Exit status as timeout(1) has it: 124 if it took too long, 128 + n for signal n."""
        late = False
        try:
            output, errors = process.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            late = True
            process.terminate()
            try:
                output, errors = process.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, errors = process.communicate()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what a script started and left behind
        if errors:
            output += (
                (b"\n" if output and not output.endswith(b"\n") else b"")
                + b"-- @@stderr --\n"
                + errors
            )
        return (
            124
            if late
            else process.returncode
            if process.returncode >= 0
            else 128 - process.returncode,
            output,
        )

    def postprocessed(self, case: Case, output: bytes, environment: dict[str, str]) -> bytes:
        if script := case.postprocessor():
            try:
                done = subprocess.run(
                    [script],
                    check=False,
                    input=output,
                    stdout=subprocess.PIPE,
                    cwd=SUITE,
                    env=environment,
                    timeout=20,
                )
                output = done.stdout
            except subprocess.TimeoutExpired:
                output += b"\nthe test's own filter took longer than 20 s\n"
        return normalised(output)

    def failure(self, case: Case, status: int, output: bytes) -> str:
        want = case.expected()
        if case.tag and b"[%s]" % case.tag.encode() not in output:
            return f"no tag {case.tag}"
        if want is not None and not same(case, want, output):
            lines = difflib.unified_diff(
                want.decode("utf-8", "replace").split("\n"),
                output.decode("utf-8", "replace").split("\n"),
                "expected",
                "got",
                n=1,
                lineterm="",
            )
            return "other output\n" + "\n".join(lines)
        if status == 124:
            return "" if case.has("timeout-success") else "timed out"
        return "" if status == int(case.fails) else f"exit status {status}"


def listed(name: str) -> list[str]:
    with open(os.path.join(HERE, name)) as file:
        return [test for line in file if (test := line.split("#")[0].strip())]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument(
        "--dtrace", default=os.path.join(ROOT, ".venv/bin/pydtrace"), help="the command to judge"
    )
    options.add_argument("--timeout", type=float, default=15, help="seconds for a test")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument(
        "--list", default="list.txt", help="the file beside this one that names the tests"
    )
    options.add_argument(
        "--match", default="", help="only tests whose path has this regular expression in it"
    )
    options.add_argument("--json", help="write the results here")
    options.add_argument("tests", nargs="*")
    chosen = options.parse_args()
    prepare()
    runner = Runner(os.path.abspath(chosen.dtrace), chosen.timeout)
    tests = [test for test in chosen.tests or listed(chosen.list) if re.search(chosen.match, test)]
    results = []
    with kernel_settings.kept(), concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        for result in pool.map(lambda test: runner.judge(Case(SUITE, test)), tests):
            results.append(result)
            if result.status != "PASS":
                print(
                    f"{result.status:5} {result.test}: {result.why.splitlines()[0] if result.why else ''}",
                    flush=True,
                )
    counts = {
        status: sum(r.status == status for r in results)
        for status in ("PASS", "FAIL", "SKIP", "XFAIL", "XPASS")
    }
    print(", ".join(f"{status} {count}" for status, count in counts.items()))
    if chosen.json:
        with open(chosen.json, "w") as file:
            json.dump(
                {"dtrace": chosen.dtrace, "counts": counts, "tests": [vars(r) for r in results]},
                file,
                indent=1,
            )
    return 0 if not counts["FAIL"] else 1


if __name__ == "__main__":
    sys.exit(main())
