"""A Django application that knows nothing of pyusdt: `application` for WSGI, `asgi` for ASGI; as a program it asks itself.

Input: the number of requests of each kind.
Output: nothing.

- Its database is in memory.
"""

import sys
from wsgiref.util import setup_testing_defaults

import django
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.db import connection
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import path

settings.configure(
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["*"],
    SECRET_KEY="none",
    LOGGING_CONFIG=None,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
)
django.setup()


def item(_request, number):
    with connection.cursor() as cursor:
        cursor.execute("select %s", [number])
        return HttpResponse(f"item {cursor.fetchone()[0]}")


def front(_request):
    return HttpResponse("front")


def stream(_request):
    return StreamingHttpResponse(iter([b"one", b"two"]))


def bad(_request):
    with connection.cursor() as cursor:
        cursor.execute("select nothing")


urlpatterns = [
    path("", front),
    path("item/<int:number>", item),
    path("stream", stream),
    path("bad", bad),
]
application = WSGIHandler()
asgi = ASGIHandler()


def ask(where):
    """What a server gets from the application: the status and the bytes."""
    environ, said = {"PATH_INFO": where}, []
    setup_testing_defaults(environ)
    body = application(environ, lambda status, _headers: said.append(status))
    pieces = list(body)
    body.close()
    return said[0], b"".join(pieces)


def main(requests):
    for number in range(requests):
        assert ask(f"/item/{number}") == ("200 OK", b"item %d" % number)
        assert ask("/stream") == ("200 OK", b"onetwo")
        assert ask("/bad")[0] == "500 Internal Server Error"
        assert ask("/") == ("200 OK", b"front")
        assert ask("/nowhere")[0] == "404 Not Found"


if __name__ == "__main__":
    main(int(sys.argv[1]))
