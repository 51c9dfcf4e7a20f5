/*
 * The one table of offsets in CPython's structures, for walking an interpreter from outside and for
 * attaching to it.
 *
 * - Up to 3.12 the version gives the offsets; from 3.13 on the interpreter's own words do
 *   (_Py_DebugOffsets), which are untrusted beyond PYUSDT_PYTHON_FARTHEST. An unknown version has
 *   no layout.
 * - 0: this version has no such field. Fields that may be at 0 are in every version.
 * - tests/stacks/test_cpython_offsets.py compares the table with the headers of the CPythons that are
 *   installed.
 */
#ifndef PYUSDT_PYSTACK_CPYTHON_OFFSETS_H
#define PYUSDT_PYSTACK_CPYTHON_OFFSETS_H

#include <stddef.h>
#include <stdint.h>

/* FIELD(name): runtime_ is of _PyRuntime, interp_ of PyInterpreterState, thread_ of PyThreadState, frame_ of a frame. */
#define PYUSDT_PYTHON_FIELDS(FIELD) \
    FIELD(runtime_interpreters) /* pointer to the first */ \
    FIELD(runtime_gil)          /* the lock itself, up to 3.11 */ \
    FIELD(interp_id)            /* 0: the main interpreter */ \
    FIELD(interp_next) \
    FIELD(interp_threads) \
    FIELD(interp_main)    /* pointer to the main thread, from 3.14 */ \
    FIELD(interp_modules) /* sys.modules */ \
    FIELD(interp_gil)     /* pointer to the lock, from 3.12 */ \
    FIELD(gil_locked) \
    FIELD(gil_holder) \
    FIELD(thread_next) \
    FIELD(thread_interp) \
    FIELD(thread_id)     /* pthread_self() */ \
    FIELD(thread_native) /* gettid(), from 3.11 */ \
    FIELD(thread_dict)   /* up to 3.12, in which asyncio keeps the loop that runs */ \
    FIELD(thread_loop)   /* 3.13: the loop; from 3.14 on its module has the offset */ \
    FIELD( \
        thread_frame) /* pointer to the innermost frame; or, where there is a cframe, what is at: */ \
    FIELD(thread_cframe) \
    FIELD( \
        thread_pending) /* sys.remote_exec(), from 3.14: an int, 1 if the thread has to run a script */ \
    FIELD(thread_script) /* the path of the script, from 3.14 */ \
    FIELD(cframe_frame) \
    FIELD(frame_previous) \
    FIELD(frame_code) \
    FIELD(frame_instr) /* before 3.11 an int, else a pointer into the code */ \
    FIELD(frame_entry) /* 3.11: whether C began the interpreter for it */ \
    FIELD(frame_owner) /* from PYUSDT_PYTHON_NO_CODE on it is no function's frame */ \
    FIELD(frame_locals) \
    FIELD(frame_top)    /* of the values: 3.9 and 3.14 a pointer, 3.10 to 3.13 a number */ \
    FIELD(frame_values) /* 3.10: pointer to where they begin */ \
    FIELD(code_filename) \
    FIELD(code_name) \
    FIELD(code_qualname) \
    FIELD(code_firstlineno) \
    FIELD(code_linetable) \
    FIELD(code_instructions) /* from 3.11 */ \
    FIELD(object_type) \
    FIELD(type_name) \
    FIELD(unicode_length) \
    FIELD(unicode_state) \
    FIELD(unicode_ascii_data) \
    FIELD(unicode_data) \
    FIELD(bytes_size) \
    FIELD(bytes_data) \
    FIELD(dict_keys) \
    FIELD(dict_values) \
    FIELD(set_mask) \
    FIELD(set_table) \
    FIELD(weakref_object) \
    FIELD(generator_frame)     /* up to 3.10 a pointer to it, then the frame itself */ \
    FIELD(task_coro)           /* of asyncio's Task; from 3.14 on its module has the offset */ \
    FIELD(runtime_initialized) /* an int: the interpreter is ready to run a program */ \
    FIELD(runtime_finalizing)  /* pointer to the thread that ends the interpreter */ \
    FIELD(runtime_main)        /* pointer to the main interpreter */ \
    FIELD(runtime_main_thread) /* pthread_self() of the main thread */ \
    FIELD(interp_finalizing)   /* an int */ \
    FIELD(interp_breaker)      /* an int, up to 3.12 */ \
    FIELD(thread_breaker)      /* a word of bits, from 3.13 on */ \
    FIELD(interp_ring)         /* the pending calls, in which the next ones are */ \
    FIELD(ring_lock)           /* pointer to a semaphore; from 3.13 on a byte */ \
    FIELD(ring_todo)           /* whether there are calls; from 3.13 on how many */ \
    FIELD(ring_max)            /* how many there may be, from 3.13 on */ \
    FIELD(ring_calls) \
    FIELD(ring_first) \
    FIELD(ring_last)    /* behind the last one */ \
    FIELD(ring_entries) /* no offset, but a number */ \
    FIELD(ring_entry)   /* the size of one */

struct pyusdt_python_layout {
    uint32_t minor; /* of 3.minor */
#define FIELD(name) uint32_t name;
    PYUSDT_PYTHON_FIELDS(FIELD)
#undef FIELD
};

#define NAME(name) +1
enum { PYUSDT_PYTHON_NUMBERS = 1 PYUSDT_PYTHON_FIELDS(NAME) }; /* that the struct consists of */
#undef NAME

enum {
    PYUSDT_PYTHON_OLDEST = 9,
    PYUSDT_PYTHON_NEWEST = 15,
    PYUSDT_PYTHON_TELLS = 13,  /* from 3.13 on _PyRuntime begins with _Py_DebugOffsets */
    PYUSDT_PYTHON_WORDS = 111, /* of the largest of these, 8 bytes each */
    PYUSDT_PYTHON_FARTHEST = 1 << 16,
    PYUSDT_PYTHON_NO_CODE = 3,
};

#pragma GCC visibility push(hidden)

extern const char *const
    pyusdt_python_names[PYUSDT_PYTHON_NUMBERS]; /* of the struct's members, in its order */

/* 3.9 to 3.12.  0, or -ENOENT for another. */
int pyusdt_python_layout(uint32_t minor, struct pyusdt_python_layout *out);

/* 3.13 and later: from the first PYUSDT_PYTHON_WORDS words of _PyRuntime.  0; -EINVAL: it has not the cookie; -ENOENT: of a
 * version that is not known, out->minor says which; -ERANGE: an offset that cannot be. */
int pyusdt_python_layout_told(const uint64_t *words, struct pyusdt_python_layout *out);

#pragma GCC visibility pop

#endif
