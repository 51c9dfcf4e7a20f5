"""Hands a token round N times, over threads of two processes: parent's first thread, its second, child's first, its
second, and back. Who has it fires user_trace-i4s4 with its number, then passes it on.
"""

import os
import sys
import threading

import pyusdt

N = int(sys.argv[1])
DONE = b"\0" * 8


def hop(read, write):
    """Take the token, fire, pass the next one on; until it is N."""
    while True:
        token = int.from_bytes(os.read(read, 8), "little")
        if token and token <= N:
            pyusdt.p(token)
        if token == 0 or token > N:
            os.write(write, DONE)
            return
        os.write(write, (token + 1).to_bytes(8, "little"))


pipes = [os.pipe() for _ in range(4)]  # pipes[i] leads to hop i
child = os.fork()
first = 0 if child else 2
threads = [
    threading.Thread(target=hop, args=(pipes[i][0], pipes[(i + 1) % 4][1]))
    for i in (first, first + 1)
]
for thread in threads:
    thread.start()
if child:
    os.write(pipes[0][1], (1).to_bytes(8, "little"))
for thread in threads:
    thread.join()
if child:
    os.waitpid(child, 0)
