"""Two threads that wait for each other's lock for ever: `pyusdt dump PID` reports the deadlock."""

import threading


class Account:
    def __init__(self, money):
        self.money = money
        self.lock = threading.Lock()


STARTED = threading.Barrier(2)


def move(source, target, money):
    with source.lock:
        STARTED.wait()  # as if by chance both were here at once
        with target.lock:
            source.money -= money
            target.money += money


mine, yours = Account(100), Account(100)
for source, target in ((mine, yours), (yours, mine)):
    threading.Thread(target=move, args=(source, target, 5), daemon=True).start()
threading.Event().wait()
