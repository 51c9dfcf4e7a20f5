/* The Python stack of a firing (see python_stack.h). */
#define PY_SSIZE_T_CLEAN
#include "_core_c/python_stack.h"

#include <stdlib.h>
#include <string.h>

#include "_core_c/convert.h"
#include "_core_c/heap_table.h"
#include "_core_c/vm/python_provider.h"
#include "pyusdt.h"
#include "pystack/cpython_offsets.h"

#define TRIES 16 /* for a place's number, which the core may have no room or no time for */

/* The data that are stored with a code object's entry (_core_c/vm/code_entries.c). */
struct code_lines {
    uint32_t place; /* 0: it has no number yet */
    uint32_t tries;
    uint32_t units;  /* of code */
    uint32_t line[]; /* of each of its lines that a stack has had: line + 1; 0: not looked up yet */
};

static struct pyusdt_python_layout layout;
static int started;

/* ---- a function ---- */

static uint32_t count_units(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (uint32_t)Py_SIZE(code);
#else
    return (uint32_t)(PyBytes_GET_SIZE(code->co_code) / 2);
#endif
}

/* Another thread that does the same is as good. */
static struct code_lines *add_code_lines(struct pyusdt_vm_place *place, PyCodeObject *code)
{
    uint32_t units = count_units(code);
    struct code_lines *code_lines =
        calloc(1, sizeof *code_lines + units * sizeof code_lines->line[0]);
    void *before = NULL;

