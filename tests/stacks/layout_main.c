/* What the headers of a CPython say about the offsets in c/pystack/cpython_offsets.h: "name offset" lines, for test_cpython_offsets.py. */
#include "show_offsets.h"

typedef struct pyruntimestate Runtime;
typedef PyInterpreterState Interpreter;
typedef struct _ts Thread;
typedef struct _gil_runtime_state Lock;

static void show_interpreter(void)
{
    SHOW(runtime_interpreters, Runtime, interpreters.head);
    SHOW(interp_id, Interpreter, id);
    SHOW(interp_next, Interpreter, next);
#if PY_VERSION_HEX >= 0x030b0000
    SHOW(interp_threads, Interpreter, threads.head);
#else
    SHOW(interp_threads, Interpreter, tstate_head);
#endif
#if PY_VERSION_HEX >= 0x030e0000
    SHOW(interp_main, Interpreter, threads.main);
#endif
#if PY_VERSION_HEX >= 0x030c0000
    SHOW(interp_modules, Interpreter, imports.modules);
    SHOW(interp_gil, Interpreter, ceval.gil);
#else
    SHOW(interp_modules, Interpreter, modules);
    SHOW(runtime_gil, Runtime, ceval.gil);
#endif
    SHOW(gil_locked, Lock, locked);
    SHOW(gil_holder, Lock, last_holder);
}

static void show_thread(void)
{
    SHOW(thread_next, Thread, next);
    SHOW(thread_interp, Thread, interp);
    SHOW(thread_id, Thread, thread_id);
#if PY_VERSION_HEX < 0x030d0000
    SHOW(thread_dict, Thread, dict);
#elif PY_VERSION_HEX < 0x030e0000
    SHOW(thread_loop, _PyThreadStateImpl, asyncio_running_loop);
#endif
#if PY_VERSION_HEX >= 0x030d0000
    SHOW(thread_frame, Thread, current_frame);
#elif PY_VERSION_HEX >= 0x030b0000
    SHOW(thread_cframe, Thread, cframe);
    SHOW(cframe_frame, _PyCFrame, current_frame);
#else
    SHOW(thread_frame, Thread, frame);
#endif
#if PY_VERSION_HEX >= 0x030b0000
    SHOW(thread_native, Thread, native_thread_id);
#endif
#if PY_VERSION_HEX >= 0x030e0000
    SHOW(thread_pending, Thread, remote_debugger_support.debugger_pending_call);
    SHOW(thread_script, Thread, remote_debugger_support.debugger_script_path);
#endif
}

static void show_frame(void)
{
#if PY_VERSION_HEX >= 0x030b0000
    SHOW(frame_previous, _PyInterpreterFrame, previous);
    SHOW(frame_owner, _PyInterpreterFrame, owner);
    SHOW(frame_locals, _PyInterpreterFrame, localsplus);
#if PY_VERSION_HEX < 0x030c0000
    SHOW(frame_entry, _PyInterpreterFrame, is_entry);
#endif
#endif
#if PY_VERSION_HEX >= 0x030d0000
    SHOW(frame_code, _PyInterpreterFrame, f_executable);
    SHOW(frame_instr, _PyInterpreterFrame, instr_ptr);
#elif PY_VERSION_HEX >= 0x030b0000
    SHOW(frame_code, _PyInterpreterFrame, f_code);
    SHOW(frame_instr, _PyInterpreterFrame, prev_instr);
#else
    SHOW(frame_previous, PyFrameObject, f_back);
    SHOW(frame_code, PyFrameObject, f_code);
    SHOW(frame_instr, PyFrameObject, f_lasti);
#endif
#if PY_VERSION_HEX >= 0x030e0000
    SHOW(frame_top, _PyInterpreterFrame, stackpointer);
#elif PY_VERSION_HEX >= 0x030b0000
    SHOW(frame_top, _PyInterpreterFrame, stacktop);
#elif PY_VERSION_HEX >= 0x030a0000
    SHOW(frame_values, PyFrameObject, f_valuestack);
    SHOW(frame_top, PyFrameObject, f_stackdepth);
#else
    SHOW(frame_top, PyFrameObject, f_stacktop);
#endif
}

static void show_code(void)
{
    SHOW(code_filename, PyCodeObject, co_filename);
    SHOW(code_name, PyCodeObject, co_name);
    SHOW(code_firstlineno, PyCodeObject, co_firstlineno);
#if PY_VERSION_HEX >= 0x030b0000
    SHOW(code_qualname, PyCodeObject, co_qualname);
    SHOW(code_instructions, PyCodeObject, co_code_adaptive);
#endif
#if PY_VERSION_HEX >= 0x030a0000
    SHOW(code_linetable, PyCodeObject, co_linetable);
#else
    SHOW(code_linetable, PyCodeObject, co_lnotab);
#endif
}

static void show_objects(void)
{
    SHOW(object_type, PyObject, ob_type);
    SHOW(type_name, PyTypeObject, tp_name);
    SHOW(unicode_length, PyASCIIObject, length);
    SHOW(unicode_state, PyASCIIObject, state);
    printf("unicode_ascii_data %zu\nunicode_data %zu\n", sizeof(PyASCIIObject),
           sizeof(PyCompactUnicodeObject));
    SHOW(bytes_size, PyVarObject, ob_size);
    SHOW(bytes_data, PyBytesObject, ob_sval);
    SHOW(dict_keys, PyDictObject, ma_keys);
    SHOW(dict_values, PyDictObject, ma_values);
    SHOW(set_mask, PySetObject, mask);
    SHOW(set_table, PySetObject, table);
    SHOW(weakref_object, PyWeakReference, wr_object);
#if PY_VERSION_HEX >= 0x030b0000
    SHOW(generator_frame, PyGenObject, gi_iframe);
#else
    SHOW(generator_frame, PyGenObject, gi_frame);
#endif
}

/* What attaching needs. */
static void show_pending_calls(void)
{
    typedef struct _pending_calls Ring;
    Ring *ring = NULL;

    SHOW(runtime_initialized, Runtime, initialized);
    SHOW(runtime_finalizing, Runtime, _finalizing);
    SHOW(runtime_main, Runtime, interpreters.main);
    SHOW(runtime_main_thread, Runtime, main_thread);
    SHOW(interp_finalizing, Interpreter, finalizing);
    SHOW(interp_ring, Interpreter, ceval.pending);
    SHOW(ring_calls, Ring, calls);
    SHOW(ring_first, Ring, first);
#if PY_VERSION_HEX >= 0x030d0000
    SHOW(thread_breaker, Thread, eval_breaker);
    SHOW(ring_lock, Ring, mutex);
    SHOW(ring_todo, Ring, npending);
    SHOW(ring_max, Ring, max);
    SHOW(ring_last, Ring, next);
#else
    SHOW(interp_breaker, Interpreter, ceval.eval_breaker);
    SHOW(ring_lock, Ring, lock);
    SHOW(ring_todo, Ring, calls_to_do);
    SHOW(ring_last, Ring, last);
#endif
    printf("ring_entries %zu\nring_entry %zu\n", sizeof ring->calls / sizeof *ring->calls,
           sizeof *ring->calls);
}

int main(void)
{
    printf("minor %d\n", PY_MINOR_VERSION);
    show_pending_calls();
    show_interpreter();
    show_thread();
    show_frame();
    show_code();
    show_objects();
    return 0;
}
