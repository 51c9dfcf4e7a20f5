/*
 * Carries the provider python into other programs that this program starts (see python_provider.h).
 *
 * PYUSDT_VM_INTO, as pyusdt.vm.into writes it, and the folder of the sitecustomize that reads it
 * are put into the environment of a program that this process becomes (os.exec…), and of a Python
 * that it starts. If the provider does not follow, a hint explains that to the tracer.
 *
 * - os.environ, and the environment of any other program, stay unchanged.
 * - A failure changes nothing: the program starts as it would without pyusdt.
 *
 * The first word of PYUSDT_VM_INTO says for which processes it is meant:
 *   a process id   this process, and the program that it becomes
 *   0              also the Pythons whose end the parent waits for: subprocess.run() and call(), multiprocessing
 *   children       every Python that is started
 */
#define PY_SSIZE_T_CLEAN
#include "_core_c/vm/python_provider.h"

#include <fcntl.h>
#include <frameobject.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "_core_c/vm/function_patch.h"

#define ARGS_MAX 32 /* that a function here is called with; _posixsubprocess.fork_exec has 23 */
#define FRAMES_MAX \
    8 /* between fork_exec() and the function of the library's that the program has called */
#define HINTS_MAX 3
#define INTO "PYUSDT_VM_INTO="
#define BEFORE "PYUSDT_VM_PYTHONPATH="
#define PATH "PYTHONPATH="

static enum { SCOPE_NONE, SCOPE_PROCESS, SCOPE_WAITED_FOR, SCOPE_CHILDREN } scope;
static pid_t scope_pid; /* if scope is ITSELF */
static char *into;      /* INTO and its value */
static char *folder;

/* ---- which program ---- */

static int ends_like_python(const char *path)
{
    const char *name = strrchr(path, '/');

    return strncmp(name != NULL ? name + 1 : path, "python", 6) == 0;
}

/* Whether the first line of a file names a Python. */
static int is_script(const char *path)
{
    char line[256];
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return 0;
    n = read(fd, line, sizeof line - 1);
    close(fd);
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return strncmp(line, "#!", 2) == 0 && strstr(line, "python") != NULL;
}

static int is_python(PyObject *path)
{
    PyObject *bytes = NULL;
    int found = 0;

    if (PyUnicode_FSConverter(path, &bytes))
        found = access(PyBytes_AS_STRING(bytes), X_OK) == 0 &&
                (ends_like_python(PyBytes_AS_STRING(bytes)) || is_script(PyBytes_AS_STRING(bytes)));
    Py_XDECREF(bytes);
    PyErr_Clear();
    return found;
}

/* fork_exec's second argument: the paths that are tried, the first that is there. */
static int is_python_in(PyObject *paths)
{
    PyObject *list = PySequence_Check(paths) ? PySequence_List(paths) : NULL;
    int found = 0;

    for (Py_ssize_t i = 0; list != NULL && i < PyList_GET_SIZE(list); i++) {
        PyObject *path = PyList_GET_ITEM(list, i);
        if (!PyBytes_Check(path) || access(PyBytes_AS_STRING(path), X_OK) != 0)
            continue;
        found = is_python(path);
        break;
    }
    Py_XDECREF(list);
    PyErr_Clear();
    return found;
}

/* ---- which parent waits for it ---- */

/* The answer of a frame's function: 1 or 0; -1: ask the next frame. */
static int function_waits(const char *module, const char *function)
{
    if (strcmp(module, "subprocess") == 0)
        return strcmp(function, "run") == 0 || strcmp(function, "call") == 0 ? 1 : -1;
    if (strcmp(module, "multiprocessing.popen_spawn_posix") == 0 ||
        strcmp(module, "multiprocessing.forkserver") == 0)
        return 1;
    return strcmp(module, "multiprocessing.util") == 0 ? -1 : 0;
}

static int frame_waits(PyFrameObject *frame)
{
    PyObject *globals = PyObject_GetAttrString((PyObject *)frame, "f_globals");
    PyObject *module =
        globals != NULL && PyDict_Check(globals) ? PyDict_GetItemString(globals, "__name__") : NULL;
    PyCodeObject *code = PyFrame_GetCode(frame);
    const char *name = module != NULL && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    const char *function = PyUnicode_AsUTF8(code->co_name);
    int waits = name != NULL && function != NULL ? function_waits(name, function) : 0;

    PyErr_Clear();
    Py_DECREF(code);
    Py_XDECREF(globals);
    return waits;
}

/* Whether the library function that the program has called returns after the end of the process
 * that it starts, or waits for it at its own end. */
