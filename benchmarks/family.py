"""A process of Python that has others fire with it.

Input: a socket's path, how many processes; from the socket, lines `operation n`. For each, every
process fires n times, and the answer is the nanoseconds of their processor time that a process
took on average.

The processes are forked: they share what they have not written to, so that 500 of them fit.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import time

import pyusdt

ORDER = struct.Struct("q")


def fire(n: int) -> int:
    start = time.process_time_ns()
    for _ in range(n):
        pyusdt.p(1, 2, "a")
    return time.process_time_ns() - start


def child(orders: int, answers: int) -> None:
    """Until there are no more orders; from when it is traced on."""
    while not pyusdt.probe("user_trace-i4s4"):
        time.sleep(0.01)
    while given := os.read(orders, ORDER.size):
        os.write(answers, ORDER.pack(fire(*ORDER.unpack(given))))


def forked(mine: list[int]) -> tuple[int, int]:
    """The ends of a new process's pipes; those of the others, `mine`, are closed in it."""
    order, answer = os.pipe(), os.pipe()
    if os.fork() == 0:
        for end in (*mine, order[1], answer[0]):
            os.close(end)
        child(order[0], answer[1])
        os._exit(0)
    os.close(order[0])
    os.close(answer[1])
    return order[1], answer[0]


def main() -> None:
    orders = socket.socket(socket.AF_UNIX)
    orders.connect(sys.argv[1])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    family: list[tuple[int, int]] = []
    for _ in range(int(sys.argv[2])):
        family.append(forked([orders.fileno(), *(end for pair in family for end in pair)]))
    with orders.makefile("rw") as stream:
        for line in stream:
            n = int(line.split()[1])
            for order, _ in family:
                os.write(order, ORDER.pack(n))
            took = sum(ORDER.unpack(os.read(answer, ORDER.size))[0] for _, answer in family)
            print(took // len(family), file=stream, flush=True)


if __name__ == "__main__":
    main()
