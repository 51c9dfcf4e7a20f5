"""Record what the real dtrace says of errors/err.*.d: the first lines of errors/NAME.r.

    python tests/dlang/record_errors.py [NAME …]      (as root; see tests/oracle/oracle)

A .r file: dtrace's message under -x errtags; then our lines, as the compiler prints them.  A
difference between dtrace and us is printed, and dtrace's lines are what is recorded.  Parts of D
that are not there yet (D_UNSUPPORTED) are recorded as we say it, since dtrace has them; D_CG_DYN, too, which DTrace's own suite
expects and dtrace 2 does not say: it accepts the statement and does nothing.
"""

import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ORACLE = os.path.join(HERE, os.pardir, "oracle", "oracle")
FOLDER = os.path.join(HERE, "errors")
OURS = ("D_UNSUPPORTED", "D_CG_DYN")
SCRIPTS = sorted(glob.glob(os.path.join(FOLDER, "err.*.d")))


def tag_of(path):
    """The tag that a script's name says."""
    return os.path.basename(path).split(".")[1]


def compile_error(path):
    """The CompileError of a script, which is named as it is in its folder; None if it has none."""
    from pydtrace.dlang.compile import compile_program
    from pydtrace.dlang.compile_errors import CompileError

    name = os.path.basename(path)
    with open(path, "rb") as file:
        text = file.read()
    try:
        compile_program(text, name, macros={"target": 0, "pid": 1}, arguments=[name])
    except CompileError as error:
        return error
    return None


def ask_oracle(path):
    command = [ORACLE, "dtrace", "-x", "errtags", "-e", "-s", os.path.basename(path)]
    done = subprocess.run(
        command, check=False, cwd=FOLDER, capture_output=True, text=True, timeout=600
    )
    return done.stderr.rstrip("\n")


def main(names):
    for path in SCRIPTS:
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
