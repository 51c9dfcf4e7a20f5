"""A thread of each state: one spins, one holds a lock in which another waits, one sleeps in select; the main thread waits for a line."""

import select
import threading

LOCK = threading.Lock()
HELD = threading.Event()


def spins():
    while True:
        pass


def holds():
    with LOCK:
        HELD.set()
        selects()


def selects():
    select.select([], [], [], 1000)


def waits():
    HELD.wait()
    LOCK.acquire()


for target in (spins, holds, waits):
    threading.Thread(target=target, daemon=True).start()
HELD.wait()
print("ready")
input()
