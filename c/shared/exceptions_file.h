/*
 * A file with the last exceptions of a Python process, <pid>-<starttime>-<instance>.exceptions in the
 * run directory. The process writes it, and a reader may come when it is dead.
 *
 * - struct pyusdt_exceptions is the first page. Behind it are PYUSDT_EXCEPTIONS slots of
 *   PYUSDT_EXCEPTION_SLOT bytes each, one for each distinct exception.
 * - Numbers are those of the machine that wrote it. Times are nanoseconds since 1970.
 * - A slot's `changes` is odd while it is written, and 0 if it was never used.
 * - src/pydtrace/remote_python/kept_exceptions.py reads it, and trusts nothing in it.
 */
#ifndef PYUSDT_SHARED_EXCEPTIONS_FILE_H
#define PYUSDT_SHARED_EXCEPTIONS_FILE_H

#include <stdatomic.h>
#include <stdint.h>

#define PYUSDT_EXCEPTIONS_MAGIC 0x3163786573757970ull /* "pyusexc1" */
#define PYUSDT_EXCEPTIONS_VERSION 1u
#define PYUSDT_EXCEPTIONS_ORDER 0x01020304u
#define PYUSDT_EXCEPTIONS_HEAD 4096u
#define PYUSDT_EXCEPTIONS 64u
#define PYUSDT_EXCEPTION_SLOT 16384u
#define PYUSDT_EXCEPTIONS_SIZE (PYUSDT_EXCEPTIONS_HEAD + PYUSDT_EXCEPTIONS * PYUSDT_EXCEPTION_SLOT)

struct pyusdt_exceptions {
    _Atomic uint64_t magic; /* stored last */
    uint32_t version;
    uint32_t order;  /* PYUSDT_EXCEPTIONS_ORDER, as its maker's machine writes it */
    uint32_t pid;    /* in its own pid namespace */
    uint32_t python; /* PY_VERSION_HEX */
    uint64_t starttime;
    uint64_t pidns;
    uint64_t begun;
    _Atomic uint64_t raised;   /* exceptions: the following two, and those of the slots */
    _Atomic uint64_t left_out; /* of them were not kept: too many came at once */
    _Atomic uint64_t replaced; /* of them were kept, and younger ones have taken their slots */
    char comm[16];
};

struct pyusdt_exception_slot {
    _Atomic uint32_t changes;
    uint32_t size;                /* bytes that are used */
    _Atomic uint64_t first, last; /* when it was raised */
    _Atomic uint64_t count;       /* how often */
    uint64_t written;             /* when it was raised with these values */
    uint32_t tid;
    uint32_t more_frames; /* outer ones that have no room here */
    uint32_t is_cut;      /* variables are missing */
    uint32_t unused;
    uint8_t bytes[PYUSDT_EXCEPTION_SLOT - 56]; /* items */
};

/* An item: this head, then `size` bytes of UTF-8. Frames are numbered from the innermost one. */
struct pyusdt_exception_item {
    uint8_t kind;
    uint8_t frame; /* of a frame's items; of a cause: an enum pyusdt_exception_cause */
    uint16_t size;
};

enum pyusdt_exception_kind {
    PYUSDT_EXCEPTION_TYPE = 1,
    PYUSDT_EXCEPTION_TEXT,
    PYUSDT_EXCEPTION_THREAD, /* its name */
    PYUSDT_EXCEPTION_TASK,   /* its name */
    PYUSDT_EXCEPTION_TAG,
    PYUSDT_EXCEPTION_FUNCTION, /* a line number in four bytes, then the function's name */
    PYUSDT_EXCEPTION_FILE,
    PYUSDT_EXCEPTION_NAME, /* of a variable, whose value follows */
    PYUSDT_EXCEPTION_VALUE,
    PYUSDT_EXCEPTION_CAUSE, /* type and text of the exception that it comes from */
};

enum pyusdt_exception_cause {
    PYUSDT_EXCEPTION_FROM = 1, /* __cause__ */
    PYUSDT_EXCEPTION_HANDLING, /* __context__ */
};

_Static_assert(sizeof(struct pyusdt_exceptions) <= PYUSDT_EXCEPTIONS_HEAD &&
                   sizeof(struct pyusdt_exception_slot) == PYUSDT_EXCEPTION_SLOT,
               "the reader knows these sizes");

#endif
