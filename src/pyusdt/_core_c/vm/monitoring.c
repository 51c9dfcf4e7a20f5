/*
 * Events of code by sys.monitoring, from CPython 3.12 on (see python_provider.h).
 *
 * - Events are set for all code. A location that no session wants returns DISABLE and is not seen
 *   again until the patterns change.
 * - sys.monitoring.restart_events() would enable the locations of every tool. If there are other
 *   tools, only our own locations are enabled again (rearm_own).
 * - Events that cannot be disabled (unwinding, exceptions, calls) check the location each time.
 */
#include "_core_c/vm/python_provider.h"

#if PY_VERSION_HEX >= 0x030c0000

#include "_core_c/saved_exception.h"
#include "_core_c/vm/exception_recorder.h"

/* 0, 1, 2 and 5 are the debugger's, coverage's, the profiler's and the optimizer's. Tools that take
 * an id without checking begin at 3. */
static const int tools[] = {4, 3};
#define TOOL "pyusdt" /* our name there */

static PyObject *monitoring; /* the module sys.monitoring */
static PyObject *disable;    /* its DISABLE */
static int tool;             /* ours; 0: none */
static uint32_t now_wanted;  /* as last set */

void pyusdt_vm_code_set_thread(void)
{
}

/* ---- callbacks: (code, offset, …) ---- */

/* The ones without an exception. */
enum kind { START, RESUME, THROW, RETURN, YIELD, UNWIND, LINE };

static const struct pyusdt_pyvm_kind kinds[] = {
    [START] = {PYUSDT_VM_FUNCTION_ENTRY, PYUSDT_VM_CALL, PYUSDT_VM_LINE_FIRST},
    [RESUME] = {PYUSDT_VM_FUNCTION_ENTRY, PYUSDT_VM_RESUME, PYUSDT_VM_LINE_OF_OFFSET},
    [THROW] = {PYUSDT_VM_FUNCTION_ENTRY, PYUSDT_VM_THROW, PYUSDT_VM_LINE_OF_OFFSET},
    [RETURN] = {PYUSDT_VM_FUNCTION_RETURN, PYUSDT_VM_RETURNED, PYUSDT_VM_LINE_OF_OFFSET},
    [YIELD] = {PYUSDT_VM_FUNCTION_RETURN, PYUSDT_VM_YIELDED, PYUSDT_VM_LINE_OF_OFFSET},
    [UNWIND] = {PYUSDT_VM_FUNCTION_RETURN, PYUSDT_VM_UNWOUND, PYUSDT_VM_LINE_OF_OFFSET},
    [LINE] = {PYUSDT_VM_LINE, 0, PYUSDT_VM_LINE_GIVEN},
};

/* Events of exceptions cannot be disabled at a location. */
static inline PyObject *fire_event(PyObject *const *args, int kind)
{
    return pyusdt_vm_fire_monitored(&kinds[kind], args,
                                    kind == THROW || kind == UNWIND ? Py_None : disable);
}

/* Functions of Cython report their events with an exception set, too: the one that is thrown into a
 * generator, when it is resumed. A callback cannot succeed with an exception set, so ours fails
 * with this one, which continues from there as it would have. */
typedef PyObject *event_fn(PyObject *const *args, int which);

__attribute__((noinline, cold)) static PyObject *
call_back_with_exception(event_fn *fn, PyObject *const *args, int which)
{
    struct pyusdt_saved_exception saved;

    pyusdt_exception_save(&saved);
    Py_XDECREF(fn(args, which));
    pyusdt_exception_restore(&saved);
    return NULL;
}

static inline PyObject *call_back(event_fn *fn, PyObject *const *args, int which)
{
    return __builtin_expect(PyErr_Occurred() != NULL, 0) ? call_back_with_exception(fn, args, which)
                                                         : fn(args, which);
}

/* From 3.13 on the first line of a function fires only if it is not that of `def`, or if PY_START
 * (PY_RESUME) is on there, too. So these stay on where a line is wanted. */
#define LINE_NEEDS_START (PY_VERSION_HEX >= 0x030d0000)

/* The entry of the code if one of its lines is wanted, else NULL. */
static struct pyusdt_vm_place *find_line_place(PyObject *code)
{
    struct pyusdt_pyvm_event event = {.probe = PYUSDT_VM_LINE, .code = (PyCodeObject *)code};

