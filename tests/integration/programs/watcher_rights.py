"""A program with the provider `python`, which gives up rights: watcher_rights.py WHAT.  Prints what its threads have then."""

import ctypes
import glob
import os
import struct
import sys
import time

CAPSET, SECCOMP, UNSHARE = 126, 317, 272  # x86-64
TSYNC = 1
NEWUSER = 0x10000000
libc = ctypes.CDLL(None, use_errno=True)
CAPSET_OTHERWISE = libc.syscall  # found before enable(): as a call of C
del libc.__dict__["syscall"]
if not hasattr(os, "unshare"):  # before CPython 3.12: what enable() would find there

    def unshare(flags):
        if libc.unshare(flags) != 0:
            raise OSError(ctypes.get_errno(), "unshare")

    os.unshare = unshare

import pyusdt.vm


def threads():
    """Of each thread by its name, what its status says."""
    found = {}
    for path in glob.glob("/proc/self/task/*/status"):
        with open(path) as file:
            words = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        found[words["Name"]] = words
    return found


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def watcher():
    return threads().get("pyusdt-watch")


def rights():
    """At its start, and after the program has given up its capabilities: the watcher's."""
    before = watcher()
    print(
        before["NoNewPrivs"],
        int(before["CapEff"], 16) & ~0xC0,
        before["CapInh"] == before["CapAmb"] == "0" * 16,
    )
    assert (
        CAPSET_OTHERWISE(ctypes.c_long(CAPSET), struct.pack("=Ii", 0x20080522, 0), b"\0" * 24) == 0
    )
    print(wait_for(lambda: int(watcher()["CapPrm"], 16) | int(watcher()["CapEff"], 16) == 0))


def rights_by_ctypes():
    """They are the watcher's at once, whenever one looks."""
    assert libc.syscall(CAPSET, struct.pack("=Ii", 0x20080522, 0), b"\0" * 24) == 0
    print(
        [
            (each["CapPrm"], each["CapEff"], each["NoNewPrivs"])
            for each in threads().values()
            if each["Name"] == "pyusdt-watch"
        ]
    )


def user():
    """To another user and back, then for good: all threads do it."""
    os.setgroups([])
    os.seteuid(65534)
    os.seteuid(0)
    os.setgid(65534)
    os.setuid(65534)
    print(sorted({each["Uid"] for each in threads().values()}), len(threads()))


def seccomp():
    """A filter for all threads: it is the watcher's, too."""
    allow = struct.pack("=HBBI", 6, 0, 0, 0x7FFF0000)
    code = ctypes.create_string_buffer(allow)
    program = struct.pack("=HxxxxxxQ", 1, ctypes.addressof(code))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    print(
        libc.syscall(SECCOMP, 1, TSYNC, program),
        sorted({each["Seccomp"] for each in threads().values()}),
    )


def alone():
    """A call that only a process of one thread may make; the watcher comes back."""
    with pyusdt.vm.paused():
        print(len(threads()), libc.unshare(NEWUSER))
    print(wait_for(watcher) is not None)


def alone_by_os():
    os.unshare(NEWUSER)
    print(wait_for(watcher) is not None)


def alone_by_ctypes():
    """By its name and by its number, with arguments as ctypes has them; what the function says is as ever."""
    libc.unshare.argtypes = [ctypes.c_int]
    print(libc.unshare(ctypes.c_int(NEWUSER)), wait_for(watcher) is not None)
    print(
        libc.syscall(ctypes.c_long(UNSHARE), -1),
        os.strerror(ctypes.get_errno()),
        libc.unshare.__name__,
        wait_for(watcher) is not None,
    )
    print(wait_for(watcher) is not None)


def in_a_block():
    """A fork in a block does not bring the thread back before its end, nor do enable() and another block."""
    with pyusdt.vm.paused():
        child = os.fork()
        with pyusdt.vm.paused():
            pyusdt.vm.enable()
        for _ in range(1000):
            pass
        if child == 0:
            os._exit(len(threads()))
        print(len(threads()), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(wait_for(watcher) is not None)


def landlock():
    """A new thread inherits what restricts the one that begins it; of a process, no file shows it."""
    made = struct.pack("=Q", 1 << 8)  # LANDLOCK_ACCESS_FS_MAKE_REG
    ruleset = libc.syscall(444, made, len(made), 0)
    before = watcher()["Pid"]
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    libc.syscall(446, ruleset, 0)  # fails where the kernel has none
    print(wait_for(watcher) is not None, watcher()["Pid"] != before)


def filtered(call):
    """A filter for one thread, which kills for clone() and its like: the watcher leaves, and no call is made after it."""
    kill = struct.pack(
        "=HBBIHBBIHBBIHBBIHBBI",
        0x20,
        0,
        0,
        0,
        0x15,
        1,
        0,
        56,
        0x15,
        0,
        1,
        435,
        6,
        0,
        0,
        0x80000000,
        6,
        0,
        0,
        0x7FFF0000,
    )
    code = ctypes.create_string_buffer(kill)
    program = struct.pack("=HxxxxxxQ", 5, ctypes.addressof(code))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert call(None) != 0  # a program at 0: refused, and the watcher comes back
    assert wait_for(watcher)
    print(call(program))
    time.sleep(0.3)
    print(len(threads()), "seccomp filter" in pyusdt.vm.trouble())


def filtered_by_prctl():
    filtered(lambda program: libc.prctl(22, 2, program))


def filtered_by_number():
    filtered(lambda program: libc.syscall(SECCOMP, 1, 0, program))


def filtered_while_disabled():
    """enable() afterwards starts no thread, and tracers are told."""

    def call(program):
        pyusdt.vm.disable()
        result = libc.prctl(22, 2, program)
        pyusdt.vm.enable()
        return result

    filtered(call)


assert wait_for(watcher)
wait_for(lambda: watcher()["NoNewPrivs"] == "1")
globals()[sys.argv[1]]()
