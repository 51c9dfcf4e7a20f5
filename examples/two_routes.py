"""Answers requests in threads: "/list" is quick, "/report" is slow, and both call the same functions.

Which functions is the report slow in, and not the program as a whole?  pyusdt help stacks-in-scripts, "While this request runs"."""

import sys
import threading
import time

import pyusdt


def rows(n: int) -> list[int]:
    return [i * i % 1009 for i in range(n)]


def total(numbers: list[int]) -> int:
    return sum(number * 3 % 7 for number in numbers)


def answer(path: str) -> int:
    pyusdt.p("begin", path)
    result = total(rows(20000 if path == "/report" else 2000))
    pyusdt.p("end", path)
    return result


def serve(path: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer(path)
        housekeeping()


def housekeeping() -> None:
    for _ in range(2000):
        pass


workers = [
    threading.Thread(target=serve, args=(path, float(sys.argv[1]))) for path in ("/list", "/report")
]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
