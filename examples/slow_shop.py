"""A Flask application that is slow now and then, for `pyusdt why`. As a program it asks itself.

pyusdt why -- python slow_shop.py
"""

import threading
import time

import flask

app = flask.Flask(__name__)
stock = threading.Lock()


@app.route("/item/<int:number>")
def item(number):
    with stock:
        return f"item {number}"


def count_stock():
    """A second thread, which keeps the lock for too long."""
    while True:
        time.sleep(0.5)
        with stock:
            time.sleep(0.1)


def main():
    threading.Thread(target=count_stock, daemon=True).start()
    client = app.test_client()
    end = time.monotonic() + 5
    number = 0
    while time.monotonic() < end:
        number += 1
        assert client.get(f"/item/{number}").data
        time.sleep(0.005)


if __name__ == "__main__":
    main()
