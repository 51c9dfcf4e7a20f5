"""Code that is made, run, replaced and collected; names and modules that are no names; generators that end in all ways."""

import gc
import types

import counting
from counting import step, total


def run(text, names):
    exec(text, names)  # noqa: S102


functions = [lambda x: x + 1, lambda x: x * 2, lambda x: 1 / x]  # of one name, on one line
for each in functions:
    each(1)
for i in range(2000):
    run("def made(): step()\nmade()\n(lambda: 1)()", {"__name__": f"module{i % 5}", "step": step})
for name in (5, None, "\udc80\0x", "é", "", "a" * 5000):
    run("def made(): pass\nmade()", {"__name__": name})
run("def made(): pass\nmade()", {})
run(compile("def été(): pass\nété()", "<\udc80>", "exec"), {})
code = (lambda: 1).__code__
for i in range(500):
    types.FunctionType(code.replace(co_name=f"name{i}"), {})()
changed = types.FunctionType(step.__code__, vars(counting))
changed()  # step's code, by another function
changed.__code__ = code
print(changed(), eval("1 + 1"))


def ends():
    try:
        yield step()
    finally:
        step()


for last in (lambda g: g.close(), lambda g: list(g), lambda g: g.throw(KeyError), lambda g: None):
    generator = ends()
    next(generator)
    try:
        last(generator)
    except KeyError:
        print("thrown")
    del generator


class Ended:
    def __del__(self):
        step()


cycle = Ended()
cycle.itself = cycle
del cycle
gc.collect()
total()
