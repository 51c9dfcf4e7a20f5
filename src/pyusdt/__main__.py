"""`python -m pyusdt app.py …`: run the program as `python app.py …` does, with the provider `python`
(docs/reference/python-vm.md).

- The interpreter's options and the rest of the line stay.
- The program sees nothing of it in sys.argv, sys.path or tracebacks.
"""

import os
import sys

from .vm.inject_env import ISOLATED, make_environment
from .vm.target_python import find_isolating_option

USAGE = "usage: python -m pyusdt [-m MODULE | -c CODE | FILE] …: runs it with the provider python (pyusdt help python-vm)"


def _interpreter_line() -> list[str]:
    """The interpreter's command line without us."""
    before, after = sys.orig_argv, sys.argv[1:]
    own = before[1 : len(before) - len(after)]
    options = own[:-1] if own[-1] == "-mpyusdt" else own[:-2]
    return [sys.executable, *options, *after]


def main() -> None:
    line = _interpreter_line()
    if not sys.argv[1:]:
        sys.exit(USAGE)
    if option := find_isolating_option(line):
        sys.exit(f"pyusdt: {ISOLATED % option}: the provider python cannot enter it")
    os.environ.update(make_environment(os.getpid()))
    os.execv(line[0], line)


if __name__ == "__main__":
    main()
