"""Forks a child, then becomes another program: each calls getpriority(4242) in a function of its own, until it hears a line."""

import os
import sys
import threading


def call():
    try:
        os.getpriority(4242, 0)
    except OSError:
        pass


def until_told(function):
    told = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), told.set()), daemon=True).start()
    while not told.wait(0.002):
        function()


def before():
    call()


def in_child():
    call()


def after():
    call()


if sys.argv[1:] == ["after"]:
    print("after", flush=True)
    until_told(after)
else:
    print("before", flush=True)
    until_told(before)
    child = os.fork()
    if not child:
        print("child", flush=True)
        until_told(in_child)
        os._exit(0)
    os.waitpid(child, 0)
    os.execv(sys.executable, [sys.executable, "-u", __file__, "after"])