    if (code_lines == NULL)
        return NULL;
    code_lines->units = units;
    if (__atomic_compare_exchange_n(&place->stack, &before, code_lines, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return code_lines;
    free(code_lines);
    return before;
}

static struct code_lines *find_code_lines(PyCodeObject *code)
{
    struct pyusdt_vm_place *place = pyusdt_vm_code_place(code);
    struct code_lines *code_lines =
        place != NULL ? __atomic_load_n(&place->stack, __ATOMIC_ACQUIRE) : NULL;

    return code_lines != NULL || place == NULL ? code_lines : add_code_lines(place, code);
}

static PyObject *read_name(const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030b0000
    return code->co_qualname;
#else
    return code->co_name;
#endif
}

/* Names are written here, once; no module, which only the frame's variables know. */
__attribute__((noinline, cold)) static uint32_t number_place(struct code_lines *code_lines,
                                                             PyCodeObject *code)
{
    struct pyusdt_text_source sources[2];
    struct pyusdt_string strings[2];

    if (code_lines->tries++ >= TRIES)
        return 0;
    pyusdt_text_source_open(&sources[0], read_name(code));
    pyusdt_text_source_open(&sources[1], code->co_filename);
    for (int i = 0; i < 2; i++)
        pyusdt_string_set(&strings[i], &sources[i]);
    code_lines->place = pyusdt_place("", strings[0].address != NULL ? strings[0].address : "",
                                     strings[1].address != NULL ? strings[1].address : "",
                                     (uint32_t)code->co_firstlineno);
    for (int i = 0; i < 2; i++)
        pyusdt_text_source_close(&sources[i]);
    return code_lines->place;
}

__attribute__((noinline, cold)) static uint32_t find_line(struct code_lines *code_lines,
                                                          PyCodeObject *code, uint32_t unit)
{
    int line = PyCode_Addr2Line(code, (int)(2 * unit));

    code_lines->line[unit] = line > 0 ? (uint32_t)line + 1 : 1;
    return code_lines->line[unit] - 1;
}

/* unit: the offset in the code; before its beginning: the function has not begun. */
static uint64_t make_frame(PyCodeObject *code, int64_t unit)
{
    struct code_lines *code_lines = find_code_lines(code);
    uint32_t place, line = 0;

    if (code_lines == NULL)
        return pyusdt_frame(0, 0);
    place = code_lines->place != 0 ? code_lines->place : number_place(code_lines, code);
    if (unit < 0)
        line = (uint32_t)code->co_firstlineno;
    else if (unit < code_lines->units)
        line = code_lines->line[unit] != 0 ? code_lines->line[unit] - 1
                                           : find_line(code_lines, code, (uint32_t)unit);
    return pyusdt_frame(place, line);
}

/* ---- the chain of frames ---- */

static inline char *read_pointer(const char *address, uint32_t offset)
{
    char *value;

    memcpy(&value, address + offset, sizeof value);
    return value;
}

static const char *find_innermost(const PyThreadState *thread)
{
    if (layout.thread_cframe)
        return read_pointer(read_pointer((const char *)thread, layout.thread_cframe),
                            layout.cframe_frame);
    return read_pointer((const char *)thread, layout.thread_frame);
}

/* The code that a frame runs; NULL: it is no function's. */
static PyCodeObject *read_code(const char *frame)
{
    uintptr_t code = (uintptr_t)read_pointer(frame, layout.frame_code);

    if (layout.frame_owner != 0 &&
        (unsigned char)frame[layout.frame_owner] >= PYUSDT_PYTHON_NO_CODE)
        return NULL;
#if PY_VERSION_HEX >= 0x030e0000
    code &= ~(uintptr_t)3;
#endif
    return code != 0 && PyCode_Check((PyObject *)code) ? (PyCodeObject *)code : NULL;
}

static int64_t read_unit(const char *frame, const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (read_pointer(frame, layout.frame_instr) - (const char *)code -
            (int64_t)layout.code_instructions) >>
           1;
#else
    int index;

    (void)code;
    memcpy(&index, frame + layout.frame_instr, sizeof index);
    return PY_VERSION_HEX >= 0x030a0000 ? index : index >> 1;
#endif
}

/* The thread that runs in this interpreter, if that is the one that asks. */
static PyThreadState *find_thread(void)
{
#if PY_VERSION_HEX >= 0x030d0000
    PyThreadState *thread = PyThreadState_GetUnchecked();
#else
    PyThreadState *thread = _PyThreadState_UncheckedGet();
#endif
    return thread != NULL && thread->thread_id == PyThread_get_thread_ident() &&
                   thread->interp == PyInterpreterState_Main()
               ? thread
               : NULL;
}

/* Whether C called the interpreter for it; from 3.12 on a frame without a function marks that. */
static int is_entry(const char *frame)
{
#if PY_VERSION_HEX >= 0x030c0000
    (void)frame;
    return 0;
#elif PY_VERSION_HEX >= 0x030b0000
    return frame[layout.frame_entry] != 0;
#else
    (void)frame;
    return 1; /* always */
#endif
}

static uint32_t read_stack(uint64_t *words, uint32_t most)
{
    PyThreadState *thread = find_thread();
    uint32_t n = 0;

    for (const char *frame = thread != NULL ? find_innermost(thread) : NULL; frame != NULL;
         frame = read_pointer(frame, layout.frame_previous)) {
        PyCodeObject *code = read_code(frame);
        if (code == NULL) {
            /* put there by C when it called the interpreter */
            if (n > 0)
                words[n - 1] |= PYUSDT_FRAME_ENTRY;
            continue;
        }
        if (n == most) {
            words[n++] = PYUSDT_FRAME_MORE;
            break;
        }
        words[n++] =
            make_frame(code, read_unit(frame, code)) | (is_entry(frame) ? PYUSDT_FRAME_ENTRY : 0);
    }
    return n;
}

/* The position as the interpreter's frame has it: an index before 3.11, then an address. */
static uint64_t read_instr(const char *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (uintptr_t)read_pointer(frame, layout.frame_instr);
#else
    int index;

    memcpy(&index, frame + layout.frame_instr, sizeof index);
    return (uint64_t)(int64_t)index;
#endif
}

int pyusdt_python_frames(struct pyusdt_heap_frame *frames, uint32_t most, int *has_more)
{
    PyThreadState *thread = started ? find_thread() : NULL;
    uint32_t n = 0;

    if (thread == NULL)
        return -1;
    for (const char *frame = most > 0 ? find_innermost(thread) : NULL; frame != NULL;
         frame = read_pointer(frame, layout.frame_previous)) {
        PyCodeObject *code = read_code(frame);

        if (code == NULL)
            continue;
        if (n == most) {
            if (has_more != NULL)
                *has_more = 1;
            break;
        }
        frames[n++] = (struct pyusdt_heap_frame){(uintptr_t)code, read_instr(frame)};
    }
    return (int)n;
}

/* ---- beginning ---- */

/* Whether this interpreter is one that the table knows. */
static int find_layout(void)
{
#if PY_VERSION_HEX >= 0x030d0000
    extern const uint64_t _PyRuntime[PYUSDT_PYTHON_WORDS];
    return pyusdt_python_layout_told(_PyRuntime, &layout) == 0;
#elif defined(Py_TRACE_REFS)
    return 0; /* objects have other heads */
#else
    return pyusdt_python_layout(PY_MINOR_VERSION, &layout) == 0;
#endif
}

void pyusdt_python_stack_start(void)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main() || started || !find_layout())
        return;
    started = 1;
    pyusdt_native_inner = 1;
    pyusdt_stack_taker = read_stack;
}
