/*
 * Events of functions by a frame hook (PEP 523), before CPython 3.12 (see python_provider.h).
 *
 * - It fires function-entry and function-return. For other frames it costs one check of the code's
 *   entry.
 * - The hook of another tool stays in place. Then, and while a thread's C stack gets short, profile
 *   functions (profile_trace.c) do the same at a higher price.
 * - CPython 3.11 calls Python functions without the C stack unless there is a hook. A recursive
 *   program must not notice.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "_core_c/vm/python_provider.h"

#if PY_VERSION_HEX < 0x030c0000

#include <frameobject.h>
#include <opcode.h>

#if PY_VERSION_HEX >= 0x030b0000
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
typedef _PyInterpreterFrame frame_type;
#else
typedef PyFrameObject frame_type;
#endif

#include "_core_c/saved_exception.h"
#include "shared/os.h"

#define THREADS 64    /* whose stacks are remembered */
#define STACK_SHARE 4 /* hooked calls use a quarter of a thread's stack, not more */

static int on; /* otherwise the hook, if it is still called, does nothing */

/* ---- how deep it is ---- */

static struct bounds {
    uint64_t thread; /* ids are not used twice */
    char *floor, *top;
} bounds[THREADS];

static void measure_stack(struct bounds *each, uint64_t thread)
{
    size_t size = 0;
    char *lowest = pyusdt_os_thread_stack(&size);

    *each = (struct bounds){thread, lowest + size - size / STACK_SHARE, lowest + size};
}

/* If the stack cannot be found out, or is not the thread's own, it always is. */
static int is_deep(const PyThreadState *thread)
{
    struct bounds *each = &bounds[thread->id % THREADS];
    const char *here = __builtin_frame_address(0);

    if (each->thread != thread->id)
        measure_stack(each, thread->id);
    return here < each->floor || here >= each->top;
}

/* ---- frames ---- */

#if PY_VERSION_HEX >= 0x030b0000

/* Of the last instruction that ran. */
static int read_offset(const frame_type *frame)
{
    return (int)((const char *)frame->prev_instr - (const char *)_PyCode_CODE(frame->f_code));
}

/* A call of a generator function makes the generator, whose frame is another one. It runs when a
 * value is requested. */
static int only_makes_generator(const frame_type *frame)
{
    return pyusdt_vm_is_generator(frame->f_code) && frame->owner != FRAME_OWNED_BY_GENERATOR;
}

static int is_resumed(const frame_type *frame)
{
    return pyusdt_vm_is_generator(frame->f_code) &&
           _Py_OPCODE(*frame->prev_instr) != RETURN_GENERATOR;
}

static int has_yielded(const frame_type *frame)
{
    return _Py_OPCODE(*frame->prev_instr) == YIELD_VALUE;
}

/* The frame is on the thread's stack for as long as an event is made: before and after it runs
 * it is not. */
static frame_type *put_on_stack(PyThreadState *thread, frame_type *frame)
{
    frame_type *before = frame->previous;

    frame->previous = thread->cframe->current_frame;
    thread->cframe->current_frame = frame;
    return before;
}

static void take_from_stack(PyThreadState *thread, frame_type *frame, frame_type *before)
{
    thread->cframe->current_frame = frame->previous;
    frame->previous = before;
}

#else

static int read_offset(const frame_type *frame)
{
    return frame->f_lasti < 0 ? -1 : frame->f_lasti * 2;
}

static int only_makes_generator(const frame_type *Py_UNUSED(frame))
{
    return 0;
}

static int is_resumed(const frame_type *frame)
{
    return pyusdt_vm_is_generator(frame->f_code) && frame->f_lasti >= 0;
}

static int has_yielded(const frame_type *frame)
{
    return frame->f_state == FRAME_SUSPENDED;
}

static frame_type *put_on_stack(PyThreadState *thread, frame_type *frame)
{
    frame_type *before = thread->frame;

    thread->frame = frame;
    return before;
}

static void take_from_stack(PyThreadState *thread, frame_type *Py_UNUSED(frame), frame_type *before)
{
    thread->frame = before;
}

#endif

/* ---- events ---- */

static enum pyusdt_vm_entry_kind read_entry(const frame_type *frame, int thrown)
{
    return thrown ? PYUSDT_VM_THROW : is_resumed(frame) ? PYUSDT_VM_RESUME : PYUSDT_VM_CALL;
}

static enum pyusdt_vm_exit read_exit(const frame_type *frame, PyCodeObject *code, PyObject *result)
{
    if (result == NULL)
        return PYUSDT_VM_UNWOUND;
    return pyusdt_vm_is_generator(code) && has_yielded(frame) ? PYUSDT_VM_YIELDED
                                                              : PYUSDT_VM_RETURNED;
}

