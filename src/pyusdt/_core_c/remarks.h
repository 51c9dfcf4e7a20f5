/* The remarks of a Python process (include/pyusdt.h), each with its own number. */
#ifndef PYUSDT_CORE_REMARKS_H
#define PYUSDT_CORE_REMARKS_H

#include "pyusdt.h"

enum pyusdt_remark_slot {
    PYUSDT_VM_REASON_CODE, /* the parts of the provider python that may lack something */
    PYUSDT_VM_REASON_TASKS,
    PYUSDT_VM_REASON_MEMORY,
    PYUSDT_VM_REASON_INTERPRETERS,
    PYUSDT_VM_REASON_VALUES, /* that paths to values lead nowhere */
    PYUSDT_VM_REASONS,
    PYUSDT_VM_HINT = PYUSDT_VM_REASONS, /* that provider's hint */
    PYUSDT_FRAMEWORK_REASON,            /* remarks of instrument/ */
    PYUSDT_REMARK_OF_TASKS,             /* _core_c/task_numbers.h */
    PYUSDT_REMARK_SLOTS
};
_Static_assert(PYUSDT_REMARK_SLOTS == PYUSDT_REMARKS, "there are as many places");

#endif
