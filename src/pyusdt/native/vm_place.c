/* Code as places: see native/vm.h.
 *
 * A code object's place is kept with it (co_extra) and freed with it; a function of C has its own, by its PyMethodDef, for ever.
 * A place holds the sessions that want each probe there, as they were when the patterns had `generation`; its texts are made
 * once, when the first session wants it. */
#define PY_SSIZE_T_CLEAN
#include "native/vm.h"

#include <frameobject.h>
#include <opcode.h>
#include <stdlib.h>

#include "native/convert.h"
#include "native/extra.h"

#define FUNCTION_TABLE 4096 /* functions of C that are remembered; more are looked up at each call */

struct text {
    const char *address;
    uint32_t length;
};

struct place {
    uint32_t generation;
    uint32_t number; /* the core's; 0: not asked for yet, or its table is full */
    uint64_t sessions[PYUSDT_VM_PLACE_PROBES];
    char *texts; /* NULL until somebody wants an event here */
    struct text function, file;
};

static Py_ssize_t extra = -1;

static void place_free(void *pointer)
{
    struct place *place = pointer;

    if (place != NULL)
        free(place->texts);
    free(place);
}

int pyusdt_vm_places_start(void)
{
    if (extra < 0)
        extra = PyUnstable_Eval_RequestCodeExtraIndex(place_free);
    if (extra >= 0)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "no room in code objects: too many tools have asked the interpreter for some");
    return -1;
}

/* ---- names ---- */

/* The three names of a place, in form, while they are being put together. */
struct names {
    struct pyusdt_text_source sources[3];
    struct pyusdt_string module, function, file;
};

static void names_set(struct names *names, PyObject *module, PyObject *function, PyObject *file)
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

static void names_close(struct names *names)
{
    for (int i = 0; i < 3; i++)
        pyusdt_text_source_close(&names->sources[i]);
}

static struct text text_copy(char **at, const struct pyusdt_string *string)
{
    struct text text = {*at, string->length};

    memcpy(*at, string->address, string->length);
    (*at)[string->length] = '\0';
    *at += string->length + 1;
    return text;
}

/* The place has its texts and its number from now on; 0 where there is no memory. */
static int texts_make(struct place *place, const struct names *names, int line)
{
    char *texts = malloc(names->function.length + names->file.length + 2), *at = texts;

    if (texts == NULL)
        return 0;
    place->function = text_copy(&at, &names->function);
    place->file = text_copy(&at, &names->file);
    place->number = pyusdt_place(names->module.address, names->function.address, names->file.address, (uint32_t)line);
    __atomic_store_n(&place->texts, texts, __ATOMIC_RELEASE);
    return 1;
}

/* Which sessions want a probe here; the flight recorder only beside a tracer. */
static uint64_t wanted_by_tracers(unsigned index, const struct names *names)
{
    uint64_t sessions = pyusdt_place_wanted(index, names->module.address, names->function.address);

    return (sessions & PYUSDT_VM_TRACERS) != 0 ? sessions : 0;
}

/* Asks which sessions want the probes [first, end) at this place. */
static void place_ask(struct place *place, const struct names *names, int line, unsigned first, unsigned end)
{
    uint32_t generation = pyusdt_places_generation(); /* before: what changes meanwhile is asked for again */
    uint64_t sessions[PYUSDT_VM_PLACE_PROBES] = {0}, any = 0;

    for (unsigned probe = first; probe < end; probe++)
        if (pyusdt_vm_index(probe) != 0) /* else this version can not have it */
            any |= sessions[probe] = wanted_by_tracers(pyusdt_vm_index(probe), names);
    if (any != 0 && place->texts == NULL && !texts_make(place, names, line))
        memset(sessions, 0, sizeof sessions);
    for (unsigned probe = first; probe < end; probe++)
        __atomic_store_n(&place->sessions[probe], sessions[probe], __ATOMIC_RELAXED);
    __atomic_store_n(&place->generation, generation, __ATOMIC_RELEASE);
}

static int is_current(const struct place *place)
{
    return __atomic_load_n(&place->generation, __ATOMIC_ACQUIRE) == pyusdt_places_generation();
}

/* ---- code objects ---- */

static struct place *place_of(PyCodeObject *code)
{
    void *place = NULL;

    if (PyUnstable_Code_GetExtra((PyObject *)code, extra, &place) < 0)
        PyErr_Clear();
    return place;
}

static struct place *place_add(PyCodeObject *code)
{
    struct place *place = calloc(1, sizeof *place);