/* Whether a session wants its return. */
static int fire_entry(PyThreadState *thread, frame_type *frame, int thrown)
{
    struct pyusdt_pyvm_event event = {.probe = PYUSDT_VM_FUNCTION_ENTRY, .code = frame->f_code};
    struct pyusdt_pyvm_event end = {.probe = PYUSDT_VM_FUNCTION_RETURN, .code = frame->f_code};
    struct pyusdt_saved_exception saved = {0};
    frame_type *before;
    int wanted;

    if (thrown)
        pyusdt_exception_save(&saved);
    before = put_on_stack(thread, frame);
    if (pyusdt_vm_is_wanted_at(&event)) {
        event.how = read_entry(frame, thrown);
        event.offset = read_offset(frame);
        event.line = event.how == PYUSDT_VM_CALL ? event.code->co_firstlineno : 0;
        pyusdt_vm_fire_code(&event);
    }
    end.place = event.place;
    wanted = pyusdt_vm_is_wanted_at(&end);
    take_from_stack(thread, frame, before);
    pyusdt_exception_restore(&saved);
    return wanted;
}

/* CPython makes the object of an exception of C code when somebody catches it. Of the interpreter's
 * own types it is made here, which runs no Python code: no collection begins meanwhile. The two that
 * tell of a lack of memory or stack are left alone. */
static PyObject *find_unwinding(struct pyusdt_saved_exception *saved)
{
    int collects;

    if (!saved->is_set)
        return NULL;
    if (saved->value != NULL && PyExceptionInstance_Check(saved->value))
        return saved->value;
    if (!PyExceptionClass_Check(saved->type) || saved->type == PyExc_RecursionError ||
        saved->type == PyExc_MemoryError ||
        (((PyTypeObject *)saved->type)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0)
        return NULL;
    collects = PyGC_Disable();
    PyErr_NormalizeException(&saved->type, &saved->value, &saved->traceback);
    if (collects)
        PyGC_Enable();
    return saved->value;
}

static void fire_return(PyThreadState *thread, frame_type *frame, PyCodeObject *code,
                        PyObject *result)
{
    struct pyusdt_pyvm_event event = {.probe = PYUSDT_VM_FUNCTION_RETURN, .code = code};
    struct pyusdt_saved_exception saved = {0};
    frame_type *before;

    pyusdt_exception_save(&saved);
    before = put_on_stack(thread, frame);
    if (pyusdt_vm_is_wanted_at(&event)) {
        event.how = read_exit(frame, code, result);
        event.offset = read_offset(frame);
        event.returned = result;
        event.unwinding = find_unwinding(&saved);
        pyusdt_vm_fire_code(&event);
    }
    take_from_stack(thread, frame, before);
    pyusdt_exception_restore(&saved);
}

/* ---- the hook ---- */

static PyObject *run_frame(PyThreadState *thread, frame_type *frame, int thrown);

/* For all threads, since there is one hook.  An exception that is thrown into the frame stays. */
static void fall_back(void)
{
    struct pyusdt_saved_exception saved = {0};

    pyusdt_exception_save(&saved);
    pyusdt_vm_frame_hook_set(0);
    pyusdt_vm_fall_back_to_profile();
    pyusdt_exception_restore(&saved);
}

static PyObject *run_frame(PyThreadState *thread, frame_type *frame, int thrown)
{
    PyCodeObject *code = frame->f_code;
    PyObject *result;

    if (on && is_deep(thread))
        fall_back();
    if (!on || only_makes_generator(frame) || !fire_entry(thread, frame, thrown))
        return _PyEval_EvalFrameDefault(thread, frame, thrown);
    Py_INCREF(code);
    result = _PyEval_EvalFrameDefault(thread, frame, thrown);
    if (on) /* otherwise the profile function has reported it, or no session wants it any more */
        fire_return(thread, frame, code, result);
    Py_DECREF(code);
    return result;
}

int pyusdt_vm_frame_hook_set(int wanted)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    _PyFrameEvalFunction there = _PyInterpreterState_GetEvalFrameFunc(interpreter);

    on = wanted && (there == run_frame || there == _PyEval_EvalFrameDefault);
    if (on && there != run_frame)
        _PyInterpreterState_SetEvalFrameFunc(interpreter, run_frame);
    else if (!on && there == run_frame)
        _PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
    return on;
}

#else
typedef int pyusdt_vm_no_frames; /* a file has to have something in it */
#endif
