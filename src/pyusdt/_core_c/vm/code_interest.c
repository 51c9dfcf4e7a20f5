/*
 * Which sessions want an event at a code object (see python_provider.h).
 *
 * - The entry of a code object comes from code_entries.c. A C function has its own, by its
 *   PyMethodDef, for ever.
 * - An entry stores the sessions that want each probe there, as of the patterns' `generation`. Its
 *   texts are made when the first session wants it.
 * - Without the GIL several threads may compute an answer at the same time. One of the answers is
 *   stored, and no thread waits.
 */
#define PY_SSIZE_T_CLEAN
#include "_core_c/vm/python_provider.h"
#include "_core_c/vm/session_values.h"

#include <frameobject.h>
#include <opcode.h>
#include <stdlib.h>

#include "_core_c/convert.h"
#include "_core_c/task_numbers.h"

#define HINTS_MAX 3
#define FUNCTION_TABLE 4096 /* C functions that are remembered; others are looked up at each call */

/* ---- names ---- */

/* The three names of a place, in form, while they are being put together. */
struct names {
    struct pyusdt_text_source sources[3];
    struct pyusdt_string module, function, file;
};

static void open_names(struct names *names, PyObject *module, PyObject *function, PyObject *file)
{
    PyObject *objects[] = {module, function, file};
    struct pyusdt_string *strings[] = {&names->module, &names->function, &names->file};

    for (int i = 0; i < 3; i++) {
        PyObject *text = objects[i] != NULL && PyUnicode_Check(objects[i]) ? objects[i] : NULL;
        pyusdt_text_source_open(&names->sources[i], text);
        pyusdt_string_set(strings[i], &names->sources[i]);
        if (strings[i]->address == NULL)
            strings[i]->address = "";
    }
}

static void close_names(struct names *names)
{
    for (int i = 0; i < 3; i++)
        pyusdt_text_source_close(&names->sources[i]);
}

static struct pyusdt_vm_text copy_text(char **at, const struct pyusdt_string *string)
{
    struct pyusdt_vm_text text = {*at, string->length};

    memcpy(*at, string->address, string->length);
    (*at)[string->length] = '\0';
    *at += string->length + 1;
    return text;
}

