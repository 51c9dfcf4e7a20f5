"""A program with the provider `python`, which gives up rights: watcher_rights.py WHAT.  Prints what its threads have then."""

import ctypes
import glob
import os
import struct
import sys
import time

CAPSET, SECCOMP = 126, 317  # x86-64
TSYNC = 1
NEWUSER = 0x10000000
libc = ctypes.CDLL(None, use_errno=True)
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
    print(before["NoNewPrivs"], int(before["CapEff"], 16) & ~0xC0, before["CapInh"] == before["CapAmb"] == "0" * 16)
    assert libc.syscall(CAPSET, struct.pack("=Ii", 0x20080522, 0), b"\0" * 24) == 0
    print(wait_for(lambda: int(watcher()["CapPrm"], 16) | int(watcher()["CapEff"], 16) == 0))


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
    print(libc.syscall(SECCOMP, 1, TSYNC, program), sorted({each["Seccomp"] for each in threads().values()}))


def alone():
    """A call that only a process of one thread may make; the watcher comes back."""
    with pyusdt.vm.paused():
        print(len(threads()), libc.unshare(NEWUSER))
    print(wait_for(watcher) is not None)


def alone_by_os():
    os.unshare(NEWUSER)
    print(wait_for(watcher) is not None)


assert wait_for(watcher)
wait_for(lambda: watcher()["NoNewPrivs"] == "1")
{each.__name__: each for each in (rights, user, seccomp, alone, alone_by_os)}[sys.argv[1]]()
