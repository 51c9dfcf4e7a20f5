"""gevent with everything patched: threads that are none, queues, pools, an event loop in C."""

from gevent import monkey

monkey.patch_all()

import queue
import threading
import time

import gevent
import gevent.pool
from counting import step, total


def nap(n):
    step()
    time.sleep(0.001)
    step()
    return n


def fails():
    time.sleep(0)
    step()
    raise LookupError("nobody looks")


wanted = queue.Queue()
threads = [threading.Thread(target=lambda: wanted.put(nap(1))) for _ in range(50)]
for each in threads:
    each.start()
print(sum(wanted.get() for _ in threads))
print(sum(gevent.pool.Pool(20).map(nap, range(200))))
greenlets = [gevent.spawn(nap, n) for n in range(100)]
gevent.joinall(greenlets)
killed = gevent.spawn(time.sleep, 100)
gevent.sleep(0)
killed.kill()
print(sum(each.value for each in greenlets), killed.value)
broken = gevent.spawn(fails)
broken.link_exception(lambda each: step())
hub = gevent.get_hub()
hub.NOT_ERROR += (LookupError,)  # it is not printed
broken.join()
gevent.sleep(0)
total()