    if (place == NULL || PyUnstable_Code_SetExtra((PyObject *)code, extra, place) == 0)
        return place;
    PyErr_Clear();
    free(place);
    return NULL;
}

static PyObject *qualified_name(const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030b0000
    return code->co_qualname;
#else
    return code->co_name;
#endif
}

/* __name__ of the module whose code the running frame is; borrowed, or NULL. */
static PyObject *running_module(void)
{
    PyObject *globals = PyEval_GetGlobals();

    return globals != NULL ? PyDict_GetItemString(globals, "__name__") : NULL;
}

__attribute__((noinline)) static void code_ask(struct place *place, PyCodeObject *code)
{
    struct names names;

    names_set(&names, running_module(), qualified_name(code), code->co_filename);
    place_ask(place, &names, code->co_firstlineno, 0, PYUSDT_VM_CODE_PROBES);
    names_close(&names);
}

uint64_t pyusdt_vm_wanted(enum pyusdt_pyvm_probe probe, PyCodeObject *code)
{
    struct place *place = place_of(code);

    if (place == NULL && (place = place_add(code)) == NULL)
        return 0;
    if (!is_current(place))
        code_ask(place, code);
    return __atomic_load_n(&place->sessions[probe], __ATOMIC_RELAXED);
}

/* ---- exceptions ---- */

/* Its instructions, as they were compiled; a new reference, or NULL with an exception. */
static PyObject *instructions(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030b0000
    return PyCode_GetCode(code);
#else
    Py_INCREF(code->co_code);
    return code->co_code;
#endif
}

/* Whether the instruction is `raise something`; a bare `raise` gives an old exception once more. */
static int raises(PyCodeObject *code, int offset)
{
    PyObject *bytes = instructions(code);
    int found = 0;

    if (bytes == NULL)
        PyErr_Clear();
    else if (offset >= 0 && offset + 1 < PyBytes_GET_SIZE(bytes))
        found = (unsigned char)PyBytes_AS_STRING(bytes)[offset] == RAISE_VARARGS && PyBytes_AS_STRING(bytes)[offset + 1] != 0;
    Py_XDECREF(bytes);
    return found;
}

int pyusdt_vm_is_new(PyObject *traceback, PyCodeObject *code, int offset)
{
    if (traceback == NULL || !PyTraceBack_Check(traceback))
        return 1;
    return ((PyTracebackObject *)traceback)->tb_next == NULL || raises(code, offset);
}

/* ---- events ---- */

static void set_text(struct pyusdt_firing *firing, unsigned arg, const struct text *text)
{
    pyusdt_firing_text(firing, arg, text->address, text->length);
}

static void set_number(struct pyusdt_firing *firing, unsigned arg, uint64_t value)
{
    firing->args.value[arg] = value;
    firing->args.length[arg] = 0;
}

/* The first instructions of an exception's handler belong to no line: then that of the next one. */
static uint64_t line_of(PyCodeObject *code, int offset)
{
    int line = -1;

    for (int end = offset + 16; line <= 0 && offset < end; offset += 2)
        line = PyCode_Addr2Line(code, offset);
    return line > 0 ? (uint64_t)line : 0;
}

/* Offers an event whose arguments from arg3 on are set already. */
static void offer(struct pyusdt_firing *firing, const struct place *place, uint64_t sessions)
{
    if (pyusdt_firing_wants_stack(firing))
        pyusdt_fire_with_stack(firing->probe, place->number, sessions, &firing->args);
    else
        pyusdt_fire_at(firing->probe, place->number, sessions, &firing->args);
}

/* 0: nobody wants it any more. */
static int begin(struct pyusdt_firing *firing, enum pyusdt_pyvm_probe probe, uint64_t sessions)
{
    firing->probe = pyusdt_vm_index(probe);
    firing->attached = 0;
    firing->demand = firing->reads = pyusdt_demand_at(firing->probe, sessions);
    firing->args.missing = ~firing->reads;
    firing->args.nframes = 0;
    pyusdt_firing_no_more(firing, 3);
    return firing->reads != 0;
}