static int is_waited_for(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    int waits = -1;

    Py_XINCREF(frame);
    for (int i = 0; frame != NULL && waits < 0 && i < FRAMES_MAX; i++) {
        PyFrameObject *caller = PyFrame_GetBack(frame);
        waits = frame_waits(frame);
        Py_DECREF(frame);
        frame = caller;
    }
    Py_XDECREF(frame);
    return waits == 1;
}

/* ---- its environment ---- */

/* The requested variables; a list of bytes, NAME=VALUE each. */
static PyObject *read_mapping(PyObject *mapping)
{
    PyObject *items = PyMapping_Items(mapping), *entries = items != NULL ? PyList_New(0) : NULL;

    for (Py_ssize_t i = 0; entries != NULL && i < PyList_GET_SIZE(items); i++) {
        PyObject *name = NULL, *value = NULL, *entry = NULL;
        if (PyUnicode_FSConverter(PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 0), &name) &&
            PyUnicode_FSConverter(PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 1), &value))
            entry = PyBytes_FromFormat("%s=%s", PyBytes_AS_STRING(name), PyBytes_AS_STRING(value));
        if (entry == NULL || PyList_Append(entries, entry) < 0)
            Py_CLEAR(entries);
        Py_XDECREF(name);
        Py_XDECREF(value);
        Py_XDECREF(entry);
    }
    Py_XDECREF(items);
    return entries;
}

static PyObject *read_own_environment(void)
{
    extern char **environ;
    PyObject *entries = PyList_New(0);

    for (char **each = environ; entries != NULL && *each != NULL; each++) {
        PyObject *entry = PyBytes_FromString(*each);
        if (entry == NULL || PyList_Append(entries, entry) < 0)
            Py_CLEAR(entries);
        Py_XDECREF(entry);
    }
    return entries;
}

static PyObject *read_environment(PyObject *environment)
{
    if (environment == NULL || environment == Py_None)
        return read_own_environment();
    return PyList_Check(environment) ? PySequence_List(environment) : read_mapping(environment);
}

/* The entry's value if it has that name (with its =), or NULL. */
static const char *find_value(PyObject *entry, const char *name)
{
    size_t length = strlen(name);

    return PyBytes_Check(entry) && strncmp(PyBytes_AS_STRING(entry), name, length) == 0
               ? PyBytes_AS_STRING(entry) + length
               : NULL;
}

/* A path of folders without ours; new reference. NULL: it has no other, or there is no memory. */
static PyObject *remove_own_folder(const char *path)
{
    size_t length = strlen(folder);
    PyObject *left = strcmp(path, folder) != 0 ? PyBytes_FromString("") : NULL;
    int first = 1;

    for (const char *at = path, *end; left != NULL && at != NULL; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, ":");
        if ((size_t)(end - at) == length && strncmp(at, folder, length) == 0)
            continue;
        if (!first)
            PyBytes_ConcatAndDel(&left, PyBytes_FromString(":"));
        PyBytes_ConcatAndDel(&left, PyBytes_FromStringAndSize(at, end - at));
        first = 0;
    }
    return left;
}

static int append_entry(PyObject *entries, PyObject *entry)
{
    int r = entry != NULL ? PyList_Append(entries, entry) : -1;

    Py_XDECREF(entry);
    return r;
}

/* The entries with those that load the provider; new reference, or NULL with an exception. */
static PyObject *add_to_environment(PyObject *environment)
{
    PyObject *before = read_environment(environment),
             *entries = before != NULL ? PyList_New(0) : NULL, *path = NULL;
    int failed = entries == NULL;
    const char *others;

    for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(before); i++) {
        PyObject *entry = PyList_GET_ITEM(before, i);
        if (find_value(entry, PATH) != NULL)
            Py_XSETREF(path, remove_own_folder(find_value(entry, PATH)));
        else if (find_value(entry, INTO) == NULL && find_value(entry, BEFORE) == NULL)
            failed = PyList_Append(entries, entry) < 0;
    }
    others = path != NULL ? PyBytes_AS_STRING(path) : "";
    failed = failed ||
             append_entry(entries, PyBytes_FromFormat(PATH "%s%s%s", folder, *others ? ":" : "",
                                                      others)) < 0 ||
             (path != NULL && append_entry(entries, PyBytes_FromFormat(BEFORE "%s", others)) < 0) ||
             append_entry(entries, PyBytes_FromString(into)) < 0;
    if (failed)
        Py_CLEAR(entries);
    Py_XDECREF(before);
    Py_XDECREF(path);
    return entries;
}

