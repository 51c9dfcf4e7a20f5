/* See heap_hooks.h. */
#define PY_SSIZE_T_CLEAN
#include "_core_c/heap_hooks.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "_core_c/heap_table.h"
#include "_core_c/python_stack.h"
#include "shared/os.h"

enum { DOMAINS = 2, LONGEST = 3600, SMALLEST = 64 };

static const PyMemAllocatorDomain domains[DOMAINS] = {PYMEM_DOMAIN_OBJ, PYMEM_DOMAIN_MEM};
static PyMemAllocatorEx before[DOMAINS]; /* what the hooks call */
static struct pyusdt_heap *heap;         /* the hooks are never set without it */
static int64_t left = INT64_MAX;         /* bytes until the next sample; so many: it is off */
static uint64_t random_state;
static int is_releasing; /* code objects, one after the other */

static int is_on(void)
{
    return __atomic_load_n(&heap->is_on, __ATOMIC_RELAXED) != 0;
}

int pyusdt_heap_is_on(void)
{
    return heap != NULL && is_on() && pyusdt_now() < heap->until;
}

/* ---- the sampling ---- */

/* Bytes until the next sample: any byte is sampled with the same probability, whatever was before. */
static int64_t draw_step(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int64_t)(-log(((double)(random_state >> 11) + 1) / 9007199254740993.0) *
                     (double)heap->mean) +
           1;
}

/* How many bytes a sampled block of this size stands for. */
static uint64_t weigh(size_t size)
{
    double mean = (double)heap->mean, n = size > 0 ? (double)size : 1;

    return (uint64_t)(n / -expm1(-n / mean) + 0.5);
}

static void turn_off(void);

static void hold_codes(const struct pyusdt_heap_frame *frames, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        Py_INCREF((PyObject *)(uintptr_t)frames[i].code);
}

__attribute__((noinline, cold)) static void take_sample(void *block, size_t size)
{
    struct pyusdt_heap_frame frames[PYUSDT_HEAP_FRAMES];
    struct pyusdt_heap_sample sample = {0};
    int has_more = 0, is_new = 0, n;

    __atomic_store_n(&left, is_on() ? draw_step() : INT64_MAX, __ATOMIC_RELAXED);
    if (!is_on())
        return;
    n = pyusdt_python_frames(frames, PYUSDT_HEAP_FRAMES, &has_more);
    if (n < 0) {
        __atomic_add_fetch(&heap->other_threads, 1, __ATOMIC_RELAXED);
        return;
    }
    sample.born = pyusdt_now();
    if (sample.born >= heap->until) {
        turn_off();
        return;
    }
    sample.address = (uintptr_t)block;
    sample.size = size;
    sample.weight = weigh(size);
    pyusdt_heap_add(heap, &sample, frames, (uint32_t)n, has_more, &is_new);
    if (is_new)
        hold_codes(frames, (uint32_t)n);
}

static inline void took(void *block, size_t size)
{
    int64_t now;

    if (__builtin_expect(block == NULL, 0))
        return;
    now = __atomic_load_n(&left, __ATOMIC_RELAXED) - (int64_t)size;
    __atomic_store_n(&left, now, __ATOMIC_RELAXED);
    if (__builtin_expect(now < 0, 0))
        take_sample(block, size);
}

__attribute__((noinline, cold)) static void forget(uint16_t number)
{
    pyusdt_heap_remove(heap, number, pyusdt_python_frames(NULL, 0, NULL) >= 0);
}

static inline uint16_t find(void *block)
{
    return __builtin_expect(pyusdt_heap_may_have(block), 0) ? pyusdt_heap_find(heap, block) : 0;
}

/* ---- the hooks ---- */

static void *hook_malloc(void *domain, size_t size)
{
    const PyMemAllocatorEx *inner = domain;
    void *block = inner->malloc(inner->ctx, size);

    took(block, size);
    return block;
}

static void *hook_calloc(void *domain, size_t n, size_t size)
{
    const PyMemAllocatorEx *inner = domain;
    void *block = inner->calloc(inner->ctx, n, size);

    took(block, n * size);
    return block;
}

static void *hook_realloc(void *domain, void *old, size_t size)
{
    const PyMemAllocatorEx *inner = domain;
    uint16_t number = old != NULL ? find(old) : 0;
    void *block = inner->realloc(inner->ctx, old, size);

    if (block != NULL && number != 0)
        forget(number);
    took(block, size);
    return block;
}

static void hook_free(void *domain, void *block)
{
    const PyMemAllocatorEx *inner = domain;
    uint16_t number = block != NULL ? find(block) : 0;

    if (number != 0)
        forget(number);
    inner->free(inner->ctx, block);
}

static int is_hook(const PyMemAllocatorEx *allocator)
{
    return allocator->malloc == hook_malloc && allocator->free == hook_free;
}

/* Whether a domain's blocks pass through its hook, whatever other tools are around it. */
static int is_called(PyMemAllocatorDomain domain)
{
    PyMemAllocatorEx now;
    int64_t old = left;
    void *block;

    PyMem_GetAllocator(domain, &now);
    block = now.malloc(now.ctx, 1);
    if (block != NULL)
        now.free(now.ctx, block);
    return left != old;
}

static int are_called(void)
{
    return is_called(domains[0]) && is_called(domains[1]);
}

/* A hook that another tool's hook still calls is not set a second time: it would call itself. */
static void set_hooks(void)
{
    for (int i = 0; i < DOMAINS; i++) {
        PyMemAllocatorEx hook = {&before[i], hook_malloc, hook_calloc, hook_realloc, hook_free};

        if (is_called(domains[i]))
            continue;
        PyMem_GetAllocator(domains[i], &before[i]);
        PyMem_SetAllocator(domains[i], &hook);
    }
}