/* The large frame, for the text. */
__attribute__((noinline)) static void fire_exception(struct pyusdt_firing *firing, const struct place *place,
                                                     const struct pyusdt_pyvm_event *event)
{
    PyObject *text = pyusdt_firing_reads(firing, 4) ? pyusdt_vm_exception_text(event->exception) : NULL;
    const char *type = Py_TYPE(event->exception)->tp_name;
    struct pyusdt_text_source source;
    struct pyusdt_string string;

    pyusdt_text_source_open(&source, text);
    pyusdt_string_set(&string, &source);
    pyusdt_firing_text(firing, 3, type, pyusdt_text_length(type, strlen(type)));
    pyusdt_firing_text(firing, 4, string.address != NULL ? string.address : "", string.length);
    offer(firing, place, event->sessions);
    pyusdt_text_source_close(&source);
    Py_XDECREF(text);
}

void pyusdt_vm_fire_code(const struct pyusdt_pyvm_event *event)
{
    const struct place *place = place_of(event->code);
    struct pyusdt_firing firing;

    if (place == NULL || !begin(&firing, event->probe, event->sessions))
        return;
    set_text(&firing, 0, &place->file);
    set_text(&firing, 1, &place->function);
    if (event->line == 0 && pyusdt_firing_reads(&firing, 2))
        set_number(&firing, 2, line_of(event->code, event->offset));
    else
        set_number(&firing, 2, (uint64_t)event->line);
    if (event->exception != NULL) {
        fire_exception(&firing, place, event);
        return;
    }
    set_number(&firing, 3, event->how);
    offer(&firing, place, event->sessions);
}

/* ---- functions of C ---- */

static struct {
    const PyMethodDef *method;
    struct place *place;
} functions[FUNCTION_TABLE];

/* What it is in C; NULL: no function or method of C. */
static const PyMethodDef *method_of(PyObject *callable)
{
    if (PyCFunction_Check(callable))
        return ((PyCFunctionObject *)callable)->m_ml;
    if (Py_TYPE(callable) == &PyMethodDescr_Type)
        return ((PyMethodDescrObject *)callable)->d_method;
    return NULL;
}

__attribute__((noinline)) static void function_ask(struct place *place, PyObject *callable)
{
    PyObject *module, *function;
    struct names names;

    pyusdt_vm_function_names(callable, &module, &function);
    names_set(&names, module, function, NULL);
    place_ask(place, &names, 0, PYUSDT_VM_C_FUNCTION_ENTRY, PYUSDT_VM_PLACE_PROBES);
    names_close(&names);
    Py_XDECREF(module);
    Py_XDECREF(function);
}

/* Where a function of C is in the table, or is to be put.  NULL: the table has no room. */
static struct place **function_slot(const PyMethodDef *method)
{
    size_t at = ((uintptr_t)method >> 3) * 0x9e3779b97f4a7c15ull >> 52;

    for (int tries = 0; tries < 64; tries++, at = (at + 1) % FUNCTION_TABLE) {
        const PyMethodDef *there = NULL;
        if (__atomic_compare_exchange_n(&functions[at].method, &there, method, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
            there == method)
            return &functions[at].place;
    }
    return NULL;
}

static struct place *function_place(PyObject *callable, const PyMethodDef *method)
{
    struct place **slot = function_slot(method), *place, *there = NULL;

    if (slot == NULL)
        return NULL;
    place = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (place == NULL) {
        place = calloc(1, sizeof *place);
        if (place != NULL && !__atomic_compare_exchange_n(slot, &there, place, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            free(place);
            place = there;
        }
    }
    if (place != NULL && !is_current(place))
        function_ask(place, callable);
    return place;
}

/* Room in the table for none more: the event is offered without a place, which the core counts as a drop. */
static const struct place no_place;

void pyusdt_vm_fire_call(enum pyusdt_pyvm_probe probe, PyObject *callable, PyCodeObject *caller, int offset, uint64_t left)
{
    const PyMethodDef *method = method_of(callable);
    const struct place *place = method != NULL ? function_place(callable, method) : NULL;
    uint64_t sessions = place != NULL ? place->sessions[probe] : ~0ull;
    struct pyusdt_string file;
    struct pyusdt_text_source source;
    struct pyusdt_firing firing;

    if (method == NULL || sessions == 0 || !begin(&firing, probe, sessions))
        return;
    pyusdt_text_source_open(&source, caller->co_filename);
    pyusdt_string_set(&file, &source);
    pyusdt_firing_text(&firing, 0, file.address, file.length);
    set_text(&firing, 1, place != NULL ? &place->function : &no_place.function);
    set_number(&firing, 2, pyusdt_firing_reads(&firing, 2) ? line_of(caller, offset) : 0);
    set_number(&firing, 3, left);
    offer(&firing, place != NULL ? place : &no_place, sessions);
    pyusdt_text_source_close(&source);
}
