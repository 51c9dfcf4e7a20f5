/*
 * Events of object creation and destruction by PyRefTracer: from CPython 3.13 on, destruction from
 * 3.14 on (see python_provider.h).
 *
 * - The interpreter calls while it makes or frees an object. So no Python code is called here; only
 *   the type is read.
 * - The interpreter has one such tracer. If another tool has set it, it stays.
 */
#include "_core_c/vm/python_provider.h"

#include <string.h>

#include "pyusdt.h"

#define MEMORY_PROBES (PYUSDT_VM_BIT(PYUSDT_VM_ALLOC) | PYUSDT_VM_BIT(PYUSDT_VM_FREE))

#if PY_VERSION_HEX >= 0x030d0000

static uint32_t now_wanted;

static void fire_object(enum pyusdt_pyvm_probe probe, PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    struct pyusdt_firing firing;

    if ((now_wanted & PYUSDT_VM_BIT(probe)) == 0 || !pyusdt_vm_firing_begin(&firing, probe))
        return;
    pyusdt_firing_no_more(&firing, 0);
    pyusdt_firing_text(&firing, 0, type->tp_name,
                       pyusdt_text_length(type->tp_name, strlen(type->tp_name)));
    firing.args.value[1] = (uint64_t)type->tp_basicsize;
    firing.args.value[2] = (uintptr_t)object;
    pyusdt_vm_firing_offer(&firing, probe);
}

/* object: NULL if another tool replaces this function (3.15) */
static int on_object_event(PyObject *object, PyRefTracerEvent event, void *Py_UNUSED(data))
{
    if (object == NULL)
        return 0;
    if (event == PyRefTracer_CREATE)
        fire_object(PYUSDT_VM_ALLOC, object);
    else if (event == PyRefTracer_DESTROY)
        fire_object(PYUSDT_VM_FREE, object);
    return 0;
}

void pyusdt_vm_memory_set(uint32_t wanted)
{
    PyRefTracer current = PyRefTracer_GetTracer(NULL);
    int other = current != NULL && current != on_object_event;

    now_wanted = wanted & MEMORY_PROBES;
    pyusdt_vm_set_reason(
        PYUSDT_VM_REASON_MEMORY, MEMORY_PROBES,
        other && now_wanted != 0
            ? "another tool traces the interpreter's objects: there are no events of alloc and free"
            : NULL);
    if (!other && (current == on_object_event) != (now_wanted != 0) &&
        PyRefTracer_SetTracer(now_wanted != 0 ? on_object_event : NULL, NULL) < 0)
        PyErr_Clear();
}

#else

void pyusdt_vm_memory_set(uint32_t Py_UNUSED(wanted))
{
}

#endif
