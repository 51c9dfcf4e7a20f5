# For Cython modules: `cimport pyusdt`, and the C compiler gets pyusdt.get_include().  pyusdt_probe.h says what these do.

cdef extern from "pyusdt_probe.h" nogil:
    ctypedef struct test "struct pyusdt_test":
        pass
    bint is_on "pyusdt_is_on"(const test *test)
    int test_of "pyusdt_test_of"(object probe, test *test) except -1 with gil
