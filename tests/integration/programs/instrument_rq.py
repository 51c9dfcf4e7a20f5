"""Jobs of RQ: `instrument_rq.py SOCKET COUNT` gives COUNT of them, of which each third fails, to a worker that does each in a process
of its own.  It knows nothing of pyusdt."""

import sys

import redis
import rq


def order(number):
    return 1 // (number % 3)


if __name__ == "__main__":
    import instrument_rq

    connection = redis.Redis(unix_socket_path=sys.argv[1])
    queue = rq.Queue(connection=connection)
    for number in range(int(sys.argv[2])):
        queue.enqueue(instrument_rq.order, number)
    rq.Worker([queue], connection=connection).work(burst=True, logging_level="CRITICAL")
