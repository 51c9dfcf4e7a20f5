"""A Django application with planted causes (why_shop.py), for gunicorn: why_django:application."""

import os
import sys

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import why_shop

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="none")


def make_view(cause):
    def view(_request, number, every):
        return HttpResponse(why_shop.handle(cause, number, every))

    return view


urlpatterns = [
    path(f"{cause}/<int:number>/<int:every>", make_view(cause)) for cause in why_shop.CAUSES
]
application = get_wsgi_application()
