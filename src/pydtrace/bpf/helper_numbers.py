"""Numbers of the kernel's BPF helpers that the kernel engine's own programs call (enum
bpf_func_id of linux/bpf.h).

bpf/helpers.py lists the helpers that a compiled script may call, for each engine.
"""

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
