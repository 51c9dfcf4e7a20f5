"""Record what the real dtrace says of cases/err/*/err.*.d: the first lines of the .r file beside each.

    python tests/dlang/record_errors.py [NAME …]      (as root; see tests/oracle/oracle)

A .r file: dtrace's message under -x errtags; then our lines, as the compiler prints them.  A
difference between dtrace and us is printed, and dtrace's lines are what is recorded.  Parts of D
that are not there yet (D_UNSUPPORTED) are recorded as we say it, since dtrace has them; D_CG_DYN, too, which DTrace's own suite
expects and dtrace 2 does not say: it accepts the statement and does nothing.
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # where the package tests is

from tests.support.compiler.recorded_cases import ERRORS, compile_error
from tests.support.paths import ORACLE

OURS = ("D_UNSUPPORTED", "D_CG_DYN")


def ask_oracle(path):
    command = [ORACLE, "dtrace", "-x", "errtags", "-e", "-s", os.path.basename(path)]
    done = subprocess.run(
        command, check=False, cwd=os.path.dirname(path), capture_output=True, text=True, timeout=600
    )
    return done.stderr.rstrip("\n")


def main(names):
    for path in ERRORS:
        name = os.path.basename(path)
        if names and name not in names:
            continue
        error = compile_error(path)
        ours = f"dtrace: {error.summary(errtags=True)}"
        theirs = ours if error.tag in OURS else ask_oracle(path)
        if ours != theirs:
            print(f"{name}:\n  dtrace: {theirs}\n  we:     {ours}")
        rest = error.render(errtags=True)[len(ours) :]
        with open(path.removesuffix(".d") + ".r", "w", encoding="utf-8") as file:
            file.write(theirs + rest + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
