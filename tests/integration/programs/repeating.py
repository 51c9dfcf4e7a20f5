"""Fires the same two events again and again for a minute; prints "on" when the first is offered, "off" when none."""

import time

import pyusdt

probe = pyusdt.probe("user_trace-i4s4")
pyusdt.put_tag("the tag")
was_on = False
print("ready", flush=True)
deadline = time.monotonic() + 60
while time.monotonic() < deadline:
    fired = [pyusdt.p(1, 2, "a"), probe(1, -2, 3, -(1 << 40), "s1", "zwölf", b"s3", 4)]
    if any(fired) is not was_on:
        was_on = not was_on
        print("on" if was_on else "off", flush=True)
    time.sleep(0.02)
