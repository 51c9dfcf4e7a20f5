"""Fires i4s4, n950 and a probe of its own again and again for a minute; prints its provider's file first, then "on" when
any of the three is offered, "off" when none is."""

import time

import pyusdt

own = pyusdt.Provider("telling").probe("own-probe", int, str, "uint32_t", "int8_t", float)
pyusdt.put_tag("the tag")
was_on = False
print(own.path, flush=True)
deadline = time.monotonic() + 60
while time.monotonic() < deadline:
    fired = [
        pyusdt.p(1, -2, 3, -(1 << 40), "s1", "zwölf", b"s3", 4),
        pyusdt.pn(950, 9, 8, 7, 6, "n1", "n2"),
        own(-5, "text", -1, -3, 2.5),
    ]
    if any(fired) is not was_on:
        was_on = not was_on
        print("on" if was_on else "off", flush=True)
    time.sleep(0.02)