/* Another interpreter may have a lock of its own: its threads allocate while the allocators change. */
static int has_other_interpreters(void)
{
#if PY_VERSION_HEX >= 0x030c0000
    return PyInterpreterState_Head() != PyInterpreterState_Main();
#else
    return 0;
#endif
}

/* Hooks that another tool's hooks or another interpreter may call stay, and do nothing more. */
static void remove_hooks(void)
{
    if (has_other_interpreters())
        return;
    for (int i = 0; i < DOMAINS; i++) {
        PyMemAllocatorEx now;

        PyMem_GetAllocator(domains[i], &now);
        if (is_hook(&now))
            PyMem_SetAllocator(domains[i], &before[i]);
    }
}

/* The code objects stay held until heap_stop() or heap_start(): a release may run code of the program. */
static void turn_off(void)
{
    __atomic_store_n(&heap->is_on, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&left, INT64_MAX, __ATOMIC_RELAXED);
    pyusdt_heap_empty_buckets();
    remove_hooks();
}

/* A release may run code of the program, which lets other threads run: none begins meanwhile. */
static void release_codes(void)
{
    uint64_t at = 1, end = heap->nwords;

    is_releasing = 1;
    while (at < end) {
        uint64_t n = heap->words[at + 1] & 0xffffffff;

        for (uint64_t i = 0; i < n; i++)
            Py_DECREF((PyObject *)(uintptr_t)heap->words[at + 2 + 2 * i]);
        at += 2 + 2 * n;
    }
    pyusdt_heap_clear(heap);
    is_releasing = 0;
}

/* ---- the module's functions: the first argument is a tracer's report function ---- */

#ifdef Py_GIL_DISABLED
static const char *find_reason(void)
{
    return "this build of CPython has no GIL: its heap cannot be sampled yet";
}
#else
static const char *find_reason(void)
{
    struct pyusdt_heap_frame frame;

    if (pyusdt_heap_is_on() || is_releasing)
        return "another pyusdt samples the heap of this process";
    if (has_other_interpreters())
        return "there are sub-interpreters, which may allocate while the allocators change";
    return pyusdt_python_frames(&frame, 1, NULL) < 0
               ? "the frames of this interpreter cannot be read"
               : NULL;
}
#endif

static int set_time(double seconds)
{
    if (!(seconds > 0 && seconds <= LONGEST)) {
        PyErr_Format(PyExc_ValueError, "seconds: from 0 to %d", LONGEST);
        return -1;
    }
    heap->until = pyusdt_now() + (uint64_t)(seconds * 1e9);
    return 0;
}

/* The module's heap_state: where the table is, 8 bytes. */
static int publish_state(PyObject *module)
{
    PyObject *state = PyBytes_FromStringAndSize((const char *)&heap, sizeof heap);
    int r = state != NULL ? PyObject_SetAttrString(module, "heap_state", state) : -1;

    Py_XDECREF(state);
    return r;
}

static PyObject *heap_start(PyObject *module, PyObject *given)
{
    const char *reason = find_reason();
    PyObject *report;
    long long mean;
    double seconds;

    if (!PyArg_ParseTuple(given, "OLd", &report, &mean, &seconds))
        return NULL;
    if (reason != NULL)
        return PyErr_Format(PyExc_RuntimeError, "%s", reason);
    if (mean < SMALLEST || mean > (1LL << 40))
        return PyErr_Format(PyExc_ValueError, "bytes: from %d to 2**40", SMALLEST);
    if (heap == NULL && (heap = pyusdt_heap_map()) == NULL)
        return PyErr_NoMemory();
    if (is_on())
        turn_off();
    release_codes();
    if (set_time(seconds) < 0 || publish_state(module) < 0)
        return NULL;
    heap->mean = (uint64_t)mean;
    heap->began = pyusdt_now();
    random_state = heap->began ^ (uintptr_t)&report ^ 0x9e3779b97f4a7c15ULL;
    set_hooks();
    left = draw_step();
    __atomic_store_n(&heap->is_on, 1, __ATOMIC_RELEASE);
    Py_RETURN_NONE;
}

static PyObject *heap_keep(PyObject *Py_UNUSED(module), PyObject *given)
{
    PyObject *report;
    double seconds;

    if (!PyArg_ParseTuple(given, "Od", &report, &seconds))
        return NULL;
    if (heap == NULL || !is_on())
        return PyErr_Format(PyExc_RuntimeError, "the heap of this process is not sampled any more");
    if (set_time(seconds) < 0)
        return NULL;
    if (!are_called())
        heap->is_displaced = 1;
    Py_RETURN_NONE;
}

static PyObject *heap_stop(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(report))
{
    if (heap != NULL && !is_releasing) {
        if (is_on())
            turn_off();
        release_codes();
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"heap_start", heap_start, METH_VARARGS,
     "heap_start(report, mean, seconds, /)\n--\n\n"
     "Samples a block in every `mean` bytes, for so many seconds; heap_state says where they are."},
    {"heap_keep", heap_keep, METH_VARARGS,
     "heap_keep(report, seconds, /)\n--\n\nSamples for so many seconds more."},
    {"heap_stop", heap_stop, METH_O, "heap_stop(report, /)\n--\n\nEnds it."},
    {NULL, NULL, 0, NULL},
};

int pyusdt_heap_add_methods(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