/* The same as a dict; new reference, or NULL with an exception. */
static PyObject *make_environment(PyObject *environment)
{
    PyObject *entries = add_to_environment(environment),
             *dict = entries != NULL ? PyDict_New() : NULL;

    for (Py_ssize_t i = 0; dict != NULL && i < PyList_GET_SIZE(entries); i++) {
        const char *entry = PyBytes_AsString(PyList_GET_ITEM(entries, i)),
                   *equals = entry != NULL ? strchr(entry + (*entry == '='), '=') : NULL;
        PyObject *name, *value;
        if (equals == NULL)
            continue; /* not a variable */
        name = PyBytes_FromStringAndSize(entry, equals - entry);
        value = PyBytes_FromString(equals + 1);
        if (name == NULL || value == NULL || PyDict_SetItem(dict, name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(name);
        Py_XDECREF(value);
    }
    Py_XDECREF(entries);
    return dict;
}

/* ---- remarks for tracers ---- */

/* An option with which Python takes nothing from its environment; 0: none. */
static char find_isolating_option(PyObject *words)
{
    for (Py_ssize_t i = 1; i < PyList_GET_SIZE(words); i++) {
        PyObject *word = PyList_GET_ITEM(words, i);
        const char *letter = PyBytes_Check(word) ? PyBytes_AS_STRING(word) : "";
        if (letter[0] != '-' || letter[1] == '-' || letter[1] == '\0')
            return 0;
        for (letter++; *letter && strchr("cmWX", *letter) == NULL; letter++)
            if (strchr("IES", *letter) != NULL)
                return *letter;
        if (*letter)
            return 0;
    }
    return 0;
}

/* The command line, as much as a hint has room for. */
static void write_command(PyObject *words, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(words) && used + 1 < size; i++) {
        PyObject *word = PyList_GET_ITEM(words, i);
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "",
                                 PyBytes_Check(word) ? PyBytes_AS_STRING(word) : "?");
    }
}

/* argv as a list of bytes; new reference, or NULL. */
static PyObject *read_words(PyObject *argv)
{
    PyObject *given = PySequence_Check(argv) ? PySequence_List(argv) : NULL,
             *words = given != NULL ? PyList_New(0) : NULL;

    for (Py_ssize_t i = 0; words != NULL && i < PyList_GET_SIZE(given); i++) {
        PyObject *word = NULL;
        if (!PyUnicode_FSConverter(PyList_GET_ITEM(given, i), &word) ||
            PyList_Append(words, word) < 0)
            Py_CLEAR(words);
        Py_XDECREF(word);
    }
    Py_XDECREF(given);
    PyErr_Clear();
    return words;
}

/* The provider does not follow into the started program, or may not get there. */
static void set_hint(PyObject *argv, const char *what, int injected, int waited)
{
    static int hints;
    char text[PYUSDT_PLACE_FILE + 1], command[160], option;
    PyObject *words = hints < HINTS_MAX ? read_words(argv) : NULL;

    if (words == NULL)
        return;
    option = find_isolating_option(words);
    write_command(words, command, sizeof command);
    if (option != 0)
        snprintf(
            text, sizeof text,
            "has %s `%s`: with -%c Python takes nothing from its environment, so the provider python is not there",
            what, command, option);
    else if (!injected)
        snprintf(text, sizeof text,
                 "has %s `%s`, another process, into which the provider python was not brought: %s",
                 what, command,
                 scope == SCOPE_WAITED_FOR
                     ? "-x pychildren brings it into every Python that is started"
                 : waited ? "name python* in the place of python$target"
                          : "name python* in the place of python$target, with -x pychildren");
    if (option != 0 || !injected) {
        hints++;
        pyusdt_remark_set(PYUSDT_VM_HINT, "python", pyusdt_vm_code_names, text, PYUSDT_REMARK_HINT);
    }
    Py_DECREF(words);
}

/* ---- functions that start programs ---- */

/* One of these, called with another argument in the place of one of its own (stolen; NULL: as it
 * was called). */
static PyObject *call_with(PyObject *before, PyObject *const *args, Py_ssize_t n, PyObject *names,
                           int at, PyObject *other)
{
    PyObject *changed[ARGS_MAX], *result;
    Py_ssize_t all = n + (names != NULL ? PyTuple_GET_SIZE(names) : 0);

    PyErr_Clear(); /* names of failed parts */
    if (other == NULL || all > ARGS_MAX) {
        Py_XDECREF(other);
        return PyObject_Vectorcall(before, args, (size_t)n, names);
    }
    memcpy(changed, args, (size_t)all * sizeof *changed);
    changed[at] = other;
    result = PyObject_Vectorcall(before, changed, (size_t)n, names);
    Py_DECREF(other);
    return result;
}

static int is_injected_at_exec(void)
{
    return scope == SCOPE_WAITED_FOR || scope == SCOPE_CHILDREN ||
           (scope == SCOPE_PROCESS && scope_pid == getpid());
}

