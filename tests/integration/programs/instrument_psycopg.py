"""A program that asks PostgreSQL by psycopg, and knows nothing of pyusdt.

Input: the number of statements of each kind; the server, by PGHOST and its like.
Output: nothing.
"""

import asyncio
import contextlib
import sys

import psycopg
from psycopg import sql

TIMES = int(sys.argv[1])
BUILT = sql.SQL("select {} + %s").format(sql.Literal(3))


def by_connection():
    with psycopg.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("create temporary table item (number integer)")
        cursor.executemany(
            query="insert into item values (%s)", params_seq=[(number,) for number in range(TIMES)]
        )
        for number in range(TIMES):
            assert connection.execute(b"select number from item").rowcount == TIMES
            assert cursor.execute(BUILT, (number,), prepare=True).fetchone() == (3 + number,)
            with contextlib.suppress(psycopg.errors.UndefinedColumn):
                cursor.execute("select nothing")
        with connection.transaction(), connection.cursor("named") as named:
            named.execute("select 1 as of_the_server")
            assert named.fetchall() == [(1,)]


async def by_coroutines():
    async with await psycopg.AsyncConnection.connect() as connection, connection.cursor() as cursor:
        for _ in range(TIMES):
            await cursor.execute("select 2")
            assert await cursor.fetchone() == (2,)


by_connection()
asyncio.run(by_coroutines())
