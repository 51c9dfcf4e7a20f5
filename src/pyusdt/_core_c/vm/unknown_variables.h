/*
 * Variables that a session's paths name and that the functions which it traces do not have.
 *
 * - A path belongs to the functions that its clauses' descriptions match.
 * - If a description names one function, the first function without the variable is reported at
 *   once. If it is a pattern, other functions may have the variable: then the text is a hint for a
 *   tracer that sees no event.
 */
#ifndef PYUSDT_CORE_UNKNOWN_VARIABLES_H
#define PYUSDT_CORE_UNKNOWN_VARIABLES_H

#include <Python.h>

#include <stdint.h>

#define PYUSDT_UNKNOWN_VARIABLE_TEXT 400u

#pragma GCC visibility push(hidden)

/* Of a session's paths, as bits. */
struct pyusdt_variables_seen {
    uint32_t found, reported;
    char text[PYUSDT_UNKNOWN_VARIABLE_TEXT]; /* of the first that was reported; "": none */
};

struct pyusdt_traced_function {
    const char *module, *name;
    int is_named; /* by a description, without a pattern */
};

/* Notes whether code has the variable of path `number`. Returns the text of a variable that it does
 * not have and that is to be reported, or NULL. */
const char *pyusdt_variables_note(struct pyusdt_variables_seen *seen, unsigned number,
                                  PyObject *name, PyCodeObject *code,
                                  const struct pyusdt_traced_function *function);

#pragma GCC visibility pop

#endif
