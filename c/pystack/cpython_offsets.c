/* See cpython_offsets.h. */
#include "pystack/cpython_offsets.h"

#include <errno.h>
#include <string.h>

const char *const pyusdt_python_names[PYUSDT_PYTHON_NUMBERS] = {"minor",
#define NAME(name) #name,
                                                                PYUSDT_PYTHON_FIELDS(NAME)
#undef NAME
};

#define OLD_OBJECTS \
    .object_type = 8, .type_name = 24, .unicode_length = 16, .unicode_state = 32, \
    .bytes_size = 16, .bytes_data = 32, .dict_keys = 32, .dict_values = 40, .set_mask = 32, \
    .set_table = 40, .weakref_object = 16
#define OLD_TEXTS .unicode_ascii_data = 48, .unicode_data = 72
#define OLD_RING \
    .ring_todo = 8, .ring_calls = 16, .ring_first = 528, .ring_last = 532, .ring_entries = 32, \
    .ring_entry = 16

/* Debian's 3.11.2 and 3.11.7 agree, and so do the earlier patch releases that other samplers know. */
static const struct pyusdt_python_layout known[] = {
    {.minor = 9,
     .runtime_interpreters = 32,
     .runtime_gil = 352,
     .interp_id = 24,
     .interp_next = 0,
     .interp_threads = 8,
     .interp_modules = 856,
     .gil_locked = 16,
     .gil_holder = 8,
     .thread_next = 8,
     .thread_interp = 16,
     .thread_id = 176,
     .thread_dict = 152,
     .thread_frame = 24,
     .frame_previous = 24,
     .frame_code = 32,
     .frame_instr = 104,
     .frame_top = 72,
     .code_filename = 104,
     .code_name = 112,
     .code_firstlineno = 40,
     .code_linetable = 120,
     .task_coro = 152,
     .generator_frame = 16,
     OLD_OBJECTS,
     OLD_TEXTS,
     .runtime_initialized = 12,
     .runtime_finalizing = 16,
     .runtime_main = 40,
     .runtime_main_thread = 72,
     .interp_finalizing = 56,
     .interp_breaker = 72,
     .interp_ring = 80,
     OLD_RING},
    {.minor = 10,
     .runtime_interpreters = 32,
     .runtime_gil = 352,
     .interp_id = 24,
     .interp_next = 0,
     .interp_threads = 8,
     .interp_modules = 856,
     .gil_locked = 16,
     .gil_holder = 8,
     .thread_next = 8,
     .thread_interp = 16,
     .thread_id = 176,
     .thread_dict = 152,
     .thread_frame = 24,
     .frame_previous = 24,
     .frame_code = 32,
     .frame_instr = 96,
     .frame_top = 80,
     .frame_values = 64,
     .code_filename = 104,
     .code_name = 112,
     .code_firstlineno = 40,
     .code_linetable = 120,
     .task_coro = 160,
     .generator_frame = 16,
     OLD_OBJECTS,
     OLD_TEXTS,
     .runtime_initialized = 12,
     .runtime_finalizing = 16,
     .runtime_main = 40,
     .runtime_main_thread = 72,
     .interp_finalizing = 56,
     .interp_breaker = 68,
     .interp_ring = 80,
     OLD_RING},
    {.minor = 11,
     .runtime_interpreters = 40,
     .runtime_gil = 360,
     .interp_id = 48,
     .interp_next = 0,
     .interp_threads = 16,
     .interp_modules = 888,
     .gil_locked = 16,
     .gil_holder = 8,
     .thread_next = 8,
     .thread_interp = 16,
     .thread_id = 152,
     .thread_native = 160,
     .thread_dict = 128,
     .thread_cframe = 56,
     .cframe_frame = 8,
     .frame_previous = 48,
     .frame_code = 32,
     .frame_instr = 56,
     .frame_entry = 68,
     .frame_owner = 69,
     .frame_locals = 72,
     .frame_top = 64,
     .code_filename = 112,
     .code_name = 120,
     .code_qualname = 128,
     .code_firstlineno = 72,
     .code_linetable = 136,
     .code_instructions = 184,
     .task_coro = 136,
     .generator_frame = 80,
     OLD_OBJECTS,
     OLD_TEXTS,
     .runtime_initialized = 16,
     .runtime_finalizing = 24,
     .runtime_main = 48,
     .runtime_main_thread = 80,
     .interp_finalizing = 84,
     .interp_breaker = 100,
     .interp_ring = 112,
     OLD_RING},
    {.minor = 12,
     .runtime_interpreters = 40,
     .interp_id = 8,
     .interp_next = 0,
     .interp_threads = 72,
     .interp_modules = 944,
     .interp_gil = 384,
     .gil_locked = 16,
     .gil_holder = 8,
     .thread_next = 8,
     .thread_interp = 16,
     .thread_id = 136,
     .thread_native = 144,
     .thread_dict = 112,
     .thread_cframe = 56,
     .cframe_frame = 0,
     .frame_previous = 8,
     .frame_code = 0,
     .frame_instr = 56,
     .frame_owner = 70,
     .frame_locals = 72,
     .frame_top = 64,
     .code_filename = 112,
     .code_name = 120,
     .code_qualname = 128,
     .code_firstlineno = 68,
     .code_linetable = 136,
     .code_instructions = 192,
     .task_coro = 136,
     .generator_frame = 72,
     OLD_OBJECTS,
     .unicode_ascii_data = 40,
     .unicode_data = 56,
     .runtime_initialized = 16,
     .runtime_finalizing = 24,
     .runtime_main = 48,
     .runtime_main_thread = 64,
     .interp_finalizing = 44,
     .interp_breaker = 368,
     .interp_ring = 400,
     .ring_lock = 8,
     .ring_todo = 16,
     .ring_calls = 24,
     .ring_first = 536,
     .ring_last = 540,
     .ring_entries = 32,
     .ring_entry = 16},
};

