"""What a module of Cython's does with functions of Python's, and the other way around.  The module's name is the argument."""

import asyncio
import importlib
import sys

from counting import step, total


def counted(n):
    step()
    return n * 2


module = importlib.import_module(sys.argv[1])
print(
    module.calls(counted, 5),
    module.outer(counted, 1),
    list(module.yields(counted)),
    module.Shape(counted).twice(),
)
try:
    module.outer(counted, 3)
except ValueError as error:
    print(error)
generator = module.yields(counted)
next(generator)
generator.close()
print(asyncio.run(module.waits(counted, asyncio.sleep(0, "slept"))))
total()
