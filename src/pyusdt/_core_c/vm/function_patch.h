/* A function of C in the place of one of the interpreter's own Python functions, while somebody wants it.
 *
 * In:      where the function is, and ours, which gets what was there as its self, and calls it.
 * Out:     ours in its place, or what was there.
 * Always:  no frame is added to a traceback; it is taken out only where it still is what it was: another tool may have put its own
 *          around it. */
#ifndef PYUSDT_CORE_FUNCTION_PATCH_H
#define PYUSDT_CORE_FUNCTION_PATCH_H

#include <Python.h>

struct pyusdt_vm_patch {
    const char *module, *holder, *name; /* holder: a class of the module, or NULL */
    PyMethodDef method;
    PyObject *before, *replacement; /* NULL: it is not set */
};

#define PYUSDT_VM_FASTCALL(function) ((PyCFunction)(void (*)(void))(function))

/* Nothing where the module is not loaded. */
void pyusdt_vm_patch_set(struct pyusdt_vm_patch *hook, int wanted);

/* ---- asyncio_steps.c ---- */

/* Puts hooks into asyncio where the wanted probes need them; where it is not loaded, once it is (pyusdt_vm_tasks_after_import). */
void pyusdt_vm_tasks_set(uint32_t wanted);

/* Whether asyncio, or an event loop that is not its own, is looked for. */
int pyusdt_vm_tasks_needs_import_hook(void);

/* A module has been imported: is it what is waited for? */
void pyusdt_vm_tasks_after_import(void);

#endif