int pyusdt_python_layout(uint32_t minor, struct pyusdt_python_layout *out)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].minor == minor) {
            *out = known[i];
            return 0;
        }
    return -ENOENT;
}

/* ---- the interpreter's own words ---- */

enum {
    COOKIE,
    VERSION,
    GIL_RUNTIME_13 = 15,
    GIL_RUNTIME_14 = 16,
    DEBUGGER_14 = 90,
    DEBUGGER_15 = 106
};

/* Which word of _Py_DebugOffsets has a field's offset, in 3.13, 3.14, 3.15; 0: that version has none. */
static const struct debug_word {
    uint16_t field;
    uint8_t word[PYUSDT_PYTHON_NEWEST - PYUSDT_PYTHON_TELLS + 1];
} debug_words[] = {
#define TOLD(name, ...) \
    { \
        offsetof(struct pyusdt_python_layout, name), \
        { \
            __VA_ARGS__ \
        } \
    }
    TOLD(runtime_finalizing, 4, 4, 4),
    TOLD(runtime_interpreters, 5, 5, 5),
    TOLD(interp_id, 7, 7, 7),
    TOLD(interp_next, 8, 8, 8),
    TOLD(interp_threads, 9, 9, 9),
    TOLD(interp_main, 0, 10, 10),
    TOLD(interp_modules, 11, 12, 12),
    TOLD(interp_gil, 14, 15, 15),
    TOLD(gil_locked, 17, 18, 18), /* here within the interpreter; from_lock() mends it */
    TOLD(gil_holder, 18, 19, 19),
    TOLD(thread_next, 21, 24, 24),
    TOLD(thread_interp, 22, 25, 25),
    TOLD(thread_frame, 23, 26, 26),
    TOLD(thread_id, 24, 27, 30),
    TOLD(thread_native, 25, 28, 31),
    TOLD(thread_pending, 0, 92,
         108), /* here within the part that thread_script is in, too; from_thread() mends both */
    TOLD(thread_script, 0, 93, 109),
    TOLD(frame_previous, 29, 32, 40),
    TOLD(frame_code, 30, 33, 41),
    TOLD(frame_instr, 31, 34, 42),
    TOLD(frame_locals, 32, 35, 43),
    TOLD(frame_owner, 33, 36, 44),
    TOLD(frame_top, 0, 37, 45),
    TOLD(code_filename, 35, 40, 48),
    TOLD(code_name, 36, 41, 49),
    TOLD(code_qualname, 37, 42, 50),
    TOLD(code_linetable, 38, 43, 51),
    TOLD(code_firstlineno, 39, 44, 52),
    TOLD(code_instructions, 43, 48, 56),
    TOLD(object_type, 45, 51, 59),
    TOLD(type_name, 47, 53, 61),
    TOLD(dict_keys, 57, 67, 79),
    TOLD(dict_values, 58, 68, 80),
    TOLD(bytes_size, 65, 75, 87),
    TOLD(bytes_data, 66, 76, 88),
    TOLD(unicode_state, 68, 78, 90),
    TOLD(unicode_length, 69, 79, 91),
    TOLD(unicode_ascii_data, 70, 80, 92),
    TOLD(set_table, 0, 64, 76),
    TOLD(set_mask, 0, 65, 77),
    TOLD(generator_frame, 0, 85, 101),
#undef TOLD
};

