# cython: language_level=3, freethreading_compatible=True
"""Functions of Cython that call Python's, are called by it, yield, wait and raise.  Compiled as it is, and with profile and linetrace."""


def calls(function, n):
    return [function(i) for i in range(n)]


cdef int inner(function, int n) except -1:
    function(n)
    if n == 3:
        raise ValueError("three")
    return n


cpdef int outer(function, int n):
    return inner(function, n) + 1


def yields(function):
    for i in range(3):
        yield function(i)


async def waits(function, awaitable):
    function(1)
    return await awaitable


class Shape:
    def __init__(self, function):
        self.area = lambda: function(2)

    def twice(self):
        return self.area(), self.area()
