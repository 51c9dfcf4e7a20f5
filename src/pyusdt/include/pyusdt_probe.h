/*
 * The is-enabled test of a probe, inline, for extension modules in C and Cython
 * (docs/reference/providers.md).
 *
 *     static struct pyusdt_test on;
 *     pyusdt_test_of(probe, &on)                  once, with the GIL; -1 with an exception
 *     if (pyusdt_is_on(&on)) …                    anywhere, from any thread, without the GIL
 *
 * The probe is an object of Python: pyusdt.probe(…), pyusdt.Provider(…).probe(…). To fire, call the
 * object, as in Python.
 *
 * - A test stays valid as long as the process lives, and in its forked children.
 * - The answer is a hint, like `if probe:`. A probe may fire once after it was switched off.
 */
#ifndef PYUSDT_PROBE_H
#define PYUSDT_PROBE_H

#include <Python.h>
#include <stdint.h>

#define PYUSDT_TEST_CAPSULE "pyusdt.test.1" /* the number changes with the struct */

struct pyusdt_test {
    const uint16_t *attached; /* how many USDT tracers there are */
    uint64_t *const *words;   /* the sessions that want each probe of the process, */
    uint64_t index;           /* of which this is one */
};

static inline int pyusdt_is_on(const struct pyusdt_test *test)
{
    return (__atomic_load_n(test->attached, __ATOMIC_RELAXED) |
            __atomic_load_n(&__atomic_load_n(test->words, __ATOMIC_RELAXED)[test->index],
                            __ATOMIC_RELAXED)) != 0;
}

/* 0; -1 with an exception if the object is no probe, or one of another version of pyusdt. */
static inline int pyusdt_test_of(PyObject *probe, struct pyusdt_test *test)
{
    PyObject *capsule = PyObject_CallMethod(probe, "_test", NULL);
    const struct pyusdt_test *found;

    if (capsule == NULL)
        return -1;
    found = (const struct pyusdt_test *)PyCapsule_GetPointer(capsule, PYUSDT_TEST_CAPSULE);
    if (found != NULL)
        *test = *found;
    Py_DECREF(capsule);
    return found == NULL ? -1 : 0;
}

#endif
