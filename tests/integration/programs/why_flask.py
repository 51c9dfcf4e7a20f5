"""A Flask application with planted causes; as a program it asks itself, the last of each ROUNDS requests is slow.

Input: the number of requests of each route, then routes.
Output: nothing.
"""

import re
import sqlite3
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import flask

from pyusdt.instrument.dbapi import connection, cursor

ROUNDS = 15
SLOW = 0.2  # seconds
app = flask.Flask(__name__)
database = sqlite3.connect(
    ":memory:",
    factory=connection(sqlite3.Connection, cursor(sqlite3.Cursor)),
    check_same_thread=False,
)
database.create_function("pause", 1, time.sleep)
stock = threading.Lock()
workers = ThreadPoolExecutor(1)


def is_slow(number):
    return number % ROUNDS == 0


@app.route("/statement/<int:number>")
def statement(number):
    database.execute("select 1")
    if is_slow(number):
        database.execute(f"select pause({SLOW}), {number}").fetchall()
    return ""


@app.route("/statements/<int:number>")
def statements(number):
    for key in range(100 if is_slow(number) else 1):
        database.execute(f"select pause({SLOW / 100}), {key}").fetchall()
    return ""


@app.route("/regex/<int:number>")
def regex(number):
    if is_slow(number):
        deadline = time.monotonic() + SLOW
        while time.monotonic() < deadline:
            re.match("(a+)+$", "a" * 16 + "b")
    return ""


def reserve():
    with stock:
        pass


def keep_stock(taken):
    with stock:
        taken.set()
        time.sleep(SLOW)


@app.route("/lock/<int:number>")
def lock(number):
    if is_slow(number):
        taken = threading.Event()
        threading.Thread(target=keep_stock, args=(taken,)).start()
        taken.wait()
    reserve()
    return ""


@app.route("/worker/<int:number>")
def worker(number):
    if is_slow(number):
        workers.submit(time.sleep, SLOW)
    workers.submit(int).result()
    return ""


@app.route("/usual/<int:number>")
def usual(number):
    return str(number)


def main(requests, routes):
    client = app.test_client()
    for number in range(1, requests + 1):
        for route in routes:
            assert client.get(f"/{route}/{number}").data is not None


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
