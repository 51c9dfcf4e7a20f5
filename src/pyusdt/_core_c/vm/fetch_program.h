/*
 * A path to a value (`local.cart.items[0].price`) as a small program, which reads the value in the
 * callback of an event, in a thread that runs Python code.
 *
 * - A program comes from a tracer and is untrusted: pyusdt_fetch_load() verifies it, and only what
 *   it makes is run.
 * - Reading runs no code of the traced program (object_reads.h).
 * - A value that a path does not lead to is absent, which is another thing than 0 or "".
 *
 * - Without the GIL a value that another thread just changes is absent, and busy (object_locks.h).
 *
 * CPython 3.10 to 3.15, and from 3.13 on without the GIL. Others have pyusdt_fetch_is_supported() 0.
 */
#ifndef PYUSDT_CORE_FETCH_PROGRAM_H
#define PYUSDT_CORE_FETCH_PROGRAM_H

#include <Python.h>

#include <stdint.h>

#define PYUSDT_FETCH_STEPS 8    /* behind the root */
#define PYUSDT_FETCH_NAME 255u  /* bytes of a name */
#define PYUSDT_FETCH_TEXT 4096u /* bytes of a text at most */
#define PYUSDT_FETCH_REPR_LEAST 16u

enum pyusdt_fetch_root {
    PYUSDT_FETCH_LOCAL = 1, /* a variable of the frame, by name */
    PYUSDT_FETCH_GLOBAL,    /* a name of its module */
    PYUSDT_FETCH_GIVEN,     /* what the function returns */
    PYUSDT_FETCH_NO_ROOT,   /* conditions (value_conditions.h) */
    PYUSDT_FETCH_LOCALS,    /* all variables of the frame, as a text */
    PYUSDT_FETCH_EXCEPTION, /* the exception of the event */
    PYUSDT_FETCH_RATE,      /* no program: `most` is how many bytes of values a second */
    PYUSDT_FETCH_OF_ERLANG, /* conditions for Erlang nodes (erlang_nif/src/pyusdt_vm_conditions.erl) */
};

enum pyusdt_fetch_op {
    PYUSDT_FETCH_ATTRIBUTE = 1, /* name */
    PYUSDT_FETCH_INDEX, /* number: of a list, a tuple, from the end if negative; a key of a dict */
    PYUSDT_FETCH_KEY,   /* name: a text that is a key of a dict */
};

enum pyusdt_fetch_result {
    PYUSDT_FETCH_INT = 1,
    PYUSDT_FETCH_DOUBLE,
    PYUSDT_FETCH_STRING,
    PYUSDT_FETCH_PRESENT,
    PYUSDT_FETCH_TYPENAME,
    PYUSDT_FETCH_LENGTH,
    PYUSDT_FETCH_REPR, /* value_text.h */
    PYUSDT_FETCH_REPR_WITH_SECRETS,
};

/* As a tracer sends it, in the machine's byte order: this head, `steps` steps, then the names. A
 * name's offset is from the beginning of the names; its bytes are UTF-8 without a NUL. */
struct pyusdt_fetch_head {
    uint32_t size; /* of all of it */
    uint8_t version, root, steps, result;
    uint16_t name, name_length; /* of a root that has one */
    uint32_t most;              /* bytes of a text; 0: PYUSDT_FETCH_TEXT */
};

struct pyusdt_fetch_step {
    uint8_t op;
    uint8_t unused[3];
    uint16_t name, name_length;
    int64_t number;
};

#define PYUSDT_FETCH_VERSION 1

/* Verified, with its names as interned texts. */
struct pyusdt_fetch_program;

/* What a program has read. */
struct pyusdt_fetched {
    uint8_t present;
    uint8_t busy; /* it, or something in a text, is absent for this reason */
    uint8_t
        truncated; /* the text is longer, or the int has more than 64 bits: `number` is the nearest */
    uint32_t length; /* of the text, which is in the caller's buffer */
    int64_t number;  /* of PYUSDT_FETCH_DOUBLE: the bits of `real` */
    double real;
};

#pragma GCC visibility push(hidden)

int pyusdt_fetch_is_supported(void);

/* NULL: it is none, or the program has redacted a name in it (*wrong says why, a static text), or there is no
 * memory. With the GIL. */
struct pyusdt_fetch_program *pyusdt_fetch_load(const void *bytes, size_t size, const char **wrong);
void pyusdt_fetch_free(struct pyusdt_fetch_program *program);

/* The bytes of text that a caller's buffer needs; 0 unless the result is a text. */
uint32_t pyusdt_fetch_text_size(const struct pyusdt_fetch_program *program);

/* Whether what is given to it is an exception. */
int pyusdt_fetch_is_of_exception(const struct pyusdt_fetch_program *program);

/* The variable of a frame that it reads; borrowed, or NULL. */
PyObject *pyusdt_fetch_variable(const struct pyusdt_fetch_program *program);

/* In the frame that runs. given: the object that the event is about, or NULL; text: a buffer of
 * pyusdt_fetch_text_size() bytes. With the GIL; leaves exceptions as they are. */
void pyusdt_fetch_run(const struct pyusdt_fetch_program *program, PyObject *given, char *text,
                      struct pyusdt_fetched *out);

#pragma GCC visibility pop

#endif
