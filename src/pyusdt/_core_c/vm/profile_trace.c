/*
 * Events of code by profile and trace functions in C, before CPython 3.12 (see python_provider.h).
 *
 * - Functions and calls of C functions come by the profile function, lines and exceptions by the
 *   trace function. Each is set in every thread without another tool's function, and in new threads
 *   (pyusdt_vm_code_set_thread).
 * - If only functions are wanted, the frame hook is used if possible (frame_hook.c), because the
 *   interpreter runs every instruction more slowly under a profile function.
 * - Handled exceptions are not reported.
 * - If exceptions are only kept (exception_recorder.h), the trace function is set and the interpreter
 *   does not trace: it then calls for exceptions only, and all else is as fast as without it.
 */
#include "_core_c/vm/python_provider.h"

#if PY_VERSION_HEX < 0x030c0000

#include <frameobject.h>
#include <opcode.h>

#include "_core_c/vm/exception_recorder.h"
#include "_core_c/vm/session_values.h"

#define BY_PROFILE (PYUSDT_VM_FUNCTIONS | PYUSDT_VM_C_FUNCTIONS)
#define BY_TRACE (PYUSDT_VM_BIT(PYUSDT_VM_LINE) | PYUSDT_VM_BIT(PYUSDT_VM_EXCEPTION_RAISE))

static uint32_t now_wanted; /* as last set */
static int by_frames;       /* the frame hook is in: no profile function is needed */
/* until functions are no longer wanted: the hook was too much for a thread's C stack */
static int without_frames;

/* ---- frames ---- */

/* Of the current instruction, in bytes; -1: the frame has not begun. */
static int read_offset(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return PyFrame_GetLasti(frame);
#else
    return frame->f_lasti < 0 ? -1 : frame->f_lasti * 2;
#endif
}

/* The function is entered: for the first time? A generator of 3.11 has run the instructions that
 * make it by then. */
static enum pyusdt_vm_entry_kind read_entry(PyFrameObject *frame, PyCodeObject *code)
{
    if (!pyusdt_vm_is_generator(code))
        return PYUSDT_VM_CALL;
#if PY_VERSION_HEX >= 0x030b0000
    const _Py_CODEUNIT *resume = _PyCode_CODE(code) + read_offset(frame) / 2;
    return read_offset(frame) < 0 || _Py_OPARG(*resume) == 0 ? PYUSDT_VM_CALL : PYUSDT_VM_RESUME;
#else
    return read_offset(frame) < 0 ? PYUSDT_VM_CALL : PYUSDT_VM_RESUME;
#endif
}

static enum pyusdt_vm_exit read_exit(PyFrameObject *frame, PyCodeObject *code, PyObject *result)
{
    if (result == NULL)
        return PYUSDT_VM_UNWOUND;
    if (!pyusdt_vm_is_generator(code))
        return PYUSDT_VM_RETURNED;
#if PY_VERSION_HEX >= 0x030b0000
    return _Py_OPCODE(_PyCode_CODE(code)[read_offset(frame) / 2]) == YIELD_VALUE
               ? PYUSDT_VM_YIELDED
               : PYUSDT_VM_RETURNED;
#else
    return frame->f_state == FRAME_SUSPENDED ? PYUSDT_VM_YIELDED : PYUSDT_VM_RETURNED;
#endif
}

/* ---- calls of the interpreter ---- */

static void fire_entry(PyFrameObject *frame, PyCodeObject *code)
{
    struct pyusdt_pyvm_event event = {.probe = PYUSDT_VM_FUNCTION_ENTRY, .code = code};

    if (!pyusdt_vm_is_wanted_at(&event))
        return;
    event.how = read_entry(frame, code);
    event.offset = read_offset(frame);
    event.line = event.how == PYUSDT_VM_CALL ? code->co_firstlineno : 0;
    pyusdt_vm_fire_code(&event);
}

