"""Probes of the system side: syscall:::entry and return, and what else the kernel's tracepoints say.

In: probe descriptions.  Out: Tracepoints, with where their arguments are in the program's context.
Always: only what the descriptions name; a description without a provider stands for none of these.
Source of the arguments: the DTrace guide, and the real dtrace: at a return arg0 and arg1 are the result.
"""

import os
import re

from .. import _tracer
from .kernel_operands import Operand, Register

_FOLDERS = ("/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events")
_MODULE = "vmlinux"
_OFFSET = re.compile(r"offset:(\d+);")
_SYSCALL_ARGUMENTS, _SYSCALL_RESULT = 16, 16  # offsets in the context: after the tracepoint's header and the number
# (provider, name): its tracepoint
_OTHERS = {
    ("proc", "exec-success"): "sched/sched_process_exec",
    ("proc", "lwp-exit"): "sched/sched_process_exit",
    ("sched", "off-cpu"): "sched/sched_switch",
}


class Tracepoint:
    """names: (provider, module, function, name); event: folder below events; offsets: {index of an argument: where
    it may be in the context}."""

    __slots__ = ("names", "event", "offsets")

    def __init__(self, names, event, offsets):
        self.names, self.event, self.offsets = names, event, offsets

    def _read(self, name):
        with open(os.path.join(folder(), self.event, name)) as file:
            return file.read()

    @property
    def arguments(self):
        """{index: Operand} of those that this tracepoint has; a program that reads further is not attached."""
        there = set(map(int, _OFFSET.findall(self._read("format"))))
        return {index: _word(offset) for index, offset in self.offsets.items() if offset in there}

    @property
    def number(self):
        """The kernel's number of it."""
        return int(self._read("id"))


def folder():
    return next((path for path in _FOLDERS if os.path.isdir(os.path.join(path, "sched"))), _FOLDERS[0])


def _word(offset):
    operand = Operand(f"8@[{offset}]", 8, True)
    operand.register = Register(offset, 8)
    return operand


def find(descriptions):
    """[Tracepoint] that any of the descriptions stands for."""
    asked = [desc for desc in descriptions if desc.provider]
    found = []
    if any(_tracer.glob(desc.provider, "syscall") for desc in asked):
        found += _syscalls()
    for (provider, name), event in _OTHERS.items():
        found.append(Tracepoint((provider, _MODULE, "", name), event, {}))
    return [each for each in found if any(_matches(desc, each.names) for desc in asked)]


def _matches(desc, names):
    return all(map(_tracer.glob, (desc.provider, desc.module, desc.function, desc.name), names))


def _syscalls():
    entry = {i: _SYSCALL_ARGUMENTS + 8 * i for i in range(6)}
    result = dict.fromkeys((0, 1), _SYSCALL_RESULT)
    try:
        names = sorted(os.listdir(os.path.join(folder(), "syscalls")))
    except OSError:
        return []
    kinds = {"sys_enter_": ("entry", entry), "sys_exit_": ("return", result)}
    return [Tracepoint(("syscall", _MODULE, name.removeprefix(prefix), probe), f"syscalls/{name}", offsets)
            for name in names for prefix, (probe, offsets) in kinds.items() if name.startswith(prefix)]
