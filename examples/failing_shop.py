"""A shop in which some orders fail: `pyusdt exceptions` shows which ones, and with what values.

Run it with PYUSDT_FLIGHT=exceptions in its environment (pyusdt help exceptions)."""

import pyusdt

PRICES = {"apple": 3, "pear": 4}


class Order:
    def __init__(self, item: str, count: int):
        self.item, self.count, self.token = item, count, "s3cret"


def price(order: Order) -> int:
    return PRICES[order.item] * order.count


def answer(number: int) -> str:
    order = Order("plum" if number % 10 == 7 else "apple", number)
    try:
        return f"{price(order)} EUR"
    except KeyError:
        return "sorry"


for number in range(30):
    with pyusdt.tag(f"order {number}"):
        answer(number)