static void fire_return(PyFrameObject *frame, PyCodeObject *code, PyObject *result)
{
    struct pyusdt_pyvm_event event = {.probe = PYUSDT_VM_FUNCTION_RETURN, .code = code};

    if (!pyusdt_vm_is_wanted_at(&event))
        return;
    event.how = read_exit(frame, code, result);
    event.offset = read_offset(frame);
    event.returned = result;
    pyusdt_vm_fire_code(&event);
}

static int is_on(enum pyusdt_pyvm_probe probe)
{
    return (now_wanted & PYUSDT_VM_BIT(probe)) != 0;
}

static void fire_call(enum pyusdt_pyvm_probe probe, PyObject *callable, PyCodeObject *code,
                      int offset, enum pyusdt_vm_exit how)
{
    if (is_on(probe))
        pyusdt_vm_fire_call(probe, callable, code, offset, how);
}

static int on_profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    PyCodeObject *code = PyFrame_GetCode(frame);

    (void)self;
    if (what == PyTrace_CALL && is_on(PYUSDT_VM_FUNCTION_ENTRY))
        fire_entry(frame, code);
    else if (what == PyTrace_RETURN && is_on(PYUSDT_VM_FUNCTION_RETURN))
        fire_return(frame, code, arg);
    else if (what == PyTrace_C_CALL)
        fire_call(PYUSDT_VM_C_FUNCTION_ENTRY, arg, code, read_offset(frame), PYUSDT_VM_RETURNED);
    else if (what == PyTrace_C_RETURN)
        fire_call(PYUSDT_VM_C_FUNCTION_RETURN, arg, code, read_offset(frame), PYUSDT_VM_RETURNED);
    else if (what == PyTrace_C_EXCEPTION)
        fire_call(PYUSDT_VM_C_FUNCTION_RETURN, arg, code, read_offset(frame), PYUSDT_VM_UNWOUND);
    Py_DECREF(code);
    return 0;
}

/* info: (type, value, traceback), with the value made or not. A value that is not made yet has not
 * been caught as an object. */
static void fire_raise(PyFrameObject *frame, PyCodeObject *code, PyObject *info)
{
    struct pyusdt_pyvm_event event = {
        .probe = PYUSDT_VM_EXCEPTION_RAISE, .code = code, .offset = read_offset(frame)};

    if (!PyTuple_Check(info) || PyTuple_GET_SIZE(info) != 3 ||
        !PyExceptionInstance_Check(PyTuple_GET_ITEM(info, 1)))
        return;
    event.exception = PyTuple_GET_ITEM(info, 1);
    if (pyusdt_vm_is_wanted_at(&event) &&
        PyTraceBack_Check(PyTuple_GET_ITEM(info, 2)) && /* none: the end of an iterator */
        pyusdt_vm_is_raised_here(PyTuple_GET_ITEM(info, 2), code, event.offset))
        pyusdt_vm_fire_code(&event);
}

static void fire_line(PyFrameObject *frame, PyCodeObject *code)
{
    struct pyusdt_pyvm_event event = {.probe = PYUSDT_VM_LINE, .code = code};

    if (!pyusdt_vm_is_wanted_at(&event))
        return;
    event.line = PyFrame_GetLineNumber(frame);
    if (pyusdt_vm_paths_decide(event.sessions)) {
        event.sessions = pyusdt_vm_paths_at_line(event.sessions, event.line);
        if ((event.sessions & PYUSDT_VM_TRACERS) == 0 && !pyusdt_vm_is_attached(event.probe))
            return;
    }
    pyusdt_vm_fire_code(&event);
}

/* Before all other events, as the traceback has one frame more for each frame that it passes. */
static void keep_exception(PyFrameObject *frame, PyCodeObject *code, PyObject *info)
{
    if ((now_wanted & PYUSDT_VM_KEEPS_EXCEPTIONS) != 0 && PyTuple_Check(info) &&
        PyTuple_GET_SIZE(info) == 3 && PyTraceBack_Check(PyTuple_GET_ITEM(info, 2)) &&
        pyusdt_vm_is_new_exception(PyTuple_GET_ITEM(info, 2)))
        pyusdt_exceptions_keep(PyTuple_GET_ITEM(info, 1), code, read_offset(frame));
}

