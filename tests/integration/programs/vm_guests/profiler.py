"""cProfile around a part of the program, and a module loaded while it is at work."""

import cProfile
import pstats

from counting import step, total


def ten():
    for _ in range(10):
        step()
    import colorsys  # noqa: F401


step()
profile = cProfile.Profile()
profile.runcall(ten)
print(
    sorted(
        row[:2]
        for (_, _, name), row in pstats.Stats(profile).stats.items()
        if name in ("step", "ten")
    )
)
step()
total()
