"""A user who wants root's tracer to write where he may not: attacker.py UID[,UID…] PROGRAM ARGUMENT…

Runs as the first of these users in a user and mount namespace of his own, where he is root and has a /dev/shm of his own, and
starts the program, which publishes itself there. Then does what its standard input says, a line of Python at a time, with
what is below in reach, and answers each with a line. Needs nothing but the standard library: it is copied to where he can read.
"""

import ctypes
import mmap
import os
import shutil
import subprocess
import sys

NEWNS, NEWUSER = 0x00020000, 0x10000000
BIND, DETACH, PRIVATE, REC = 0x1000, 2, 1 << 18, 0x4000
libc = ctypes.CDLL(None, use_errno=True)


def call(function, *arguments):
    if getattr(libc, function)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{function}{arguments}")


def mount(kind, on):
    call("mount", kind.encode(), on.encode(), kind.encode(), 0, None)


def bind(what, on):
    call("mount", what.encode(), on.encode(), None, BIND, None)


def detach(what):
    call("umount2", what.encode(), DETACH)


def map_file(path):
    """Shows what a forked child has of its parent that published itself."""
    with open(path, "w+b") as file:
        file.truncate(4096)
        return mmap.mmap(file.fileno(), 4096)


def remove(tree):
    shutil.rmtree(tree)


def enter_namespaces(uids):
    """The users are 0, 1, … there. Only root may write a map of several: a child that stays outside does."""
    asks, answers = os.pipe(), os.pipe()
    parent = os.getpid()
    if os.fork() == 0:
        os.read(asks[0], 1)
        for kind in "ug":
            with open(f"/proc/{parent}/{kind}id_map", "w") as file:
                file.write("".join(f"{inside} {uid} 1\n" for inside, uid in enumerate(uids)))
        os.write(answers[1], b"x")
        os._exit(0)
    os.setgroups([])
    os.setresgid(uids[0], uids[0], uids[0])
    os.setresuid(uids[0], uids[0], uids[0])
    call("unshare", NEWUSER | NEWNS)
    os.write(asks[1], b"x")
    os.read(answers[0], 1)
    os.wait()
    call("mount", None, b"/", None, PRIVATE | REC, None)


def main():
    enter_namespaces([int(uid) for uid in sys.argv[1].split(",")])
    mount("tmpfs", "/dev/shm")
    os.chmod("/dev/shm", 0o1777)
    command = ["setpriv", "--pdeathsig", "KILL", *sys.argv[2:]]
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    names = {**globals(), "program": program}
    print(program.pid, flush=True)
    for line in sys.stdin:
        try:
            exec(line, names)  # noqa: S102 - that is what it is for
            print("done", flush=True)
        except Exception as error:  # noqa: BLE001 - for the test to see
            print(repr(error), flush=True)
    program.kill()


main()