static int on_trace(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    PyCodeObject *code = PyFrame_GetCode(frame);

    (void)self;
    if (what == PyTrace_LINE && is_on(PYUSDT_VM_LINE))
        fire_line(frame, code);
    if (what == PyTrace_EXCEPTION)
        keep_exception(frame, code, arg);
    if (what == PyTrace_EXCEPTION && is_on(PYUSDT_VM_EXCEPTION_RAISE))
        fire_raise(frame, code, arg);
    Py_DECREF(code);
    return 0;
}

/* ---- exceptions, if nothing else is traced ---- */

/* After each call of a trace function the interpreter begins to trace. It then destroys the tuple
 * that it has given to that function, and with it this object, which ends the tracing again. Nothing
 * runs in between. */
static void end_tracing(PyObject *Py_UNUSED(self))
{
    PyThreadState *thread = PyThreadState_Get();

    if (thread->c_profilefunc == NULL)
        thread->cframe->use_tracing = 0;
}

static PyTypeObject tracing_end_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pyusdt._core._TracingEnd",
    .tp_basicsize = sizeof(PyObject),
    .tp_dealloc = end_tracing,
};
static PyObject tracing_end = {.ob_type = &tracing_end_type};

/* The interpreter has references of its own to what is in the tuple. */
static void end_tracing_after(PyObject *info)
{
    PyObject *type = PyTuple_GET_ITEM(info, 0);

    Py_SET_REFCNT(&tracing_end, 1);
    PyTuple_SET_ITEM(info, 0, &tracing_end);
    Py_DECREF(type);
}

/* Other events come if the program has set or removed a profile function. Then this one is out until
 * the watcher looks again. */
static int on_exception(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    PyCodeObject *code;

    (void)self;
    if (what != PyTrace_EXCEPTION || !PyTuple_CheckExact(arg) || Py_REFCNT(arg) != 1 ||
        PyTuple_GET_SIZE(arg) != 3) {
        PyThreadState_Get()->c_tracefunc = NULL;
        return 0;
    }
    code = PyFrame_GetCode(frame);
    keep_exception(frame, code, arg);
    Py_DECREF(code);
    end_tracing_after(arg);
    return 0;
}

static int only_keeps_exceptions(uint32_t wanted)
{
    return (wanted & BY_TRACE) == 0 && (wanted & PYUSDT_VM_KEEPS_EXCEPTIONS) != 0;
}

static void remove_exception_function(PyThreadState *thread)
{
    if (thread->c_tracefunc == on_exception)
        thread->c_tracefunc = NULL;
}

/* Not beside a profile function, for which the interpreter traces. */
static void add_exception_function(PyThreadState *thread)
{
    if (thread->c_tracefunc == NULL && thread->c_profilefunc == NULL)
        thread->c_tracefunc = on_exception;
}

/* ---- in which threads ---- */

struct others { /* tools that have their function in the place of ours */
    int profilers, tracers;
};

/* The ids of threads that have had our functions: if ours is missing there, another tool has come
 * and gone since. */
static struct {
    uint64_t profiled, traced; /* and 1; 0: none */
} had_functions[64];

static int has_lost(uint64_t *id_had, uint64_t id, int wanted, int is_empty)
{
    int lost = wanted && is_empty && *id_had == id + 1;

    *id_had = wanted ? id + 1 : 0;
    return lost;
}

