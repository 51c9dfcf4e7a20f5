"""A program in which something is stuck: one thread works, one waits for an answer that never comes.

Run it and ask it:  pyusdt dump PID  (pyusdt help dump)."""

import socket
import threading


def ask(connection: socket.socket) -> bytes:
    return connection.recv(1)


def count() -> None:
    n = 0
    while True:
        n += 1


here, there = socket.socketpair()
threading.Thread(target=count, daemon=True).start()
ask(here)
