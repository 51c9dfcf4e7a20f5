"""Jobs of RQ that know nothing of pyusdt. `pyusdt help rq` traces it.

python rq_shop.py 30    puts 30 jobs into the queue, of which each third fails

- REDIS_URL is the server; redis://localhost:6379 if it is not set.
"""

import os
import sys

import redis
import rq


def order(number):
    return 1 // (number % 3)


if __name__ == "__main__":
    import rq_shop

    url = os.environ.get("REDIS_URL", "redis://localhost:6379")
    queue = rq.Queue(connection=redis.Redis.from_url(url))
    for each in range(int(sys.argv[1])):
        queue.enqueue(rq_shop.order, each)
