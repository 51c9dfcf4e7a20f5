"""A program that uses a cluster of Redis', and knows nothing of pyusdt.

Input: the port of one of its nodes; how often.
"""

import asyncio
import sys

import redis.asyncio
import redis.cluster

PORT, COUNT = int(sys.argv[1]), int(sys.argv[2])


async def asynchronously():
    client = redis.asyncio.RedisCluster(host="127.0.0.1", port=PORT)
    for _ in range(COUNT):
        assert await client.hget("shelf", "book") is None
        async with client.pipeline() as pipeline:
            assert await pipeline.incr("{asked}").incr("{asked}").execute()
    await client.aclose()


client = redis.cluster.RedisCluster(host="127.0.0.1", port=PORT)
for _ in range(COUNT):
    client.set("here", "value")
    assert client.get("here") == b"value"
    assert client.get("nowhere") is None
    with client.pipeline() as pipeline:
        pipeline.incr("{asked}").incr("{asked}").execute()
    try:
        client.lpush("here", 1)
    except redis.ResponseError:
        pass
asyncio.run(asynchronously())
