#!/usr/bin/env python3
"""What `pyusdt why` costs the program that it watches: `benchmarks/why_cost.py [ROUNDS [SECONDS]]`.

Input: a Django application by gunicorn, each request with two statements of SQLite, asked RATE times a second.
Output: the processor time of a request without and with `pyusdt why`, their ratio, and what pyusdt itself used.

- The ways take turns in one run, so that a slower machine is slower for both. The median of the rounds' ratios counts.
"""

from __future__ import annotations

import http.client
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(sys.executable)
RATE, CLIENTS = 500, 4
TICKS = os.sysconf("SC_CLK_TCK")
PROGRAM = """
from django.conf import settings
settings.configure(
    ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="none",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.sqlite"}},
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
)
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.http import JsonResponse
from django.urls import path
application = get_wsgi_application()
def item(_request, number):
    with connection.cursor() as cursor:
        cursor.execute("select %s", [number])
        cursor.execute("select %s + 1", [cursor.fetchone()[0]])
        return JsonResponse({"item": cursor.fetchone()[0], "names": [str(each) for each in range(200)]})
urlpatterns = [path("item/<int:number>", item)]
"""


def read_processor_time(pid: int) -> float:
    """Seconds, of a process."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Clients:
    """Ask, RATE times a second together, until they are stopped."""

    def __init__(self, port: int) -> None:
        self._port, self.count, self._stopping = port, 0, False
        self._threads = [threading.Thread(target=self._ask) for _ in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        following = time.monotonic()
        while not self._stopping:
            connection.request("GET", f"/item/{self.count}")
            assert connection.getresponse().read()
            self.count += 1
            following = max(following + CLIENTS / RATE, time.monotonic() - 0.1)
            time.sleep(max(0.0, following - time.monotonic()))

    def stop(self) -> None:
        self._stopping = True
        for thread in self._threads:
            thread.join()


def measure(clients: Clients, worker: int, seconds: float) -> tuple[float, float]:
    """(seconds of processor time of a request, requests a second)."""
    began, used, count = time.monotonic(), read_processor_time(worker), clients.count
    time.sleep(seconds)
    requests = clients.count - count
    took = time.monotonic() - began
    return (read_processor_time(worker) - used) / requests, requests / took


def run_rounds(clients: Clients, master: int, worker: int, rounds: int, seconds: float) -> None:
    ratios = []
    for _ in range(rounds):
        bare, _ = measure(clients, worker, seconds)
        with subprocess.Popen(
            [os.path.join(HERE, "pyusdt"), "why", str(master)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as why:
            time.sleep(3)  # it attaches
            own = read_processor_time(why.pid)
            watched, rate = measure(clients, worker, seconds)
            own = (read_processor_time(why.pid) - own) / seconds
            why.send_signal(signal.SIGINT)
        time.sleep(2)  # it leaves
        ratios.append(watched / bare)
        print(
            f"{rate:5.0f} requests/s  {bare * 1e6:7.0f} µs  {watched * 1e6:7.0f} µs"
            f"  {ratios[-1]:6.3f}  pyusdt {100 * own:5.1f} % of a processor",
            flush=True,
        )
    print(f"median ratio {statistics.median(ratios):.3f}")


def main() -> None:
    rounds, seconds = (float(each) for each in [*sys.argv[1:], 7, 8][:2])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="pyusdt-why-") as folder:
        with open(os.path.join(folder, "cost_shop.py"), "w") as file:
            file.write(PROGRAM)
        command = ["gunicorn", "--threads", "4", "-b", f"127.0.0.1:{port}", "cost_shop:application"]
        with subprocess.Popen(
            [os.path.join(HERE, command[0]), *command[1:]], cwd=folder, stderr=subprocess.DEVNULL
        ) as server:
            time.sleep(4)
            with open(f"/proc/{server.pid}/task/{server.pid}/children") as file:
                worker = int(file.read().split()[0])
            clients = Clients(port)
            try:
                time.sleep(3)
                run_rounds(clients, server.pid, worker, int(rounds), seconds)
            finally:
                clients.stop()
                server.terminate()


if __name__ == "__main__":
    main()
