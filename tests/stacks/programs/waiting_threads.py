"""Threads that all wait, each in a system call of its own: the main thread for a line, one in select, one for a lock."""

import select
import threading

LOCK = threading.Lock()


def selects():
    select.select([], [], [], 1000)


def locks():
    LOCK.acquire()


LOCK.acquire()
for target in (selects, locks):
    threading.Thread(target=target, daemon=True).start()
print("ready")
input()