    return (now_wanted & PYUSDT_VM_BIT(PYUSDT_VM_LINE)) != 0 && pyusdt_vm_is_wanted_at(&event)
               ? event.place
               : NULL;
}

/* An attribute of sys.monitoring.events. -1 with an exception. */
static long event_bit(const char *name)
{
    PyObject *names = PyObject_GetAttrString(monitoring, "events");
    PyObject *bit = names != NULL ? PyObject_GetAttrString(names, name) : NULL;
    long value = bit != NULL ? PyLong_AsLong(bit) : -1;

    Py_XDECREF(names);
    Py_XDECREF(bit);
    return value;
}

/* CPython makes a code object's table of lines anew when a second tool sets LINE there, and enables
 * again what the first tool has disabled. So if there are other tools, LINE is set only for wanted
 * code objects, when they are first entered. */
static int has_other_tools;

static int set_local(PyCodeObject *code, long set);

static void set_lines(struct pyusdt_vm_place *place, PyCodeObject *code, int on)
{
    long line = on ? event_bit("LINE") : 0;

    if (line < 0 || set_local(code, line) < 0)
        PyErr_Clear();
    place->has_lines = (char)on;
}

static PyObject *fire_entry(PyObject *const *args, int kind)
{
    struct pyusdt_vm_place *place = find_line_place(args[0]);

    if (place != NULL && has_other_tools && !place->has_lines)
        set_lines(place, (PyCodeObject *)args[0], 1);
    return place != NULL && LINE_NEEDS_START ? pyusdt_vm_fire_monitored(&kinds[kind], args, Py_None)
                                             : fire_event(args, kind);
}

static PyObject *on_start(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(n),
                          PyObject *Py_UNUSED(names))
{
    return call_back(fire_entry, args, START);
}

static PyObject *on_resume(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(n),
                           PyObject *Py_UNUSED(names))
{
    return call_back(fire_entry, args, RESUME);
}

static PyObject *on_throw(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(n),
                          PyObject *Py_UNUSED(names))
{
    return call_back(fire_event, args, THROW);
}

static PyObject *on_return(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(n),
                           PyObject *Py_UNUSED(names))
{
    return call_back(fire_event, args, RETURN);
}

static PyObject *on_yield(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(n),
                          PyObject *Py_UNUSED(names))
{
    return call_back(fire_event, args, YIELD);
}

static PyObject *on_unwind(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(n),
                           PyObject *Py_UNUSED(names))
{
    return call_back(fire_event, args, UNWIND);
}

static PyObject *on_line(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(n),
                         PyObject *Py_UNUSED(names))
{
    return call_back(fire_event, args, LINE);
}

static PyObject *exception_event(PyObject *const *args, int probe)
{
    struct pyusdt_pyvm_event event = {.probe = (enum pyusdt_pyvm_probe)probe,
                                      .code = (PyCodeObject *)args[0],
                                      .exception = args[2]};

    if (!pyusdt_vm_is_wanted_at(&event))
        Py_RETURN_NONE;
    event.offset = pyusdt_vm_read_offset(args[1]);
    if (probe == PYUSDT_VM_EXCEPTION_HANDLED ||
        pyusdt_vm_is_raised_here(((PyBaseExceptionObject *)event.exception)->traceback, event.code,
                                 event.offset))
        pyusdt_vm_fire_code(&event);
    Py_RETURN_NONE;
}

static PyObject *raise_event(PyObject *const *args, int probe)
{
    if ((now_wanted & PYUSDT_VM_KEEPS_EXCEPTIONS) != 0 &&
        pyusdt_vm_is_new_exception(((PyBaseExceptionObject *)args[2])->traceback))
        pyusdt_exceptions_keep(args[2], (PyCodeObject *)args[0], pyusdt_vm_read_offset(args[1]));
    if ((now_wanted & PYUSDT_VM_BIT(probe)) == 0)
        Py_RETURN_NONE;
    return exception_event(args, probe);
}

static PyObject *on_raise(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(n),
                          PyObject *Py_UNUSED(names))
{
    return call_back(raise_event, args, PYUSDT_VM_EXCEPTION_RAISE);
}

static PyObject *on_handled(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(n),
                            PyObject *Py_UNUSED(names))
{
    return call_back(exception_event, args, PYUSDT_VM_EXCEPTION_HANDLED);
}

