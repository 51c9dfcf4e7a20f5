"""Short names of source files, and frames that are folded."""

from __future__ import annotations

from pydtrace.profile.frame_folding import fold_frames
from pydtrace.profile.frame_key import FrameKey
from pydtrace.profile.short_paths import ShortPaths

APP, VIEW = "/srv/shop/app.py", "/srv/shop/views/cart.py"
DJANGO = "/srv/venv/lib/python3.11/site-packages/django/http/request.py"
JSON = "/usr/lib/python3.11/json/decoder.py"


def shorten(*files: str) -> list[str]:
    paths = ShortPaths(files)
    return [paths.shorten(file) for file in files]


def test_short_names():
    assert shorten(APP, VIEW, DJANGO, JSON) == [
        "app.py",
        "views/cart.py",
        "django/http/request.py",
        "json/decoder.py",
    ]
    assert shorten("/usr/lib/x86_64-linux-gnu/libc.so.6", "<frozen os>", "") == [
        "libc.so.6",
        "<frozen os>",
        "",
    ]
    assert shorten(APP, VIEW, "/usr/bin/python3.11", "/srv/venv/bin/gunicorn") == [
        "app.py",
        "views/cart.py",
        "python3.11",
        "gunicorn",
    ]
    assert shorten("/a.py", "/b/c.py") == ["/a.py", "/b/c.py"]
    assert shorten() == [] and ShortPaths([]).shorten(APP) == APP


def test_two_files_of_one_short_name_keep_their_paths():
    own = "/srv/shop/json/decoder.py"
    assert shorten(own, APP, JSON) == [own, "app.py", JSON]


def key(name: str, file: str) -> FrameKey:
    return FrameKey((name, file, None))


def test_folding():
    stack = [
        key("main", APP),
        key("wrap", "/srv/venv/lib/python3.11/site-packages/pyusdt/tags.py"),
        key("call", "/srv/venv/lib/python3.11/site-packages/pyusdt/tags.py"),
        key("get", DJANGO),
        key("send", DJANGO),
        key("load", JSON),
        key("exec", "<frozen importlib._bootstrap>"),
        key("cart", VIEW),
        key("[moving]", ""),
    ]
    shown = [place.text for place in fold_frames(stack, mine=False)]
    assert shown[:3] == [f"main ({APP})", "[pyusdt]", f"get ({DJANGO})"] and len(shown) == 8
    assert [place.text for place in fold_frames(stack, mine=True)] == [
        f"main ({APP})",
        "[pyusdt]",
        "[django]",
        "[json]",
        "[importlib]",
        f"cart ({VIEW})",
        "[moving]",
    ]
