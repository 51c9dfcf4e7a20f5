"""A Flask application that knows nothing of pyusdt. `pyusdt help flask` traces it.

flask --app flask_shop run    or    gunicorn flask_shop:app
"""

import time

import flask

app = flask.Flask(__name__)


@app.route("/item/<int:number>")
def item(number):
    time.sleep(0.002)
    return f"item {number}"


@app.route("/checkout")
def checkout():
    time.sleep(0.02)
    return "no payment today", 503
