"""The numbers in the bytes of a path to a value: src/pyusdt/_core_c/vm/fetch_program.h has their form."""

from __future__ import annotations

FIRST_ARGUMENT, MOST = 6, 6  # PYUSDT_PATH_ARG, PYUSDT_PATHS_MAX
VERSION = 1
LOCALS, RATE = 5, 7  # enum pyusdt_fetch_root, with the next
ROOTS = {"local": 1, "global": 2, "retval": 3, "exception": 6}
ATTRIBUTE, INDEX, KEY = 1, 2, 3  # enum pyusdt_fetch_op
# enum pyusdt_fetch_result
INT, DOUBLE, STRING, PRESENT, TYPENAME, LENGTH, REPR, REPR_WITH_SECRETS = range(1, 9)
REPR_LEAST = 16
