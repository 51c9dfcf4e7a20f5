"""A thread that spins in one function after the other: for each line that it is told it goes into the next, and says which."""

import threading

FUNCTIONS = []
at = None  # the one where it is to spin


def spins(function):
    FUNCTIONS.append(function)
    return function


@spins
def first():
    while at is first:
        pass


@spins
def second():
    while at is second:
        pass


def inner():
    while at is through:
        pass


@spins
def through():
    inner()


def sleeps():
    threading.Event().wait()


def thread():
    while True:
        at()


at = FUNCTIONS[0]
threading.Thread(target=sleeps, daemon=True).start()
threading.Thread(target=thread, daemon=True).start()
turn = 0
while True:
    turn += 1
    print(at.__name__)
    input()
    at = FUNCTIONS[turn % len(FUNCTIONS)]
