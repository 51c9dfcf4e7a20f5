/*
 * Replaces one of the interpreter's Python functions by a C function, while a tracer wants it.
 *
 * - The C function gets the original as its self, and calls it. No frame is added to a traceback.
 * - The replacement is removed only if it is still in place, since another tool may have wrapped
 *   it.
 */
#ifndef PYUSDT_CORE_FUNCTION_PATCH_H
#define PYUSDT_CORE_FUNCTION_PATCH_H

#include <Python.h>

struct pyusdt_vm_patch {
    const char *module, *holder, *name; /* holder: a class of the module, or NULL */
    PyMethodDef method;
    PyObject *before, *replacement; /* NULL: it is not set */
};

#define PYUSDT_VM_FASTCALL(function) ((PyCFunction)(void (*)(void))(function))

/* Nothing if the module is not loaded. */
void pyusdt_vm_patch_set(struct pyusdt_vm_patch *hook, int wanted);

/* ---- asyncio_steps.c ---- */

/* Puts hooks into asyncio if the wanted probes need them; if it is not loaded, once it is
 * (pyusdt_vm_tasks_after_import). */
void pyusdt_vm_tasks_set(uint32_t wanted);

/* Whether to look for asyncio, or for an event loop that is not asyncio's own. */
int pyusdt_vm_tasks_needs_import_hook(void);

/* A module has been imported: is it the one that is waited for? */
void pyusdt_vm_tasks_after_import(void);

#endif
