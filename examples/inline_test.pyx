# cython: language_level=3
"""A Cython module that checks without a Python call whether its probe is traced. Build it with pyusdt.get_include() among
the folders of headers (pyusdt help providers)."""
cimport pyusdt
import pyusdt as api

probe = api.Provider("squares").probe("summed", int, int)
cdef pyusdt.test on
pyusdt.test_of(probe, &on)


def squares(long n):
    """The sum of the squares below n; fires each."""
    cdef long i, total = 0
    for i in range(n):
        total += i * i
        if pyusdt.is_on(&on):
            probe(i, total)
    return total