static void set_thread(PyThreadState *thread, uint32_t wanted, struct others *others)
{
    int profiles = (wanted & BY_PROFILE) != 0 && !by_frames, traces = (wanted & BY_TRACE) != 0;
    uint64_t id = PyThreadState_GetID(thread);

    remove_exception_function(thread);
    others->profilers |=
        has_lost(&had_functions[id % 64].profiled, id, profiles, thread->c_profilefunc == NULL);
    others->tracers |=
        has_lost(&had_functions[id % 64].traced, id, traces, thread->c_tracefunc == NULL);
    if (thread->c_profilefunc != NULL && thread->c_profilefunc != on_profile)
        others->profilers |= profiles;
    else if (profiles != (thread->c_profilefunc == on_profile) &&
             _PyEval_SetProfile(thread, profiles ? on_profile : NULL, NULL) < 0)
        PyErr_Clear();
    if (thread->c_tracefunc != NULL && thread->c_tracefunc != on_trace)
        others->tracers |= traces;
    else if (traces != (thread->c_tracefunc == on_trace) &&
             _PyEval_SetTrace(thread, traces ? on_trace : NULL, NULL) < 0)
        PyErr_Clear();
    if (only_keeps_exceptions(wanted))
        add_exception_function(thread);
}

void pyusdt_vm_code_set_thread(void)
{
    struct others others = {0, 0};

    set_thread(PyThreadState_Get(), now_wanted, &others);
}

static int can_use_frames(uint32_t wanted)
{
    if ((wanted & PYUSDT_VM_FUNCTIONS) == 0)
        without_frames = 0;
    return (wanted & PYUSDT_VM_FUNCTIONS) != 0 && (wanted & PYUSDT_VM_C_FUNCTIONS) == 0 &&
           !without_frames;
}

static struct others set_threads(void)
{
    struct others others = {0, 0};
    PyThreadState *each = PyInterpreterState_ThreadHead(PyInterpreterState_Get());

    for (; each != NULL; each = PyThreadState_Next(each))
        set_thread(each, now_wanted, &others);
    return others;
}

/* The hook does not return in between: a frame that has begun and is not reported yet would be seen
 * by neither. */
void pyusdt_vm_fall_back_to_profile(void)
{
    by_frames = 0;
    without_frames = 1;
    set_threads();
}

/* Both together are one remark. */
static void set_reason(const struct others *others)
{
    if (others->profilers && others->tracers)
        pyusdt_vm_set_reason(
            PYUSDT_VM_REASON_CODE, BY_PROFILE | BY_TRACE,
            "another profiler (sys.setprofile) and a debugger or coverage (sys.settrace) are at work: there are no events of "
            "functions, lines and exceptions in their threads");
    else if (others->profilers)
        pyusdt_vm_set_reason(
            PYUSDT_VM_REASON_CODE, BY_PROFILE,
            "another profiler (sys.setprofile) is at work: there are no events of functions in its threads");
    else
        pyusdt_vm_set_reason(
            PYUSDT_VM_REASON_CODE, BY_TRACE,
            others->tracers
                ? "a debugger or coverage (sys.settrace) is at work: there are no events of lines and exceptions "
                  "in its threads"
                : NULL);
}

void pyusdt_vm_code_set(uint32_t wanted, int refresh)
{
    struct others others;

    (void)refresh; /* each event asks its place */
    now_wanted = wanted;
    by_frames = pyusdt_vm_frame_hook_set(can_use_frames(wanted));
    others = set_threads();
    set_reason(&others);
}

static int are_profiled(void)
{
    return (now_wanted & BY_PROFILE) != 0 && !by_frames;
}

int pyusdt_vm_code_must_check(void)
{
    return (now_wanted & (BY_TRACE | PYUSDT_VM_KEEPS_EXCEPTIONS)) != 0 || are_profiled();
}

/* A tool that came and went between two checks has left the place empty. */
void pyusdt_vm_code_end(void)
{
    const PyThreadState *thread = PyThreadState_Get();
    struct others others = {are_profiled() && thread->c_profilefunc != on_profile,
                            (now_wanted & BY_TRACE) != 0 && thread->c_tracefunc != on_trace};

    if (others.profilers || others.tracers)
        set_reason(&others);
}

#else
typedef int pyusdt_vm_no_trace; /* a file has to have something in it */
#endif
