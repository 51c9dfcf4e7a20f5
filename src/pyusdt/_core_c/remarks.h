/* The remarks of a process with Python in it (include/pyusdt.h), each at a place of its own. */
#ifndef PYUSDT_CORE_REMARKS_H
#define PYUSDT_CORE_REMARKS_H

#include "pyusdt.h"

enum pyusdt_remark_place {
    PYUSDT_VM_LACK_CODE, /* the parts of the provider python that may lack something */
    PYUSDT_VM_LACK_TASKS,
    PYUSDT_VM_LACK_MEMORY,
    PYUSDT_VM_LACK_INTERPRETERS,
    PYUSDT_VM_LACK_PARTS,
    PYUSDT_VM_HINT = PYUSDT_VM_LACK_PARTS, /* that provider's hint */
    PYUSDT_FRAMEWORK_LACK,                 /* what instrument/ says */
    PYUSDT_TASKS_SHARE,                    /* _core_c/task_numbers.h */
    PYUSDT_REMARK_PLACES
};
_Static_assert(PYUSDT_REMARK_PLACES == PYUSDT_REMARKS, "there are as many places");

#endif
