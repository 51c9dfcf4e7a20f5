"""The helper table: one row for each function that an eBPF program may call, with a column for
each engine.

- number: Linux's (enum bpf_func_id), or one of pyusdt's from FIRST_PYUSDT_HELPER on.
- args: the contents of each argument register: "map" (a map's handle), "key" and "value"
  (pointers to as many bytes as the map's key or value has), "out" and "in" (pointers to as many
  bytes as the following "size" says), "user" (an address in the process that fired), "int".
- embedded, kernel: WORKS; FAULTS if a read may fail (-EFAULT in r0) because the event did not
  capture the memory; else the tag of the compile error.
- No imports: c/generate_bpf.py reads this file by itself.
"""

from __future__ import annotations

WORKS, FAULTS = "works", "faults"
FIRST_PYUSDT_HELPER = 0x10000


class Helper:
    __slots__ = ("name", "number", "args", "embedded", "kernel")

    def __init__(
        self, name: str, number: int, args: tuple[str, ...], embedded: str, kernel: str
    ) -> None:
        self.name, self.number, self.args = name, number, args
        self.embedded, self.kernel = embedded, kernel


ROWS = [
    Helper("map_lookup_elem", 1, ("map", "key"), WORKS, WORKS),
    Helper("map_update_elem", 2, ("map", "key", "value", "int"), WORKS, WORKS),
    Helper("map_delete_elem", 3, ("map", "key"), WORKS, WORKS),
    Helper("ktime_get_ns", 5, (), WORKS, WORKS),
    Helper("probe_write_user", 36, ("user", "in", "size"), "D_UNSUPPORTED", WORKS),
    Helper("probe_read_user", 112, ("out", "size", "user"), FAULTS, WORKS),
    Helper("probe_read_kernel", 113, ("out", "size", "in"), WORKS, WORKS),
    Helper("probe_read_user_str", 114, ("out", "size", "user"), FAULTS, WORKS),
    Helper("probe_read_kernel_str", 115, ("out", "size", "in"), WORKS, WORKS),
    Helper("ringbuf_output", 130, ("map", "in", "size", "int"), WORKS, WORKS),
    # No kernel has these; numbers from here on are pyusdt's own.
    Helper(
        "term_text",
        FIRST_PYUSDT_HELPER,
        ("out", "size", "user", "in", "size"),
        FAULTS,
        "D_UNSUPPORTED",
    ),
    Helper(
        "json_text", FIRST_PYUSDT_HELPER + 1, ("out", "size", "in", "in"), WORKS, "D_UNSUPPORTED"
    ),  # all of the one size
    Helper("float_compute", FIRST_PYUSDT_HELPER + 2, ("int", "int", "int"), WORKS, "D_UNSUPPORTED"),
    Helper(
        "path_clean", FIRST_PYUSDT_HELPER + 4, ("out", "size", "in"), WORKS, "D_UNSUPPORTED"
    ),  # both of the one size
    Helper(
        "float_deviate", FIRST_PYUSDT_HELPER + 3, ("out", "size", "int"), WORKS, "D_UNSUPPORTED"
    ),  # r1: n, mean, squares
]

HELPERS = {row.name: row for row in ROWS}
BY_NUMBER = {row.number: row for row in ROWS}

# Numbers of the kernel's helpers that the kernel engine's own programs call (enum bpf_func_id of
# linux/bpf.h); ROWS has those that a compiled script may call.
MAP_LOOKUP_ELEM = 1
MAP_UPDATE_ELEM = 2
MAP_DELETE_ELEM = 3
KTIME_GET_NS = 5
GET_SMP_PROCESSOR_ID = 8
GET_CURRENT_PID_TGID = 14
GET_CURRENT_UID_GID = 15
GET_CURRENT_COMM = 16
GET_CURRENT_TASK = 35
GET_STACK = 67
SEND_SIGNAL = 109
PROBE_READ_USER = 112
PROBE_READ_KERNEL = 113
GET_NS_CURRENT_PID_TGID = 120
RINGBUF_OUTPUT = 130
GET_CURRENT_TASK_BTF = 158
GET_ATTACH_COOKIE = 174
TASK_PT_REGS = 175
LOOP = 181
