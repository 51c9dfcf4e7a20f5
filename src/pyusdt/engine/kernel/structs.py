"""Where the running kernel's structs have their members, by its own type information (BTF).

In: /sys/kernel/btf/vmlinux.  Out: offsets and sizes, for the compiler (dlang/front/kernel_types.py) and for raw.py.
Always: it is some megabytes, so it is read when it is first asked, and kept only as long as who asks keeps this.
"""

from ... import _tracer

BTF = "/sys/kernel/btf/vmlinux"


class Structs:
    __slots__ = ("_information",)

    def __init__(self):
        self._information = None

    def read(self):
        """Raises OSError where the kernel has no type information."""
        if self._information is None:
            with open(BTF, "rb") as file:
                self._information = file.read()
        return self._information

    def offset(self, structure, member):
        """Of a member in its struct; None where this kernel has no such member, or does not say."""
        try:
            return _tracer.btf_member(self.read(), structure, member)
        except OSError:
            return None

    def size(self, structure):
        """Of a struct, in bytes.  Raises OSError where the kernel has no type information."""
        return _tracer.btf_size(self.read(), structure)
