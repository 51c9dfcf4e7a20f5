"""A Django project in one file that knows nothing of pyusdt. `pyusdt help django` traces it.

python django_shop.py runserver --noreload    or    gunicorn django_shop:application

- Its database is in memory.
"""

import sys
import time

import django
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import execute_from_command_line
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


def item(_request, number):
    with connection.cursor() as cursor:
        cursor.execute("select 'item ' || %s", [number])
        return HttpResponse(cursor.fetchone()[0])


def checkout(_request):
    time.sleep(0.02)
    return HttpResponse("no payment today", status=503)


urlpatterns = [path("item/<int:number>", item), path("checkout", checkout)]
application = WSGIHandler()

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
