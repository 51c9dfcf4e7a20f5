/* See frame_reads.h. */
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include "_core_c/vm/frame_reads.h"

#if PYUSDT_READS_OBJECTS

#if PY_VERSION_HEX >= 0x030b0000

#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe.h>
#endif

typedef _PyInterpreterFrame frame_type;

static frame_type *skip_frames_of_c(frame_type *frame)
{
#if PY_VERSION_HEX >= 0x030e0000
    while (frame != NULL && frame->owner >= FRAME_OWNED_BY_INTERPRETER)
        frame = frame->previous;
#elif PY_VERSION_HEX >= 0x030c0000
    while (frame != NULL && frame->owner == FRAME_OWNED_BY_CSTACK)
        frame = frame->previous;
#endif
    return frame;
}

static frame_type *current_frame(void)
{
#if PY_VERSION_HEX >= 0x030d0000
    return skip_frames_of_c(PyThreadState_Get()->current_frame);
#else
    return skip_frames_of_c(PyThreadState_Get()->cframe->current_frame);
#endif
}

static frame_type *calling_frame(frame_type *frame)
{
    return skip_frames_of_c(frame->previous);
}

static int frame_offset(frame_type *frame)
{
    return _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
}

#if PY_VERSION_HEX >= 0x030e0000

/* An int of the interpreter's own, which only its stack has, is no object. */
static PyObject *object_of(_PyStackRef reference)
{
    return PyStackRef_IsNull(reference) || (reference.bits & 3) == 3
               ? NULL
               : (PyObject *)(reference.bits & ~(uintptr_t)3);
}

static PyObject *frame_function(frame_type *frame)
{
    return object_of(frame->f_funcobj);
}

static PyObject *frame_slot(frame_type *frame, int number)
{
    return object_of(frame->localsplus[number]);
}

#else

static PyObject *frame_function(frame_type *frame)
{
#if PY_VERSION_HEX >= 0x030c0000
    return frame->f_funcobj;
#else
    return (PyObject *)frame->f_func;
#endif
}

static PyObject *frame_slot(frame_type *frame, int number)
{
    return frame->localsplus[number];
}

#endif

static PyCodeObject *frame_code(frame_type *frame)
{
#if PY_VERSION_HEX >= 0x030e0000
    PyObject *code = object_of(frame->f_executable);
#elif PY_VERSION_HEX >= 0x030d0000
    PyObject *code = frame->f_executable;
#else
    PyObject *code = (PyObject *)frame->f_code;
#endif

    return code != NULL && PyCode_Check(code) ? (PyCodeObject *)code : NULL;
}

/* The cell of a free variable, which a function that is about to begin has not copied yet. */
static PyObject *free_variable(frame_type *frame, PyCodeObject *code, int number)
{
    PyObject *function = frame_function(frame), *cells;
    int index = number - (code->co_nlocalsplus - code->co_nfreevars);

    if (function == NULL || !PyFunction_Check(function))
        return NULL;
    cells = ((PyFunctionObject *)function)->func_closure;
    return cells != NULL && PyTuple_Check(cells) && index >= 0 && index < PyTuple_GET_SIZE(cells)
               ? PyTuple_GET_ITEM(cells, index)
               : NULL;
}

/* A variable that a cell has before the function has made its cell is in its slot itself. */
static PyObject *read_variable(frame_type *frame, PyCodeObject *code, int number)
{
    PyObject *value = frame_slot(frame, number);
    _PyLocals_Kind kind = _PyLocals_GetKind(code->co_localspluskinds, number);

    if (value == NULL && kind & CO_FAST_FREE)
        value = free_variable(frame, code, number);
    if (value != NULL && kind & (CO_FAST_CELL | CO_FAST_FREE) && PyCell_Check(value))
        return pyusdt_lock(value) ? PyCell_GET(value) : NULL;
    return value;
}

PyObject *pyusdt_read_local(PyObject *name)
{
    frame_type *frame = current_frame();
    PyCodeObject *code = frame != NULL ? frame_code(frame) : NULL;

    if (code == NULL)
        return NULL;
    for (int i = 0; i < code->co_nlocalsplus; i++)
        if (pyusdt_is_same_text(PyTuple_GET_ITEM(code->co_localsplusnames, i), name))
            return read_variable(frame, code, i);
    return NULL;
}

static void visit_locals(frame_type *frame, pyusdt_visitor visit, void *arg)
{
    PyCodeObject *code = frame != NULL ? frame_code(frame) : NULL;

    for (int i = 0; code != NULL && i < code->co_nlocalsplus; i++) {
        PyObject *value = read_variable(frame, code, i);

        if (value != NULL && !visit(arg, PyTuple_GET_ITEM(code->co_localsplusnames, i), value))
            return;
    }
}

