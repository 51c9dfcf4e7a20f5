"""A program that asks PostgreSQL by asyncpg, and knows nothing of pyusdt.

Input: the number of statements of each kind; the server, by PGHOST and its like.
Output: nothing.
"""

import asyncio
import contextlib
import sys

import asyncpg

TIMES = int(sys.argv[1])


async def main():
    async with asyncpg.create_pool(min_size=1, max_size=1) as pool, pool.acquire() as connection:
        await connection.execute("create temporary table item (number integer)")
        await connection.executemany(
            "insert into item values ($1)", [(number,) for number in range(TIMES)]
        )
        prepared = await connection.prepare("select 4")
        for number in range(TIMES):
            assert len(await connection.fetch("select number from item")) == TIMES
            assert await connection.fetchval("select 3 + $1::integer", number) == 3 + number
            assert await connection.execute("update item set number = 0") == f"UPDATE {TIMES}"
            assert len(await prepared.fetch()) == 1
            with contextlib.suppress(asyncpg.UndefinedColumnError):
                await connection.fetchrow(query="select nothing")


asyncio.run(main())
