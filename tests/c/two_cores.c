/* A program with a core of its own, provider `other`, which embeds Python and with it pyusdt's: fires 500 times by each. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "pyusdt.h"

uint16_t pyusdt_semaphores[1];

static const struct pyusdt_probe_desc PROBE = {"other", "two_cores", "main", "tick", 1,
                                               0,       1,           0,      NULL};

int main(void)
{
    struct pyusdt_args args = {.missing = 0};

    if (pyusdt_publish(&PROBE, 1) != 0)
        return 1;
    Py_Initialize();
    if (PyRun_SimpleString("import pyusdt") != 0)
        return 2;
    for (uint64_t i = 0; i < 500; i++) {
        args.value[0] = i;
        if (pyusdt_wanted(0) && pyusdt_demand(0))
            pyusdt_fire(0, &args);
        if (PyRun_SimpleString("pyusdt.p(1)") != 0)
            return 3;
    }
    return Py_FinalizeEx() == 0 ? 0 : 4;
}
