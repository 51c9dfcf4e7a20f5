"""A cache that never forgets: argv[1] seconds."""

import sys
import time

pages = {}


def render(user):
    return "<p>" + f"Hello, user {user}. " * 500 + "</p>"


def get_page(user):
    if user not in pages:
        pages[user] = render(user)  # for ever
    return pages[user]


until = time.monotonic() + float(sys.argv[1])
user = 0
while time.monotonic() < until:
    get_page(user)
    user += 1
    time.sleep(0.001)
