"""Threads with names: their attributes are kept in each of the ways in which CPython keeps an instance's."""

import _thread
import threading
import time


class Later(threading.Thread):
    """Has so many attributes before those of Thread."""

    def __init__(self, before, name):
        for number in range(before):
            setattr(self, f"before{number}", number)
        super().__init__(target=waits, name=name, daemon=True)


def waits():
    time.sleep(1000)


def start(thread):
    thread.start()
    return thread


start(threading.Thread(target=waits, name="indexer", daemon=True))
start(Later(2, "größer ✓"))
renamed = start(Later(0, "before"))
renamed.name = "renamed while it runs"
vars(renamed)
own = start(Later(0, "own dict"))
own.__dict__ = dict(own.__dict__)
start(Later(100, "many"))
deleted = Later(0, "deleted")
deleted.extra = 1
del deleted.extra
deleted.start()
_thread.start_new_thread(waits, ())
print("ready")
input()
