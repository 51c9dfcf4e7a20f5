"""A FastAPI application, of which a request of one route blocks the loop now and then; as a program it asks itself.

Input: the number of requests of each route.
Output: nothing.
"""

import asyncio
import sys
import time

import fastapi
import httpx

app = fastapi.FastAPI()


@app.get("/blocks/{number}")
async def blocks(number: int):
    if number % 15 == 0:
        time.sleep(0.2)  # noqa: ASYNC251 - that is the fault
    return number


@app.get("/waits/{number}")
async def waits(number: int):
    await asyncio.sleep(0.001)
    return number


async def ask(client, route, requests):
    for number in range(1, requests + 1):
        assert (await client.get(f"/{route}/{number}")).status_code == 200
        await asyncio.sleep(0.001)


async def main(requests):
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://shop") as client:
        await asyncio.gather(ask(client, "blocks", requests), ask(client, "waits", requests))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
