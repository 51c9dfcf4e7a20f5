"""What the programs of this folder count with: calls of step(), which a tracer counts, too.  total() is their last line."""

import threading

_calls = []


def step():
    _calls.append(None)  # at once for all threads, with the GIL and without


def total():
    print("steps", len(_calls))


def in_threads(n, work):
    """All of n threads are there before one of them works."""
    barrier = threading.Barrier(n)
    threads = [threading.Thread(target=lambda: (barrier.wait(), work())) for _ in range(n)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
