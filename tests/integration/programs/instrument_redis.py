"""A program that uses Redis, and knows nothing of pyusdt.

Input: the server's socket; how often.
"""

import asyncio
import sys

import redis
import redis.asyncio

SOCKET, COUNT = sys.argv[1], int(sys.argv[2])


async def asynchronously():
    client = redis.asyncio.Redis(unix_socket_path=SOCKET)
    for _ in range(COUNT):
        assert await client.hget("shelf", "book") is None
        async with client.pipeline() as pipeline:
            assert await pipeline.incr("asked").incr("asked").execute()
    await client.aclose()


client = redis.Redis(unix_socket_path=SOCKET)
for _ in range(COUNT):
    client.set("here", "value")
    assert client.get("here") == b"value"
    assert client.get("nowhere") is None
    with client.pipeline() as pipeline:
        pipeline.incr("asked").incr("asked").execute()
    try:
        client.lpush("here", 1)
    except redis.ResponseError:
        pass
try:
    client.auth("secret")
except redis.RedisError:
    pass
asyncio.run(asynchronously())
