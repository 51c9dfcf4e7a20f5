"""A program that has pools and processes do its work, and knows nothing of pyusdt.

Input: how many calls of each kind.
"""

import concurrent.futures
import multiprocessing
import multiprocessing.pool
import sys
from functools import partial


def order(number):
    return 1 // number


def by_an_executor(kind, count):
    with kind(2) as pool:
        assert list(pool.map(order, range(1, count))) == [1 // number for number in range(1, count)]
        try:
            pool.submit(partial(order, 0)).result()
        except ZeroDivisionError:
            pass


def by_a_pool(pool, count):
    with pool:
        assert len(pool.map(order, range(1, count))) == count - 1
        assert len(list(pool.imap_unordered(order, [1]))) == len(pool.starmap(order, [(1,)])) == 1
        try:
            pool.apply_async(func=order, args=(0,)).get()
        except ZeroDivisionError:
            pass


if __name__ == "__main__":
    how_many = int(sys.argv[1])
    for each in (concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor):
        by_an_executor(each, how_many)
    by_a_pool(multiprocessing.pool.ThreadPool(2), how_many)
    by_a_pool(multiprocessing.get_context("spawn").Pool(1), how_many)
    process = multiprocessing.Process(target=sys.exit, args=(7,), name="seven")
    process.start()
    process.join()
