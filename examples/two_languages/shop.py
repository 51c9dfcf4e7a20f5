#!/usr/bin/env python3
"""A shop's front end in Python over a key-value store in Erlang: the same tag on both sides of a request.

Input: --requests, --threads. Starts store.erl, asks it for a price for each request, and does
some work of its own.
Output: a line that says how many requests there were and how many of them were slow, which
latency.d shows by tag; what is missing where there is no Erlang, or its probes are not built.
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import socket
import subprocess
import tempfile
import threading
import time

import pyusdt

HERE = os.path.dirname(os.path.abspath(__file__))
APPLICATION = os.path.join(HERE, "..", "..", "erlang_nif", "ebin")
REQUEST, DONE = 1, 2  # the numbered probes, of both sides
SLOW_KEY = "quince"


def key_of(request: int) -> str:
    """One request in a hundred wants what is slow to find."""
    if request % 100 == 99:
        return SLOW_KEY
    return ("apple", "pear", "plum")[request % 3]


def start_store(folder: str) -> tuple[subprocess.Popen, int]:
    """The store and its port."""
    for program in ("erlc", "erl"):
        if shutil.which(program) is None:
            raise SystemExit(
                f"shop.py: the store is an Erlang program, and there is no {program} on PATH (Debian: apt install erlang-dev)"
            )
    subprocess.run(["erlc", "-o", folder, os.path.join(HERE, "store.erl")], check=True)
    command = ["erl", "-noshell", "-pa", APPLICATION, "-pa", folder, "-s", "store", "main"]
    store = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port, has_probes = store.stdout.readline().split()
    if has_probes != "true":
        store.kill()
        raise SystemExit(
            "shop.py: the store has no probes, since erlang_nif is not built, or can not be loaded: make -C erlang_nif"
        )
    return store, int(port)


def serve(request: int, stream) -> None:
    key = key_of(request)
    tag = f"request-{request}"
    with pyusdt.tag(tag):
        pyusdt.pn(REQUEST, request, key)
        print(tag, key, file=stream, flush=True)
        price = stream.readline().strip()
        time.sleep(0.001)  # the front end's own work
        pyusdt.pn(DONE, request, key, price)


def worker(port: int, waiting: queue.SimpleQueue) -> None:
    with (
        socket.create_connection(("127.0.0.1", port)) as connection,
        connection.makefile("rw") as stream,
    ):
        while (request := waiting.get()) is not None:
            serve(request, stream)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--requests", type=int, default=1000)
    options.add_argument("--threads", type=int, default=4)
    chosen = options.parse_args()
    waiting: queue.SimpleQueue = queue.SimpleQueue()
    for request in [*range(chosen.requests), *[None] * chosen.threads]:
        waiting.put(request)
    with tempfile.TemporaryDirectory() as folder:
        store, port = start_store(folder)
        workers = [
            threading.Thread(target=worker, args=(port, waiting)) for _ in range(chosen.threads)
        ]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        store.stdin.close()
        store.wait()
    slow = sum(key_of(request) == SLOW_KEY for request in range(chosen.requests))
    print(f"{chosen.requests} requests, {slow} of them slow")


if __name__ == "__main__":
    main()
