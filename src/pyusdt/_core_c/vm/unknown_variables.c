/* See unknown_variables.h. */
#define PY_SSIZE_T_CLEAN
#include "_core_c/vm/unknown_variables.h"

#include <stdio.h>
#include <string.h>

#include "_core_c/vm/frame_reads.h"
#include "pyusdt.h"

#if PYUSDT_READS_OBJECTS

#define LISTED_MAX 12
#define SHOWN_MAX 40u /* bytes of a name that are shown */

struct search {
    PyObject *name;
    char wanted[SHOWN_MAX + 1], near[SHOWN_MAX + 1];
    char *text;
    size_t size, used;
    int count, found;
};

/* As UTF-8, without making a cache in the text: only names of ASCII. */
static int copy_name(PyObject *name, char *out)
{
    Py_ssize_t length;

    if (!PyUnicode_CheckExact(name) || !PyUnicode_IS_COMPACT_ASCII(name))
        return 0;
    length = PyUnicode_GET_LENGTH(name);
    if (length > (Py_ssize_t)SHOWN_MAX)
        return 0;
    memcpy(out, PyUnicode_DATA(name), (size_t)length);
    out[length] = '\0';
    return length != 0 && out[0] != '.'; /* .0 is a comprehension's argument */
}

static int look_at_name(void *arg, PyObject *name)
{
    struct search *search = arg;
    char shown[SHOWN_MAX + 1];

    if (pyusdt_is_same_text(name, search->name)) {
        search->found = 1;
        return 0;
    }
    if (!copy_name(name, shown))
        return 1;
    if (search->near[0] == '\0' && pyusdt_is_near_name(search->wanted, shown))
        memcpy(search->near, shown, sizeof shown);
    if (search->count < LISTED_MAX && search->used + strlen(shown) + 3 < search->size)
        search->used += (size_t)snprintf(search->text + search->used, search->size - search->used,
                                         "%s%s", search->count == 0 ? "" : ", ", shown);
    else if (search->count == LISTED_MAX && search->used + 6 < search->size)
        search->used +=
            (size_t)snprintf(search->text + search->used, search->size - search->used, ", …");
    search->count++;
    return 1;
}

const char *pyusdt_variables_note(struct pyusdt_variables_seen *seen, unsigned number,
                                  PyObject *name, PyCodeObject *code,
                                  const struct pyusdt_traced_function *function)
{
    char names[PYUSDT_UNKNOWN_VARIABLE_TEXT / 2] = "";
    struct search search = {.name = name, .text = names, .size = sizeof names};

    if ((seen->found | seen->reported) >> number & 1 || !copy_name(name, search.wanted))
        return NULL;
    pyusdt_visit_variable_names(code, look_at_name, &search);
    if (search.found) {
        seen->found |= 1u << number;
        return NULL;
    }
    seen->reported |= 1u << number;
    snprintf(seen->text, sizeof seen->text,
             function->is_named
                 ? "local.%s is absent: %.60s:%.80s has the variables %s%s%s%s"
                 : "has no local.%s in %.60s:%.80s, which has the variables %s%s%s%s",
             search.wanted, function->module, function->name, names[0] ? names : "(none)",
             search.near[0] ? ": is " : "", search.near, search.near[0] ? " meant?" : "");
    return seen->text;
}

#else

const char *pyusdt_variables_note(struct pyusdt_variables_seen *seen, unsigned number,
                                  PyObject *name, PyCodeObject *code,
                                  const struct pyusdt_traced_function *function)
{
    (void)seen, (void)number, (void)name, (void)code, (void)function;
    return NULL;
}

#endif
