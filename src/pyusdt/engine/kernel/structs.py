"""Where the running kernel's structs have their members, by its own type information (BTF).

In: /sys/kernel/btf/vmlinux.  Out: offsets, for the compiler (dlang/front/kernel_types.py) and for raw.py.
"""

from ... import _tracer

BTF = "/sys/kernel/btf/vmlinux"
_read = {}  # what was read, once a process: b"" where there is none


def information():
    """The kernel's type information.  Raises OSError where it has none."""
    if "btf" not in _read:
        with open(BTF, "rb") as file:
            _read["btf"] = file.read()
    return _read["btf"]


def offset(structure, member):
    """Of a member in its struct; None where this kernel has no such member, or does not say."""
    try:
        return _tracer.btf_member(information(), structure, member)
    except OSError:
        return None