void pyusdt_visit_variable_names(PyCodeObject *code, int (*visit)(void *arg, PyObject *name),
                                 void *arg)
{
    for (int i = 0; i < code->co_nlocalsplus; i++)
        if (!visit(arg, PyTuple_GET_ITEM(code->co_localsplusnames, i)))
            return;
}

#else

#include <frameobject.h>

typedef PyFrameObject frame_type;

static frame_type *current_frame(void)
{
    return PyThreadState_Get()->frame;
}

static frame_type *calling_frame(frame_type *frame)
{
    return frame->f_back;
}

static PyCodeObject *frame_code(frame_type *frame)
{
    return frame->f_code;
}

static int frame_offset(frame_type *frame)
{
    return frame->f_lasti * 2;
}

/* The index of a name; -1: it is not there. */
static Py_ssize_t find_name(PyObject *names, PyObject *name)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++)
        if (pyusdt_is_same_text(PyTuple_GET_ITEM(names, i), name))
            return i;
    return -1;
}

static PyObject *read_cell(PyObject *cell)
{
    return cell != NULL && PyCell_Check(cell) ? PyCell_GET(cell) : NULL;
}

/* An argument that inner functions use is in a cell, and its own slot is empty. */
static PyObject *read_local(frame_type *frame, PyObject *name)
{
    PyCodeObject *code = frame != NULL ? frame->f_code : NULL;
    PyObject **slots;
    Py_ssize_t at;

    if (code == NULL)
        return NULL;
    slots = frame->f_localsplus;
    at = find_name(code->co_varnames, name);
    if (at >= 0 && slots[at] != NULL)
        return slots[at];
    slots += code->co_nlocals;
    at = find_name(code->co_cellvars, name);
    if (at >= 0)
        return read_cell(slots[at]);
    slots += PyTuple_GET_SIZE(code->co_cellvars);
    at = find_name(code->co_freevars, name);
    return at >= 0 ? read_cell(slots[at]) : NULL;
}

PyObject *pyusdt_read_local(PyObject *name)
{
    return read_local(current_frame(), name);
}

static int visit_names(frame_type *frame, PyObject *names, PyObject **skipped, pyusdt_visitor visit,
                       void *arg)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *value = NULL;

        if (skipped == NULL || find_name(*skipped, name) < 0)
            value = read_local(frame, name);
        if (value != NULL && !visit(arg, name, value))
            return 0;
    }
    return 1;
}

static void visit_locals(frame_type *frame, pyusdt_visitor visit, void *arg)
{
    PyCodeObject *code = frame != NULL ? frame->f_code : NULL;

    if (code != NULL && visit_names(frame, code->co_varnames, NULL, visit, arg) &&
        visit_names(frame, code->co_cellvars, &code->co_varnames, visit, arg))
        visit_names(frame, code->co_freevars, NULL, visit, arg);
}

void pyusdt_visit_variable_names(PyCodeObject *code, int (*visit)(void *arg, PyObject *name),
                                 void *arg)
{
    PyObject *tuples[] = {code->co_varnames, code->co_cellvars, code->co_freevars};

    for (int i = 0; i < 3; i++)
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tuples[i]); k++)
            if ((i != 1 || find_name(tuples[0], PyTuple_GET_ITEM(tuples[i], k)) < 0) &&
                !visit(arg, PyTuple_GET_ITEM(tuples[i], k)))
                return;
}

#endif

void pyusdt_visit_locals(pyusdt_visitor visit, void *arg)
{
    visit_locals(current_frame(), visit, arg);
}

struct pyusdt_frame *pyusdt_innermost_frame(void)
{
    return (struct pyusdt_frame *)current_frame();
}

struct pyusdt_frame *pyusdt_calling_frame(struct pyusdt_frame *frame)
{
    return (struct pyusdt_frame *)calling_frame((frame_type *)frame);
}

PyCodeObject *pyusdt_frame_code(struct pyusdt_frame *frame)
{
    return frame_code((frame_type *)frame);
}

int pyusdt_frame_offset(struct pyusdt_frame *frame)
{
    return frame_offset((frame_type *)frame);
}

void pyusdt_visit_variables(struct pyusdt_frame *frame, pyusdt_visitor visit, void *arg)
{
    PyCodeObject *code = frame_code((frame_type *)frame);
    PyObject *names = ((frame_type *)frame)->f_locals;

    if (code != NULL && code->co_flags & CO_OPTIMIZED)
        visit_locals((frame_type *)frame, visit, arg);
    else if (names != NULL && PyDict_Check(names))
        pyusdt_visit_items(names, visit, arg);
}

PyObject *pyusdt_read_global(PyObject *name)
{
    frame_type *frame = current_frame();

    return frame != NULL && frame->f_globals != NULL ? pyusdt_read_key(frame->f_globals, name)
                                                     : NULL;
}

#else
typedef int pyusdt_no_frame_reads; /* a file has to have something in it */
#endif