enum call_end { CALLED, RETURNED, RAISED };

/* (code, offset, callable, first argument). What is called here may be another function next
 * time: never DISABLE. */
static PyObject *call_event(PyObject *const *args, int which)
{
    enum pyusdt_pyvm_probe probe =
        which == CALLED ? PYUSDT_VM_C_FUNCTION_ENTRY : PYUSDT_VM_C_FUNCTION_RETURN;

    if (now_wanted &
        PYUSDT_VM_BIT(
            probe)) /* CALL is on, since the events of its end come only together with it */
        pyusdt_vm_fire_call(probe, args[2], (PyCodeObject *)args[0], pyusdt_vm_read_offset(args[1]),
                            which == RAISED ? PYUSDT_VM_UNWOUND : PYUSDT_VM_RETURNED);
    Py_RETURN_NONE;
}

static PyObject *on_call(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(n),
                         PyObject *Py_UNUSED(names))
{
    return call_back(call_event, args, CALLED);
}

static PyObject *on_c_return(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(n),
                             PyObject *Py_UNUSED(names))
{
    return call_back(call_event, args, RETURNED);
}

static PyObject *on_c_raise(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(n),
                            PyObject *Py_UNUSED(names))
{
    return call_back(call_event, args, RAISED);
}

/* ---- which events ---- */

static const struct {
    const char *name;
    uint32_t probes; /* that need it */
    vectorcallfunc function;
    int with_call; /* it is no event that can be set: it comes with CALL */
} events[] = {
    {"PY_START", PYUSDT_VM_BIT(PYUSDT_VM_FUNCTION_ENTRY), on_start, 0},
    {"PY_RESUME", PYUSDT_VM_BIT(PYUSDT_VM_FUNCTION_ENTRY), on_resume, 0},
    {"PY_THROW", PYUSDT_VM_BIT(PYUSDT_VM_FUNCTION_ENTRY), on_throw, 0},
    {"PY_RETURN", PYUSDT_VM_BIT(PYUSDT_VM_FUNCTION_RETURN), on_return, 0},
    {"PY_YIELD", PYUSDT_VM_BIT(PYUSDT_VM_FUNCTION_RETURN), on_yield, 0},
    {"PY_UNWIND", PYUSDT_VM_BIT(PYUSDT_VM_FUNCTION_RETURN), on_unwind, 0},
    {"LINE", PYUSDT_VM_BIT(PYUSDT_VM_LINE), on_line, 0},
    {"RAISE", PYUSDT_VM_BIT(PYUSDT_VM_EXCEPTION_RAISE) | PYUSDT_VM_KEEPS_EXCEPTIONS, on_raise, 0},
    {"EXCEPTION_HANDLED", PYUSDT_VM_BIT(PYUSDT_VM_EXCEPTION_HANDLED), on_handled, 0},
    {"CALL", PYUSDT_VM_C_FUNCTIONS, on_call, 0},
    {"C_RETURN", PYUSDT_VM_BIT(PYUSDT_VM_C_FUNCTION_RETURN), on_c_return, 1},
    {"C_RAISE", PYUSDT_VM_BIT(PYUSDT_VM_C_FUNCTION_RETURN), on_c_raise, 1},
};

enum { EVENTS = sizeof events / sizeof events[0] };

/* What the interpreter calls: an object that is only its function, so that a call goes directly to
 * it. (A builtin function counts the depth of recursion, which takes a tenth of an event.) */
struct callback {
    PyObject_HEAD vectorcallfunc function;
};

static void callback_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    type->tp_free(self);
    Py_DECREF(type);
}

static PyTypeObject *callback_type(void)
{
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(struct callback, function), Py_READONLY,
         NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_call, PyVectorcall_Call},
        {Py_tp_dealloc, callback_dealloc},
        {Py_tp_members, members},
        {0, NULL},
    };
    static PyType_Spec spec = {
        .name = "pyusdt._core._Callback",
        .basicsize = sizeof(struct callback),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                 Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
        .slots = slots,
    };
    static PyTypeObject *type; /* the main interpreter's, as all of this is */

    if (type == NULL)
        type = (PyTypeObject *)PyType_FromSpec(&spec);
    return type;
}

/* A new reference, or NULL with an exception. */
static PyObject *callback_new(vectorcallfunc function)
{
    PyTypeObject *type = callback_type();
    struct callback *made = type != NULL ? (struct callback *)type->tp_alloc(type, 0) : NULL;

    if (made != NULL)
        made->function = function;
    return (PyObject *)made;
}

