"""A Flask application that knows nothing of pyusdt; as a program it asks itself.

Input: the number of requests of each kind.
Output: nothing.
"""

import sys

import flask

app = application = flask.Flask(__name__)


@app.route("/item/<int:number>")
def item(number):
    return f"item {number}"


@app.route("/bad")
def bad():
    raise flask.abort(503)


def main(requests):
    client = app.test_client()
    for number in range(requests):
        assert client.get(f"/item/{number}").data == b"item %d" % number
        assert client.get("/bad", buffered=True).status_code == 503
        assert client.get("/nowhere", buffered=True).status_code == 404


if __name__ == "__main__":
    main(int(sys.argv[1]))
