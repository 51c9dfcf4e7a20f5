"""Work of a request with one planted cause each, for why_django.py, why_uvicorn.py and why_celery.py.

Environment: PG…: a PostgreSQL server; WHY_REDIS: a socket of redis; WHY_SERVICE: the URL of tests/support/servers/slow_service.py.

- Each function takes whether the cause is planted in this request.
- Without a cause a request works for 1 to 10 ms: noise.
"""

import gc
import os
import random
import re
import socket
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
import redis
import sqlalchemy

SLOW = 0.3  # seconds
stock = threading.Lock()
workers = ThreadPoolExecutor(1)
engine = sqlalchemy.create_engine("postgresql+psycopg://", pool_size=1, max_overflow=0)
cache = redis.Redis(unix_socket_path=os.environ["WHY_REDIS"])
service = httpx.Client(base_url=os.environ["WHY_SERVICE"])
heap = [[number] for number in range(1_500_000)]
local = threading.local()


def query(text, *values, fetch=True):
    if not hasattr(local, "connection"):
        local.connection = psycopg.connect("", autocommit=True)
    cursor = local.connection.execute(text, values)
    return cursor.fetchall() if fetch else None


def work():
    """The noise."""
    deadline = time.perf_counter() + random.uniform(0.001, 0.005)
    while time.perf_counter() < deadline:
        pass
    time.sleep(random.uniform(0, 0.005))


def in_background(function):
    """Starts it; returns once it has begun."""
    begun = threading.Event()
    threading.Thread(target=function, args=(begun,)).start()
    begun.wait()


def slow_sql(planted):
    query("select pg_sleep(%s)", SLOW if planted else 0.001)


def many_queries(planted):
    for number in range(200 if planted else 1):
        query("select price from item where id = %s", number)


def missing_index(planted):
    if planted:
        query("select count(*) from item a, item b where a.note < b.note || %s", "x")
    else:
        query("select price from item where id = 7")


def row_lock(planted):
    def keep_row(begun):
        with psycopg.connect("") as connection:
            connection.execute("update item set price = price + 1 where id = 1")
            begun.set()
            time.sleep(SLOW)

    if planted:
        in_background(keep_row)
    query("update item set price = 7 where id = %s", 1 if planted else 2, fetch=False)


def pool_exhausted(planted):
    def keep_connection(begun):
        with engine.connect():
            begun.set()
            time.sleep(SLOW)

    if planted:
        in_background(keep_connection)
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text("select 1"))


def keep_stock(begun):
    with stock:
        begun.set()
        time.sleep(SLOW)


def held_lock(planted):
    if planted:
        in_background(keep_stock)
    with stock:
        pass


def hold_gil(begun):
    begun.set()
    sum(range(25_000_000))


def held_gil(planted):
    if planted:
        in_background(hold_gil)
    for _ in range(1000):
        str(planted)


def regex(planted):
    re.match("(a+)+$", "a" * (22 if planted else 8) + "b")


def collection(planted):
    if planted:
        gc.collect()


def name_lookup(planted):
    socket.getaddrinfo("slow.test" if planted else "127.0.0.1", 80)


def slow_service(planted):
    service.get("/slow" if planted else "/quick")


def retries(planted):
    for _ in range(4):
        if service.get("/busy" if planted else "/quick").status_code == 200:
            return


def cold_cache(planted):
    key = f"item-{random.random()}" if planted else "item"
    if cache.get(key) is None:
        query("select price, pg_sleep(%s) from item where id = 3", SLOW)
        cache.set("item", "7")


def busy_workers(planted):
    if planted:
        workers.submit(time.sleep, SLOW)
    workers.submit(int).result()


def file_sync(planted):
    with tempfile.NamedTemporaryFile(dir=os.environ.get("WHY_FOLDER")) as file:
        for _ in range(100 if planted else 1):
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())


CAUSES = {
    each.__name__: each
    for each in (
        slow_sql,
        many_queries,
        missing_index,
        row_lock,
        pool_exhausted,
        held_lock,
        held_gil,
        regex,
        collection,
        name_lookup,
        slow_service,
        retries,
        cold_cache,
        busy_workers,
        file_sync,
    )
}


def quiet(_planted):
    """No cause."""


CAUSES["quiet"] = quiet


def handle(cause, number, every):
    """The request of this number; each of `every` has the cause."""
    work()
    CAUSES[cause](every > 0 and number % every == every - 1)
    return "ok"