/* A call of sys.monitoring without use of its result. 0 or -1 with an exception. */
static int succeeded(PyObject *result)
{
    Py_XDECREF(result);
    return result != NULL ? 0 : -1;
}

/* Whether an event is needed. */
static int is_needed(int i, uint32_t wanted)
{
    int enters = events[i].function == on_start || events[i].function == on_resume;
    uint32_t probes =
        events[i].probes |
        (enters && (LINE_NEEDS_START || has_other_tools) ? PYUSDT_VM_BIT(PYUSDT_VM_LINE) : 0);

    return (probes & wanted) != 0;
}

/* The callback of an event if its probe is wanted, else None. */
static int register_callback(int i, uint32_t wanted)
{
    long bit = event_bit(events[i].name);
    PyObject *function = bit < 0                ? NULL
                         : is_needed(i, wanted) ? callback_new(events[i].function)
                                                : Py_NewRef(Py_None);

    return function != NULL ? succeeded(PyObject_CallMethod(monitoring, "register_callback", "ilN",
                                                            tool, bit, function))
                            : -1;
}

/* The set of events for all code. -1 with an exception. */
static long event_set(uint32_t wanted)
{
    long set = 0;

    for (int i = 0; i < EVENTS; i++) {
        int is_local = has_other_tools && events[i].function == on_line;
        long bit = is_needed(i, wanted) && !events[i].with_call && !is_local
                       ? event_bit(events[i].name)
                       : 0;
        if (bit < 0)
            return -1;
        set |= bit;
    }
    return set;
}

/* ---- the tool ---- */

static int load_module(void)
{
    if (monitoring == NULL)
        monitoring = Py_XNewRef(PySys_GetObject("monitoring"));
    if (monitoring != NULL && disable == NULL)
        disable = PyObject_GetAttrString(monitoring, "DISABLE");
    return disable != NULL;
}

/* Whether the id is still ours: the program may have freed it, and another tool may have taken it.
 */
static int has_tool(void)
{
    PyObject *name = tool != 0 ? PyObject_CallMethod(monitoring, "get_tool", "i", tool) : NULL;
    int ours =
        name != NULL && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, TOOL) == 0;

    Py_XDECREF(name);
    PyErr_Clear();
    return ours;
}

/* 0: others have both. */
static int acquire_tool(void)
{
    for (int i = 0; tool == 0 && i < 2; i++)
        if (succeeded(PyObject_CallMethod(monitoring, "use_tool_id", "is", tools[i], TOOL)) == 0)
            tool = tools[i];
        else
            PyErr_Clear();
    return tool != 0;
}

static int set_events(uint32_t wanted)
{
    long set = event_set(wanted);

    if (set < 0)
        return -1;
    for (int i = 0; i < EVENTS; i++)
        if (register_callback(i, wanted) < 0)
            return -1;
    return succeeded(PyObject_CallMethod(monitoring, "set_events", "il", tool, set));
}

/* Whether another tool has an id, and perhaps locations that it has disabled. (Ids above 5 are the
 * interpreter's own.) Without the GIL code may be freed while our table is read, so then the
 * locations of all tools are enabled again. */
static int finds_other_tools(void)
{
#ifdef Py_GIL_DISABLED
    return 0;
#endif
    int found = 0;

    for (int id = 0; id < 6 && !found; id++) {
        PyObject *name = id != tool ? PyObject_CallMethod(monitoring, "get_tool", "i", id) : NULL;
        found = name != NULL && name != Py_None;
        Py_XDECREF(name);
    }
    PyErr_Clear();
    return found;
}

/* Events of one code object: setting them makes the interpreter instrument its instructions again,
 * immediately, for all tools. */
static int set_local(PyCodeObject *code, long set)
{
    return succeeded(
        PyObject_CallMethod(monitoring, "set_local_events", "iOl", tool, (PyObject *)code, set));
}

/* While none of our events is set for all code: an unused event is set and removed. The code then
 * has none of our events any more, so disabled locations are enabled when they are set again. */
