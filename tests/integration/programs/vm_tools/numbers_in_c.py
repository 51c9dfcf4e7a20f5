"""numpy: functions of Python's that its loops call, and its own."""

import numpy
from counting import step, total


def double(x):
    step()
    return 2 * x


def fails(x):
    step()
    raise ArithmeticError(str(x))


print(numpy.vectorize(double, otypes=[int])(numpy.arange(10)).tolist())
print(numpy.frompyfunc(double, 1, 1)(numpy.arange(10)).tolist())
print(numpy.apply_along_axis(lambda row: double(row.sum()), 1, numpy.ones((5, 3))).tolist())
print(
    numpy.fromiter((double(n) for n in range(5)), int).tolist(),
    numpy.array([3, 1, 2]).argsort().tolist(),
)
try:
    numpy.vectorize(fails)(numpy.arange(3))
except ArithmeticError as error:
    print(error)
total()
