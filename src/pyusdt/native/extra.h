/* What can be kept with a code object, by the names that CPython has had for it since 3.12. */
#ifndef PYUSDT_NATIVE_EXTRA_H
#define PYUSDT_NATIVE_EXTRA_H

#include <Python.h>

#if PY_VERSION_HEX < 0x030c0000
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_GetExtra _PyCode_GetExtra
#define PyUnstable_Code_SetExtra _PyCode_SetExtra
#endif

#endif