static void disarm_code(void *other, PyCodeObject *code, struct pyusdt_vm_place *place)
{
    long lines =
        place->has_lines ? event_bit("LINE") : 0; /* which stay: none of them is disabled */

    Py_INCREF(code);
    if (pyusdt_vm_is_code_wanted(place, code, ~0u) &&
        (lines < 0 || set_local(code, lines | *(long *)other) < 0 || set_local(code, lines) < 0))
        PyErr_Clear();
    Py_DECREF(code);
}

/* Sets LINE if it is wanted; of = NULL: nowhere. */
static void update_lines(void *of, PyCodeObject *code, struct pyusdt_vm_place *place)
{
    int on = of != NULL && pyusdt_vm_is_code_wanted(place, code, PYUSDT_VM_BIT(PYUSDT_VM_LINE));

    Py_INCREF(code);
    if (on != place->has_lines)
        set_lines(place, code, on);
    Py_DECREF(code);
}

/* Running code gets its locations now, because it may not be entered again: an endless loop. */
static void add_running_code(void)
{
    PyThreadState *thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());

    for (; thread != NULL; thread = PyThreadState_Next(thread)) {
        PyFrameObject *frame = PyThreadState_GetFrame(thread);
        while (frame != NULL) {
            PyCodeObject *code = PyFrame_GetCode(frame);
            PyObject *globals = PyFrame_GetGlobals(frame),
                     *name = PyDict_GetItemString(globals, "__name__");
            struct pyusdt_vm_place *place = pyusdt_vm_code_place(code);
            PyFrameObject *caller = PyFrame_GetBack(frame);
            if (place != NULL)
                pyusdt_vm_place_set_module(place, name);
            Py_DECREF(globals);
            Py_DECREF(code);
            Py_DECREF(frame);
            frame = caller;
        }
    }
    PyErr_Clear();
}

/* Enables our locations in code that a session wants now; others stay as they are. */
static int rearm_own(uint32_t wanted)
{
    long other = event_bit("JUMP");

    if (other < 0 || succeeded(PyObject_CallMethod(monitoring, "set_events", "ii", tool, 0)) < 0)
        return -1;
    add_running_code();
    pyusdt_vm_code_each(disarm_code, &other);
    if (set_events(wanted) < 0)
        return -1;
    pyusdt_vm_code_each(update_lines, &other);
    return 0;
}

static int rearm_events(uint32_t wanted)
{
    return has_other_tools ? rearm_own(wanted)
                           : succeeded(PyObject_CallMethod(monitoring, "restart_events", NULL));
}

/* Other tools have come or gone. */
static int other_tools_changed(void)
{
    int before = has_other_tools;

    has_other_tools = finds_other_tools();
    if (before && !has_other_tools)
        pyusdt_vm_code_each(update_lines, NULL);
    return has_other_tools != before;
}

static void release_tool(void)
{
    if (tool != 0 && has_other_tools)
        pyusdt_vm_code_each(update_lines, NULL);
    if (tool != 0 && (set_events(0) < 0 ||
                      succeeded(PyObject_CallMethod(monitoring, "free_tool_id", "i", tool)) < 0))
        PyErr_Clear();
    tool = 0;
}

/* Returns why there are no events, or NULL. */
static const char *set_monitoring(uint32_t wanted, int refresh)
{
    uint32_t before = now_wanted;

    now_wanted = wanted;
    if (!has_tool())
        before = tool = 0;
    if (wanted == 0) {
        release_tool();
        return NULL;
    }
    if (!load_module() || !acquire_tool()) {
        PyErr_Clear();
        return "sys.monitoring's tool ids 3 and 4 are taken by other tools: there are no events of functions, lines and exceptions";
    }
    if (((other_tools_changed() || wanted != before) && set_events(wanted) < 0) ||
        (refresh && rearm_events(wanted) < 0)) {
        PyErr_Clear();
        release_tool();
        return "sys.monitoring refused: there are no events of functions, lines and exceptions";
    }
    return NULL;
}

void pyusdt_vm_code_set(uint32_t wanted, int refresh)
{
    pyusdt_vm_set_reason(PYUSDT_VM_REASON_CODE, PYUSDT_VM_BIT(PYUSDT_VM_PLACE_PROBES) - 1,
                         set_monitoring(wanted, refresh));
}

int pyusdt_vm_code_must_check(void)
{
    return 0;
}

void pyusdt_vm_code_end(void)
{
}

#else
typedef int pyusdt_vm_no_monitor; /* a file has to have something in it */
#endif
