"""Threads that spin, one after the other: for each line that it is told the next takes the place of the last."""

import threading


class Turn:
    """A thread that spins until it is over."""

    def __init__(self):
        self.over = False
        self.thread = threading.Thread(target=self.spins, daemon=True)
        self.thread.start()

    def spins(self):
        while not self.over:
            pass

    def end(self):
        self.over = True
        self.thread.join()


while True:
    turn = Turn()
    print(turn.thread.ident)
    input()
    turn.end()