/* Makes the texts of the place; 0 if there is no memory. */
static int make_texts(struct pyusdt_vm_place *place, const struct names *names)
{
    size_t size = names->function.length + names->file.length + names->module.length + 3;
    struct pyusdt_vm_texts *texts = malloc(sizeof *texts + size), *there = NULL;
    char *at = (char *)(texts + 1);

    if (texts == NULL)
        return 0;
    texts->function = copy_text(&at, &names->function);
    texts->file = copy_text(&at, &names->file);
    texts->module = copy_text(&at, &names->module);
    if (!__atomic_compare_exchange_n(&place->texts, &there, texts, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        free(texts); /* another thread has made the same */
    return 1;
}

/* The data of an event besides the sessions that want it; only events for sessions need a number. 0
 * if there is no memory. */
static int complete_place(struct pyusdt_vm_place *place, const struct names *names, int line,
                          int numbered)
{
    if (__atomic_load_n(&place->texts, __ATOMIC_ACQUIRE) == NULL && !make_texts(place, names))
        return 0;
    if (numbered &&
        __atomic_load_n(&place->number, __ATOMIC_RELAXED) == 0) /* the same for every caller */
        __atomic_store_n(&place->number,
                         pyusdt_place(names->module.address, names->function.address,
                                      names->file.address, (uint32_t)line),
                         __ATOMIC_RELAXED);
    return 1;
}

/* Which sessions want a probe here; the flight recorder only together with a tracer. */
static uint64_t find_sessions(unsigned index, const struct names *names)
{
    uint64_t sessions = pyusdt_place_wanted(index, names->module.address, names->function.address);

    return (sessions & PYUSDT_VM_TRACERS) != 0 ? sessions : 0;
}

/* Stores an answer with the entry, unless another thread does that at the same time. */
static void store_answer(struct pyusdt_vm_place *place, const uint64_t *sessions,
                         uint32_t generation, unsigned first, unsigned end)
{
    if (__atomic_exchange_n(&place->is_storing, 1, __ATOMIC_ACQUIRE))
        return;
    if (place->generation == 0 ||
        (int32_t)(generation - place->generation) >= 0) { /* else a younger answer is there */
        for (unsigned probe = first; probe < end; probe++)
            __atomic_store_n(&place->sessions[probe], sessions[probe], __ATOMIC_RELAXED);
        __atomic_store_n(&place->generation, generation, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&place->is_storing, 0, __ATOMIC_RELEASE);
}

/* Asks which sessions want the probes [first, end) at this place; those that want `asked`. */
static uint64_t update_place(struct pyusdt_vm_place *place, const struct names *names, int line,
                             unsigned first, unsigned end, enum pyusdt_pyvm_probe asked)
{
    uint32_t generation =
        pyusdt_places_generation(); /* before: a change meanwhile makes it ask again */
    uint64_t sessions[PYUSDT_VM_PLACE_PROBES] = {0}, any = 0;

    for (unsigned probe = first; probe < end; probe++)
        if (pyusdt_vm_index(probe) != 0) /* else this version does not have it */
            any |= sessions[probe] = find_sessions(pyusdt_vm_index(probe), names);
    if ((any != 0 || pyusdt_vm_is_attached(asked)) && !complete_place(place, names, line, any != 0))
        memset(sessions, 0, sizeof sessions);
    store_answer(place, sessions, generation, first, end);
    return sessions[asked];
}

/* A USDT tracer gets an event here: it wants those of all places. */
static int is_wanted_by_usdt(const struct pyusdt_vm_place *place, enum pyusdt_pyvm_probe probe)
{
    return pyusdt_vm_is_attached(probe) && __atomic_load_n(&place->texts, __ATOMIC_ACQUIRE) != NULL;
}

/* The stored answer; 0: it is outdated, or older than a USDT tracer. */
static int read_answer(const struct pyusdt_vm_place *place, enum pyusdt_pyvm_probe probe,
                       uint64_t *sessions)
{
    if (__atomic_load_n(&place->generation, __ATOMIC_ACQUIRE) != pyusdt_places_generation())
        return 0;
    if (pyusdt_vm_is_attached(probe) && __atomic_load_n(&place->texts, __ATOMIC_ACQUIRE) == NULL)
        return 0;
    *sessions = __atomic_load_n(&place->sessions[probe], __ATOMIC_RELAXED);
    return 1;
}

/* ---- code objects ---- */

static PyObject *read_qualified_name(const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030b0000
    return code->co_qualname;
#else
    return code->co_name;
#endif
}

/* __name__ of the module of the running frame's code; borrowed, or NULL. */
static PyObject *read_running_module(void)
{
    PyObject *globals = PyEval_GetGlobals();
    PyObject *key = PyUnicode_InternFromString(
        "__name__"); /* PyDict_GetItemString prints if there is no memory */
    PyObject *name = globals != NULL && key != NULL ? PyDict_GetItemWithError(globals, key) : NULL;

    Py_XDECREF(key);
    PyErr_Clear();
    return name;
}

/* A tracer that misspelt this name sees nothing fire, so a remark reports it. Few, since each
 * remark lives as long as the process. */
__attribute__((noinline)) static void set_hint(const struct names *names,
                                               enum pyusdt_pyvm_probe probe)
{
    static int hints;
    char asked[128], text[PYUSDT_PLACE_FILE + 1];

    if (__atomic_load_n(&hints, __ATOMIC_RELAXED) >= HINTS_MAX ||
        !pyusdt_place_is_near(pyusdt_vm_index(probe), names->module.address,
                              names->function.address, asked, sizeof asked))
        return;
    __atomic_fetch_add(&hints, 1, __ATOMIC_RELAXED);
    snprintf(text, sizeof text, "has run %.80s:%.120s: is that what is meant by %s?",
             names->module.address, names->function.address, asked);
    pyusdt_remark_set(PYUSDT_VM_HINT, "python", pyusdt_vm_code_names, text, PYUSDT_REMARK_HINT);
}

__attribute__((noinline)) static uint64_t
update_code_place(struct pyusdt_vm_place *place, PyCodeObject *code, enum pyusdt_pyvm_probe probe)
{
    struct names names;
    uint64_t sessions;

    open_names(&names, read_running_module(), read_qualified_name(code), code->co_filename);
    sessions = update_place(place, &names, code->co_firstlineno, 0, PYUSDT_VM_CODE_PROBES, probe);
    if (sessions != 0) {
        pyusdt_detect_greenlets();
        pyusdt_vm_paths_check(code, pyusdt_vm_index(probe), sessions, names.module.address,
                              names.function.address);
    } else if (pyusdt_vm_index(probe) != 0)
        set_hint(&names, probe);
#if PY_VERSION_HEX >= 0x030c0000
    pyusdt_vm_place_set_module(place, read_running_module());
#endif
    close_names(&names);
    return sessions;
}

#if PY_VERSION_HEX >= 0x030c0000

int pyusdt_vm_is_code_wanted(struct pyusdt_vm_place *place, PyCodeObject *code, uint32_t probes)
{
    PyObject *module = __atomic_load_n(&place->module, __ATOMIC_ACQUIRE);
    struct names names;
    uint64_t sessions = 0;

    if (module == NULL)
        return 0; /* not asked for yet */
    open_names(&names, module, read_qualified_name(code), code->co_filename);
    for (unsigned probe = 0; probe < PYUSDT_VM_CODE_PROBES && sessions == 0; probe++)
        if ((probes & PYUSDT_VM_BIT(probe)) != 0 && pyusdt_vm_index(probe) != 0 &&
            pyusdt_wanted(pyusdt_vm_index(probe)))
            sessions = find_sessions(pyusdt_vm_index(probe), &names);
    close_names(&names);
    return sessions != 0;
}

#endif

/* Whether some session wants it here, or a USDT tracer. */
static inline int is_wanted(struct pyusdt_vm_place *place, PyCodeObject *code,
                            enum pyusdt_pyvm_probe probe, uint64_t *sessions)
{
    if (place == NULL)
        return 0;
    if (__builtin_expect(!read_answer(place, probe, sessions), 0))
        *sessions = update_code_place(place, code, probe);
    return *sessions != 0 || is_wanted_by_usdt(place, probe);
}

int pyusdt_vm_is_wanted_at(struct pyusdt_pyvm_event *event)
{
    if (event->place == NULL)
        event->place = pyusdt_vm_code_place(event->code);
    return is_wanted(event->place, event->code, event->probe, &event->sessions);
}

/* ---- exceptions ---- */

/* Its instructions, as they were compiled; a new reference, or NULL with an exception. */
static PyObject *read_instructions(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030b0000
    return PyCode_GetCode(code);
#else
    Py_INCREF(code->co_code);
    return code->co_code;
#endif
}

/* Whether the instruction is `raise something`; a bare `raise` gives an old exception once more. */
static int is_raise(PyCodeObject *code, int offset)
{
    PyObject *bytes = read_instructions(code);
    int found = 0;

    if (bytes == NULL)
        PyErr_Clear();
    else if (offset >= 0 && offset + 1 < PyBytes_GET_SIZE(bytes))
        found = (unsigned char)PyBytes_AS_STRING(bytes)[offset] == RAISE_VARARGS &&
                PyBytes_AS_STRING(bytes)[offset + 1] != 0;
    Py_XDECREF(bytes);
    return found;
}

int pyusdt_vm_is_new_exception(PyObject *traceback)
{
    return traceback == NULL || !PyTraceBack_Check(traceback) ||
           ((PyTracebackObject *)traceback)->tb_next == NULL;
}

int pyusdt_vm_is_raised_here(PyObject *traceback, PyCodeObject *code, int offset)
{
    return pyusdt_vm_is_new_exception(traceback) || is_raise(code, offset);
}

/* ---- events ---- */

static void set_text(struct pyusdt_firing *firing, unsigned arg, const struct pyusdt_vm_text *text)
{
    pyusdt_firing_text(firing, arg, text->address, text->length);
}

static void set_number(struct pyusdt_firing *firing, unsigned arg, uint64_t value)
{
    firing->args.value[arg] = value;
    firing->args.length[arg] = 0;
}

int pyusdt_vm_read_offset(PyObject *offset)
{
    int number = (int)PyLong_AsLong(offset);

    if (number == -1 && PyErr_Occurred())
        PyErr_Clear();
    return number;
}

/* The first instructions of an exception's handler belong to no line: then that of the next one. */
static uint64_t find_line(PyCodeObject *code, int offset)
{
    int line = -1;

    for (int end = offset + 16; line <= 0 && offset < end; offset += 2)
        line = PyCode_Addr2Line(code, offset);
    return line > 0 ? (uint64_t)line : 0;
}

/* Offers an event whose arguments are all set. */
static void offer_at(struct pyusdt_firing *firing, enum pyusdt_pyvm_probe probe, uint32_t number,
                     const char *module, uint64_t sessions)
{
    if (firing->attached)
        pyusdt_vm_hit_site(firing, probe, module);
    if (firing->demand == 0)
        return;
    if (pyusdt_firing_wants_stack(firing))
        pyusdt_fire_with_stack(firing->probe, number, sessions, &firing->args);
    else
        pyusdt_fire_at(firing->probe, number, sessions, &firing->args);
}

/* The same at a place in code. */
static void offer_at_code(struct pyusdt_firing *firing, const struct pyusdt_vm_place *place,
                          const struct pyusdt_pyvm_event *event)
{
    uint32_t number = __atomic_load_n(&place->number, __ATOMIC_RELAXED);
    uint64_t sessions = event->sessions;

    if (__builtin_expect((firing->demand & PYUSDT_PATH_ARGS) != 0, 0))
        sessions = pyusdt_vm_paths_offer(firing, event, number);
    offer_at(firing, event->probe, number, place->texts->module.address, sessions);
}

/* Counts for the sessions that only want counts. Leaves the others in *sessions, and returns their
 * demand. */
static inline uint32_t fire_bare(enum pyusdt_pyvm_probe probe, const struct pyusdt_vm_place *place,
                                 uint64_t *sessions)
{
    uint32_t number = place != NULL ? __atomic_load_n(&place->number, __ATOMIC_RELAXED) : 0;

    return *sessions != 0 ? pyusdt_fire_bare_at(pyusdt_vm_index(probe), number, sessions) : 0;
}

/* For these others, and for USDT tracers. 0: there are none. */
static inline int begin_firing(struct pyusdt_firing *firing, enum pyusdt_pyvm_probe probe,
                               uint32_t demand)
{
    firing->probe = pyusdt_vm_index(probe);
    firing->demand = demand;
    firing->attached = pyusdt_vm_is_attached(probe);
    firing->reads = firing->attached ? ~0u : firing->demand;
    if (firing->reads == 0)
        return 0;
    firing->args.missing = ~firing->reads;
    firing->args.nframes = 0;
    return 1;
}

/* The large frame, for the text. */
__attribute__((noinline)) static void fire_exception(struct pyusdt_firing *firing,
                                                     const struct pyusdt_vm_place *place,
                                                     const struct pyusdt_pyvm_event *event)
{
    PyObject *text =
        pyusdt_firing_reads(firing, 4) ? pyusdt_vm_exception_text(event->exception) : NULL;
    const char *type = Py_TYPE(event->exception)->tp_name;
    struct pyusdt_text_source source;
    struct pyusdt_string string;

    pyusdt_text_source_open(&source, text);
    pyusdt_string_set(&string, &source);
    pyusdt_firing_text(firing, 3, type, pyusdt_text_length(type, strlen(type)));
    pyusdt_firing_text(firing, 4, string.address != NULL ? string.address : "", string.length);
    offer_at_code(firing, place, event);
    pyusdt_text_source_close(&source);
    Py_XDECREF(text);
}

/* The first three arguments, and none behind them yet. */
static void set_location(struct pyusdt_firing *firing, const struct pyusdt_pyvm_event *event)
{
    pyusdt_firing_no_more(firing, 3);
    set_text(firing, 0, &event->place->texts->file);
    set_text(firing, 1, &event->place->texts->function);
    if (event->line == 0 && pyusdt_firing_reads(firing, 2))
        set_number(firing, 2,
                   find_line(event->code,
                             event->at != NULL ? pyusdt_vm_read_offset(event->at) : event->offset));
    else
        set_number(firing, 2, (uint64_t)event->line);
}

/* The frame that many do without. */
__attribute__((noinline)) static void fire_with_arguments(struct pyusdt_pyvm_event *event,
                                                          uint32_t demand)
{
    struct pyusdt_firing firing;

    if (!begin_firing(&firing, event->probe, demand))
        return;
    set_location(&firing, event);
    if (event->exception != NULL) {
        fire_exception(&firing, event->place, event);
        return;
    }
    set_number(&firing, 3, event->how);
    offer_at_code(&firing, event->place, event);
}

void pyusdt_vm_fire_code(struct pyusdt_pyvm_event *event)
{
    uint32_t demand = fire_bare(event->probe, event->place, &event->sessions);

    if (demand != 0 || pyusdt_vm_is_attached(event->probe))
        fire_with_arguments(event, demand);
}

#if PY_VERSION_HEX >= 0x030c0000

/* Finds the location once more: storing it would cost the many calls that do without. */
__attribute__((noinline)) static void
fire_monitored_with_arguments(const struct pyusdt_pyvm_kind *kind, PyObject *const *args,
                              uint64_t sessions, uint32_t demand)
{
    struct pyusdt_pyvm_event event = {.probe = kind->probe,
                                      .code = (PyCodeObject *)args[0],
                                      .sessions = sessions,
                                      .at = args[1],
                                      .how = kind->how};

    event.place = pyusdt_vm_code_place(event.code);
    if (event.place == NULL)
        return;
    if (kind->probe == PYUSDT_VM_FUNCTION_RETURN)
        *(kind->how == PYUSDT_VM_UNWOUND ? &event.unwinding : &event.returned) = args[2];
    if (kind->line == PYUSDT_VM_LINE_FIRST)
        event.line = event.code->co_firstlineno;
    else if (kind->line == PYUSDT_VM_LINE_GIVEN)
        event.line = pyusdt_vm_read_offset(event.at);
    fire_with_arguments(&event, demand);
}

static inline PyObject *fire_monitored_at(const struct pyusdt_vm_place *place,
                                          const struct pyusdt_pyvm_kind *kind,
                                          PyObject *const *args, uint64_t sessions,
                                          PyObject *nobody)
{
    uint32_t demand;

    if (__builtin_expect(kind->probe == PYUSDT_VM_LINE && pyusdt_vm_paths_decide(sessions), 0)) {
        sessions = pyusdt_vm_paths_at_line(sessions, pyusdt_vm_read_offset(args[1]));
        if ((sessions & PYUSDT_VM_TRACERS) == 0 && !is_wanted_by_usdt(place, kind->probe))
            return Py_NewRef(nobody);
    }
    demand = fire_bare(kind->probe, place, &sessions);
    if (demand != 0 || pyusdt_vm_is_attached(kind->probe))
        fire_monitored_with_arguments(kind, args, sessions, demand);
    Py_RETURN_NONE;
}

/* The slow part of the lookup. */
__attribute__((noinline)) static PyObject *
update_and_fire_monitored(const struct pyusdt_pyvm_kind *kind, PyObject *const *args,
                          PyObject *nobody)
{
    struct pyusdt_vm_place *place = pyusdt_vm_code_find((PyCodeObject *)args[0]);
    uint64_t sessions;

    return is_wanted(place, (PyCodeObject *)args[0], kind->probe, &sessions)
               ? fire_monitored_at(place, kind, args, sessions, nobody)
               : Py_NewRef(nobody);
}

PyObject *pyusdt_vm_fire_monitored(const struct pyusdt_pyvm_kind *kind, PyObject *const *args,
                                   PyObject *nobody)
{
    struct pyusdt_vm_place *place = pyusdt_vm_code_first((PyCodeObject *)args[0]);
    uint64_t sessions;

    if (__builtin_expect(place == NULL || !read_answer(place, kind->probe, &sessions), 0))
        return update_and_fire_monitored(kind, args, nobody);
    if (sessions == 0 && !is_wanted_by_usdt(place, kind->probe))
        return Py_NewRef(nobody);
    return fire_monitored_at(place, kind, args, sessions, nobody);
}

#endif

/* ---- functions of C ---- */

static struct {
    const PyMethodDef *method;
    struct pyusdt_vm_place *place;
} functions[FUNCTION_TABLE];

/* Its definition in C; NULL: no function or method in C. */
static const PyMethodDef *find_method(PyObject *callable)
{
    if (PyCFunction_Check(callable))
        return ((PyCFunctionObject *)callable)->m_ml;
    if (Py_TYPE(callable) == &PyMethodDescr_Type)
        return ((PyMethodDescrObject *)callable)->d_method;
    return NULL;
}

__attribute__((noinline)) static uint64_t update_function_place(struct pyusdt_vm_place *place,
                                                                PyObject *callable,
                                                                enum pyusdt_pyvm_probe probe)
{
    PyObject *module, *function;
    struct names names;
    uint64_t sessions;

    pyusdt_vm_function_names(callable, &module, &function);
    open_names(&names, module, function, NULL);
    sessions =
        update_place(place, &names, 0, PYUSDT_VM_C_FUNCTION_ENTRY, PYUSDT_VM_PLACE_PROBES, probe);
    close_names(&names);
    Py_XDECREF(module);
    Py_XDECREF(function);
    return sessions;
}

/* The index of a C function in the table, or its free place. NULL: the table is full. */
static struct pyusdt_vm_place **find_function_slot(const PyMethodDef *method)
{
    size_t at = ((uintptr_t)method >> 3) * 0x9e3779b97f4a7c15ull >> 52;

    for (int tries = 0; tries < 64; tries++, at = (at + 1) % FUNCTION_TABLE) {
        const PyMethodDef *there = NULL;
        if (__atomic_compare_exchange_n(&functions[at].method, &there, method, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE) ||
            there == method)
            return &functions[at].place;
    }
    return NULL;
}

static struct pyusdt_vm_place *find_function_place(const PyMethodDef *method)
{
    struct pyusdt_vm_place **slot = find_function_slot(method), *place, *there = NULL;

    if (slot == NULL)
        return NULL;
    place = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (place == NULL) {
        place = calloc(1, sizeof *place);
        if (place != NULL && !__atomic_compare_exchange_n(slot, &there, place, 0, __ATOMIC_ACQ_REL,
                                                          __ATOMIC_ACQUIRE)) {
            free(place);
            place = there;
        }
    }
    return place;
}

void pyusdt_vm_fire_call(enum pyusdt_pyvm_probe probe, PyObject *callable, PyCodeObject *caller,
                         int offset, uint64_t left)
{
    const PyMethodDef *method = find_method(callable);
    struct pyusdt_vm_place *place = method != NULL ? find_function_place(method) : NULL;
    /* no room for one more place: the event is offered without one, which the core counts as a
     * drop */
    uint64_t sessions = ~0ull;
    const struct pyusdt_vm_texts *texts;
    uint32_t number, demand;
    struct pyusdt_string file;
    struct pyusdt_text_source source;
    struct pyusdt_firing firing;

    if (place != NULL && !read_answer(place, probe, &sessions))
        sessions = update_function_place(place, callable, probe);
    if (method == NULL || (sessions == 0 && !pyusdt_vm_is_attached(probe)))
        return;
    demand = fire_bare(probe, place, &sessions);
    if (!begin_firing(&firing, probe, demand))
        return;
    texts = place != NULL ? __atomic_load_n(&place->texts, __ATOMIC_ACQUIRE)
                          : NULL; /* NULL: there is no memory for more */
    number = place != NULL ? __atomic_load_n(&place->number, __ATOMIC_RELAXED) : 0;
    pyusdt_firing_no_more(&firing, 3);
    pyusdt_text_source_open(&source, caller->co_filename);
    pyusdt_string_set(&file, &source);
    pyusdt_firing_text(&firing, 0, file.address, file.length);
    if (texts != NULL)
        set_text(&firing, 1, &texts->function);
    else
        pyusdt_firing_text(&firing, 1, NULL, 0);
    set_number(&firing, 2, pyusdt_firing_reads(&firing, 2) ? find_line(caller, offset) : 0);
    set_number(&firing, 3, left);
    offer_at(&firing, probe, number, texts != NULL ? texts->module.address : NULL, sessions);
    pyusdt_text_source_close(&source);
}
