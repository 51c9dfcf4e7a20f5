"""Tests that know nothing of pyusdt. `pyusdt help pytest` traces it.

python -m pytest pytest_shop.py
"""

import flask_shop

client = flask_shop.app.test_client()


def test_item():
    assert client.get("/item/7").text == "item 7"


def test_checkout():
    assert client.get("/checkout", buffered=True).status_code == 503