static uint32_t *field_of(struct pyusdt_python_layout *layout, size_t offset)
{
    return (uint32_t *)((char *)layout + offset);
}

/* Not among the words of 3.13: they follow the head of an object, which is larger in a build without the GIL. */
static void fill_objects(struct pyusdt_python_layout *layout)
{
    uint32_t head = layout->object_type + 8;

    layout->weakref_object = head;
    layout->unicode_data = layout->unicode_ascii_data + 16;
    if (layout->minor == 13) {
        layout->set_mask = head + 16;
        layout->set_table = head + 24;
        layout->generator_frame = head + 56;
        layout->frame_top = 64;
        layout->task_coro = head + 104;
        layout->thread_loop = 304;
    }
}

/* Nor are these among the words.  They are the same in builds with and without the GIL. */
static void fill_ring(struct pyusdt_python_layout *layout)
{
    layout->runtime_initialized = layout->runtime_finalizing - 8;
    layout->runtime_main = layout->runtime_interpreters + 8;
    layout->runtime_main_thread = layout->runtime_interpreters + 24;
    layout->interp_finalizing = layout->interp_id + (layout->minor == 13 ? 48 : 40);
    layout->thread_breaker = 24;
    layout->interp_ring = 32;
    layout->ring_lock = 8;
    layout->ring_todo = 12;
    layout->ring_max = 16;
    layout->ring_calls = 24;
    layout->ring_entries = 300;
    layout->ring_entry = 24;
    layout->ring_first = 7224;
    layout->ring_last = 7228;
}

/* The words have the offsets of a lock that lies in the interpreter itself, which may use another's. */
static int from_lock(struct pyusdt_python_layout *layout, uint64_t lock)
{
    if (layout->gil_locked < lock || layout->gil_holder < lock)
        return -ERANGE;
    layout->gil_locked -= (uint32_t)lock;
    layout->gil_holder -= (uint32_t)lock;
    return 0;
}

static int from_thread(struct pyusdt_python_layout *layout, const uint64_t *words)
{
    uint64_t part = layout->minor < 14 ? 0 : words[layout->minor == 14 ? DEBUGGER_14 : DEBUGGER_15];

    if (part >= PYUSDT_PYTHON_FARTHEST)
        return -ERANGE;
    layout->thread_pending += (uint32_t)part;
    layout->thread_script += (uint32_t)part;
    return 0;
}

int pyusdt_python_layout_told(const uint64_t *words, struct pyusdt_python_layout *out)
{
    uint32_t which;

    memset(out, 0, sizeof *out);
    if (memcmp(&words[COOKIE], "xdebugpy", 8) != 0 || words[VERSION] >> 24 != 3)
        return -EINVAL;
    out->minor = words[VERSION] >> 16 & 0xff;
    if (out->minor < PYUSDT_PYTHON_TELLS || out->minor > PYUSDT_PYTHON_NEWEST)
        return -ENOENT;
    which = out->minor - PYUSDT_PYTHON_TELLS;
    for (size_t i = 0; i < sizeof debug_words / sizeof *debug_words; i++) {
        uint64_t value = debug_words[i].word[which] ? words[debug_words[i].word[which]] : 0;
        if (value >= PYUSDT_PYTHON_FARTHEST)
            return -ERANGE;
        *field_of(out, debug_words[i].field) = (uint32_t)value;
    }
    fill_objects(out);
    fill_ring(out);
    return from_thread(out, words) != 0
               ? -ERANGE
               : from_lock(out, words[which ? GIL_RUNTIME_14 : GIL_RUNTIME_13]);
}
