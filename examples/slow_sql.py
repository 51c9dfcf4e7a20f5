"""A Django application in which one page is slow because of its database query. It answers requests for argv[1] seconds.

Run it and ask where the time goes:  pyusdt profile PID  (pyusdt help profile)."""

import sys
import time
from wsgiref.util import setup_testing_defaults

import django
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.db import connection
from django.http import HttpResponse
from django.urls import path

settings.configure(
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["*"],
    SECRET_KEY="none",
    LOGGING_CONFIG=None,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
)
django.setup()
PAIRS = """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
           SELECT count(*) FROM n AS a, n AS b WHERE (a.i * b.i) %% 7 = %s"""


def orders(request):
    return HttpResponse("none")


def report(request):
    with connection.cursor() as cursor:
        cursor.execute(PAIRS, [3])
        return HttpResponse(str(cursor.fetchone()[0]))


urlpatterns = [path("orders", orders), path("report", report)]
application = WSGIHandler()


def ask(where: str) -> bytes:
    environ = {"PATH_INFO": where}
    setup_testing_defaults(environ)
    answer = application(environ, lambda status, headers: None)
    answer.close()
    return b"".join(answer)


end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    ask("/orders")
    ask("/report")
