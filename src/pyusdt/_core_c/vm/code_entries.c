/*
 * An entry for each code object, which lives as long as the code object (see python_provider.h).
 *
 * - From CPython 3.12 on the entries are in a table by the address of the code; a code watcher
 *   reports its end. Entries are added by one atomic operation, never moved or freed, only used
 *   again. Finding one takes no lock, because code that runs is alive, and so is its entry.
 * - Before 3.12 the entry is in the code object itself (co_extra), under the GIL. Without the GIL,
 *   in CPython 3.13 and 3.14, two threads that set the extra of a code object at the same time free
 *   each other's data.
 */
#define PY_SSIZE_T_CLEAN
#include "_core_c/vm/python_provider.h"

#include <stdlib.h>
#include <string.h>

#if PY_VERSION_HEX >= 0x030c0000

struct pyusdt_vm_entry *pyusdt_vm_buckets[1 << PYUSDT_VM_BUCKET_BITS];
static int watcher = -1;

/* The entry of the code, or behind all of them NULL. */
static struct pyusdt_vm_entry *find_entry(struct pyusdt_vm_entry *entry, const PyCodeObject *code)
{
    while (entry != NULL && __atomic_load_n(&entry->code, __ATOMIC_ACQUIRE) != code)
        entry = entry->next;
    return entry;
}

/* No thread uses it: its code was not running. */
static void free_entry(struct pyusdt_vm_entry *entry)
{
    free(entry->place.texts);
    free(entry->place.stack);
    Py_XDECREF(entry->place.module);
    memset(&entry->place, 0, sizeof entry->place);
    __atomic_store_n(&entry->code, NULL, __ATOMIC_RELEASE);
}

static int code_event(PyCodeEvent event, PyCodeObject *code)
{
    struct pyusdt_vm_entry *entry = event == PY_CODE_EVENT_DESTROY
                                        ? __atomic_load_n(pyusdt_vm_bucket(code), __ATOMIC_ACQUIRE)
                                        : NULL;

    while ((entry = find_entry(entry, code)) != NULL) /* two, if two threads have met it first */
        free_entry(entry);
    return 0;
}

/* An entry that is free, or one more.  NULL: no memory. */
static struct pyusdt_vm_entry *add_entry(PyCodeObject *code)
{
    struct pyusdt_vm_entry **bucket = pyusdt_vm_bucket(code), *entry;

    for (entry = __atomic_load_n(bucket, __ATOMIC_ACQUIRE); entry != NULL; entry = entry->next) {
        PyCodeObject *nobody = NULL;
        if (__atomic_compare_exchange_n(&entry->code, &nobody, code, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return entry;
    }
    entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return NULL;
    entry->code = code;
    entry->next = __atomic_load_n(bucket, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(bucket, &entry->next, entry, 1, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    return entry;
}

void pyusdt_vm_place_set_module(struct pyusdt_vm_place *place, PyObject *module)
{
    PyObject *none = NULL;

    if (module == NULL || !PyUnicode_Check(module) ||
        __atomic_load_n(&place->module, __ATOMIC_ACQUIRE) != NULL)
        return;
    Py_INCREF(module);
    if (!__atomic_compare_exchange_n(&place->module, &none, module, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        Py_DECREF(module);
}

/* With the GIL: no code object is freed meanwhile, except by fn. */
void pyusdt_vm_code_each(void (*fn)(void *arg, PyCodeObject *code, struct pyusdt_vm_place *place),
                         void *arg)
{
    for (size_t i = 0; i < sizeof pyusdt_vm_buckets / sizeof pyusdt_vm_buckets[0]; i++)
        for (struct pyusdt_vm_entry *entry =
                 __atomic_load_n(&pyusdt_vm_buckets[i], __ATOMIC_ACQUIRE);
             entry != NULL; entry = entry->next) {
            PyCodeObject *code = __atomic_load_n(&entry->code, __ATOMIC_ACQUIRE);
            if (code != NULL)
                fn(arg, code, &entry->place);
        }
}

/* For stacks, the table is not started before this: most programs never need it. */
static int is_started(void)
{
    if (watcher >= 0 || pyusdt_vm_code_start() == 0)
        return 1;
    PyErr_Clear();
    return 0;
}

struct pyusdt_vm_place *pyusdt_vm_code_find(PyCodeObject *code)
{
    struct pyusdt_vm_entry *entry =
        find_entry(__atomic_load_n(pyusdt_vm_bucket(code), __ATOMIC_ACQUIRE), code);

    if (entry == NULL && is_started())
        entry = add_entry(code);
    return entry != NULL ? &entry->place : NULL;
}

int pyusdt_vm_code_start(void)
{
    if (watcher < 0)
        watcher = PyCode_AddWatcher(code_event);
    return watcher < 0 ? -1 : 0;
}

#else

#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_GetExtra _PyCode_GetExtra
#define PyUnstable_Code_SetExtra _PyCode_SetExtra

static Py_ssize_t extra = -1;

static void place_free(void *pointer)
{
    struct pyusdt_vm_place *place = pointer;

    if (place == NULL)
        return;
    free(place->texts);
    free(place->stack);
    free(place);
}

int pyusdt_vm_code_start(void)
{
    if (extra < 0)
        extra = PyUnstable_Eval_RequestCodeExtraIndex(place_free);
    if (extra >= 0)
        return 0;
    PyErr_SetString(PyExc_RuntimeError,
                    "no room in code objects: too many tools have asked the interpreter for some");
    return -1;
}

static struct pyusdt_vm_place *place_add(PyCodeObject *code)
{
    struct pyusdt_vm_place *place = calloc(1, sizeof *place);

    if (place == NULL || PyUnstable_Code_SetExtra((PyObject *)code, extra, place) == 0)
        return place;
    PyErr_Clear();
    free(place);
    return NULL;
}

struct pyusdt_vm_place *pyusdt_vm_code_find(PyCodeObject *code)
{
    void *place = NULL;

    if (pyusdt_vm_code_start() < 0 ||
        PyUnstable_Code_GetExtra((PyObject *)code, extra, &place) < 0) {
        PyErr_Clear();
        return NULL;
    }
    return place != NULL ? place : place_add(code);
}

#endif
