/* For programs that print what the headers of a CPython say: SHOW() prints a line "name offset". */
#ifndef SHOW_OFFSETS_H
#define SHOW_OFFSETS_H

#define Py_BUILD_CORE_MODULE 1
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>

#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#if PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_frame.h"
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_interpframe.h"
#endif

#define SHOW(name, type, member) printf("%s %zu\n", #name, offsetof(type, member))

#endif
