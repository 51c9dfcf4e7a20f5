"""Three threads, one after the other: each starts a piece of work, takes some steps, ends it."""

import threading

from traced import wait_for_tracer

import pyusdt

START, STEP, END = 0, 1, 2


def work(number: int) -> None:
    pyusdt.p(START, number, f"work {number}")
    for step in range(number):
        pyusdt.p(STEP, step)
    pyusdt.p(END, number)


wait_for_tracer()
for number in (1, 2, 3):
    thread = threading.Thread(target=work, args=(number,))
    thread.start()
    thread.join()
pyusdt.p(END, 9)  # an end without a start