/* os.execve(path, argv, env) */
static PyObject *call_execve(PyObject *before, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    if (n != 3 || !is_injected_at_exec())
        return PyObject_Vectorcall(before, args, (size_t)n, names);
    if (is_python(args[0]))
        set_hint(args[1], "become", 1, 0);
    return call_with(before, args, n, names, 2, make_environment(args[2]));
}

static struct pyusdt_vm_patch execve_hook = {
    "os",     NULL,
    "execve", {"execve", PYUSDT_VM_FASTCALL(call_execve), METH_FASTCALL | METH_KEYWORDS, NULL},
    NULL,     NULL};

/* os.execv(path, argv): the same with our own environment */
static PyObject *call_execv(PyObject *before, PyObject *const *args, Py_ssize_t n)
{
    PyObject *environment = n == 2 && execve_hook.before != NULL && is_injected_at_exec()
                                ? make_environment(NULL)
                                : NULL,
             *result;

    PyErr_Clear();
    if (environment == NULL)
        return PyObject_Vectorcall(before, args, (size_t)n, NULL);
    if (is_python(args[0]))
        set_hint(args[1], "become", 1, 0);
    result = PyObject_CallFunctionObjArgs(execve_hook.before, args[0], args[1], environment, NULL);
    Py_DECREF(environment);
    return result;
}

/* Whether the provider follows into a Python that is started now; if not, a remark reports that. */
static int is_injected(PyObject *argv)
{
    int waited = is_waited_for(),
        injected = scope == SCOPE_CHILDREN || (scope == SCOPE_WAITED_FOR && waited);

    set_hint(argv, "started", injected, waited);
    return injected;
}

/* os.posix_spawn(path, argv, env, …), and posix_spawnp */
static PyObject *call_posix_spawn(PyObject *before, PyObject *const *args, Py_ssize_t n,
                                  PyObject *names)
{
    int injected = n == 3 && scope != SCOPE_NONE && is_python(args[0]) && is_injected(args[1]);

    return call_with(before, args, n, names, 2, injected ? make_environment(args[2]) : NULL);
}

/* _posixsubprocess.fork_exec(argv, paths, …, environment: the sixth, …) */
static PyObject *call_fork_exec(PyObject *before, PyObject *const *args, Py_ssize_t n)
{
    int injected = n > 5 && scope != SCOPE_NONE && is_python_in(args[1]) && is_injected(args[0]);

    return call_with(before, args, n, NULL, 5, injected ? add_to_environment(args[5]) : NULL);
}

static struct pyusdt_vm_patch hooks[] = {
    {"os",
     NULL,
     "execv",
     {"execv", PYUSDT_VM_FASTCALL(call_execv), METH_FASTCALL, NULL},
     NULL,
     NULL},
    {"os",
     NULL,
     "posix_spawn",
     {"posix_spawn", PYUSDT_VM_FASTCALL(call_posix_spawn), METH_FASTCALL | METH_KEYWORDS, NULL},
     NULL,
     NULL},
    {"os",
     NULL,
     "posix_spawnp",
     {"posix_spawnp", PYUSDT_VM_FASTCALL(call_posix_spawn), METH_FASTCALL | METH_KEYWORDS, NULL},
     NULL,
     NULL},
    {"_posixsubprocess",
     NULL,
     "fork_exec",
     {"fork_exec", PYUSDT_VM_FASTCALL(call_fork_exec), METH_FASTCALL, NULL},
     NULL,
     NULL},
};

/* 0 or -1 with an exception. */
static int set_text(char **text, const char *first, const char *second)
{
    size_t size = strlen(first) + strlen(second) + 1;

    free(*text);
    *text = malloc(size);
    if (*text == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    snprintf(*text, size, "%s%s", first, second);
    return 0;
}

PyObject *pyusdt_vm_inject_children(PyObject *Py_UNUSED(self), PyObject *args)
{
    const char *asked, *start;

    if (!PyArg_ParseTuple(args, "ss", &asked, &start) || set_text(&into, INTO, asked) < 0 ||
        set_text(&folder, start, "") < 0)
        return NULL;
    scope_pid = (pid_t)strtol(asked, NULL, 10);
    scope = strncmp(asked, "children", 8) == 0 ? SCOPE_CHILDREN
            : scope_pid == 0                   ? SCOPE_WAITED_FOR
                                               : SCOPE_PROCESS;
    Py_XDECREF(
        PyImport_ImportModule("_posixsubprocess")); /* before any other code has its function */
    PyErr_Clear();
    pyusdt_vm_patch_set(&execve_hook, 1);
    for (size_t i = 0; i < sizeof hooks / sizeof hooks[0]; i++)
        pyusdt_vm_patch_set(&hooks[i], 1);
    Py_RETURN_NONE;
}
