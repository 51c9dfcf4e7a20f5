"""A Django application whose view counts its calls itself: /count answers with the number of those of /work, of this process's."""

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path

calls = 0


def work(request):
    global calls
    calls += 1
    return HttpResponse(b"done")


def count(request):
    return HttpResponse(str(calls))


urlpatterns = [path("work", work), path("count", count)]
settings.configure(
    ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="of a test", MIDDLEWARE=[]
)
application = get_wsgi_application()
