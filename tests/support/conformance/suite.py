"""What a test of DTrace's own suite (Debian's package dtrace-tests) says about itself, by the conventions of its
runtest.sh.

Input: the suite's folder and a test's path in it (`test/unittest/aggs/tst.avg.d`).
Output: Case.
"""

from __future__ import annotations

import os
import re
import subprocess

MACHINE = os.uname().machine


def read(path: str) -> str:
    try:
        with open(path, encoding="latin-1") as file:
            return file.read()
    except OSError:
        return ""


def executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


class Case:
    """One test. Its options are lines `@@name: value` in the test itself, or in a test.options beside or above it."""

    def __init__(self, suite: str, path: str):
        self.suite, self.path = suite, path
        self.file = os.path.join(suite, path)
        self.base = os.path.splitext(self.file)[0]
        self.name = os.path.basename(path)
        self.fails = self.name.startswith("err.")
        # err.D_TAG.what.d must say the tag under -xerrtags, drp.DROP_TAG.what.d under -xdroptags
        tagged = re.match(r"(err)\.(D_\w+)|(drp)\.(\w+)", self.name)
        self.tag = (tagged[2] or tagged[4]) if tagged else None
        self.tag_option = (
            {"err": "-xerrtags", "drp": "-xdroptags"}[tagged[1] or tagged[3]] if tagged else None
        )
        self.sources = [read(file) for file in self._option_files()]

    def _option_files(self):
        yield self.file
        folder = os.path.dirname(self.file)
        while not os.path.exists(os.path.join(folder, "Makecheck")) and folder != self.suite:
            special = os.path.join(folder, f"test.{MACHINE}.options")
            yield special if os.path.exists(special) else os.path.join(folder, "test.options")
            folder = os.path.dirname(folder)

    def has(self, option: str) -> bool:
        return any(f"@@{option}" in source for source in self.sources)

    def option(self, name: str) -> str:
        """The value in the nearest file that gives one, or ""."""
        for source in self.sources:
            lines = [
                line for line in source.split("\n") if re.search(rf"@@{name}(?: *:| |$)", line)
            ]
            values = [re.sub(rf".*@@{name} *: ?", "", line) for line in lines]
            if value := "\n".join(re.sub(r" *(\*/)? *$", "", value) for value in values).strip():
                return value
        return ""

    def expanded(self, name: str, environment: dict[str, str]) -> str:
        """An option's value after the shell's expansion, as runtest.sh evaluates it; $_pid is left for later."""
        value = self.option(name)
        if not re.search(r"[$`\\\"]", value):
            return value
        shell = subprocess.run(
            ["bash", "-c", 'eval printf %s \\""$VALUE"\\"'],
            check=False,
            stdout=subprocess.PIPE,
            env={**environment, "VALUE": value, "_pid": "$_pid"},
            text=True,
        )
        return shell.stdout

    def expected(self) -> bytes | None:
        """The output that the test wants, if it says so."""
        for path in (f"{self.base}.{MACHINE}.r", f"{self.base}.r"):
            if os.path.exists(path):
                with open(path, "rb") as file:
                    return file.read()
        return None

    def postprocessor(self) -> str | None:
        return self.base + ".r.p" if executable(self.base + ".r.p") else None

    def trigger(self, environment: dict[str, str]) -> str:
        """The command line of the program that the test traces, or "none", or "" (dtrace then only compiles)."""
        if executable(self.base + ".t"):
            return self.base + ".t"
        if not self.has("trigger"):
            return "none" if re.match(r"(tst|err|drp)\.", self.name) else ""
        value = self.expanded("trigger", environment).strip()
        return value if value in ("", "none") else os.path.join(self.suite, "test/triggers", value)

    def unwanted(self, environment: dict[str, str]) -> tuple[int, str]:
        """(0, "") for a test that should pass, (1, why) for an expected failure, (2, why) for one to skip."""
        if self.has("skip"):
            return 2, self.option("skip")
        if self.path.endswith(".c") or "uninstalled" in self.option("tags").split():
            return 2, "needs dtrace's build tree"
        worst = (
            (1, self.option("xfail")) if self.has("xfail") and not self.has("no-xfail") else (0, "")
        )
        folder, checks = os.path.dirname(self.file), [self.base]
        while folder != self.suite:
            checks.append(os.path.join(folder, "test"))
            folder = os.path.dirname(folder)
        for check in checks:
            script = next(
                (s for s in (f"{check}.{MACHINE}.x", f"{check}.x") if executable(s)), None
            )
            if script:
                ran = subprocess.run(
                    [script],
                    check=False,
                    cwd=self.suite,
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    errors="replace",
                )
                worst = max(worst, (min(ran.returncode & 0xFF, 2), ran.stdout.strip()))
        return worst
