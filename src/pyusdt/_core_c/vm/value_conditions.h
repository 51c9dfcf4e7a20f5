/*
 * Conditions of a session on values: which events none of its clauses is interested in, so that they
 * are not written.
 *
 * - They come from a tracer and are untrusted: pyusdt_conditions_load() verifies them.
 * - A condition is a comparison with a constant. A clause has several, which all hold or not. An
 *   event is wanted if those of one clause hold, or if its probe has a clause without conditions.
 * - The tracer decides once more, so an event too many does no harm.
 */
#ifndef PYUSDT_CORE_VALUE_CONDITIONS_H
#define PYUSDT_CORE_VALUE_CONDITIONS_H

#include "_core_c/vm/fetch_program.h"

#include <stddef.h>
#include <stdint.h>

#define PYUSDT_CONDITIONS 16u
#define PYUSDT_CONDITION_TEXT 64u /* bytes of a constant */

enum pyusdt_condition_op {
    PYUSDT_CONDITION_EQUAL = 1, /* of numbers and texts, as the next */
    PYUSDT_CONDITION_UNEQUAL,
    PYUSDT_CONDITION_LESS, /* of numbers, as the others */
    PYUSDT_CONDITION_LESS_OR_EQUAL,
    PYUSDT_CONDITION_GREATER,
    PYUSDT_CONDITION_GREATER_OR_EQUAL,
};

enum pyusdt_condition_kind {
    PYUSDT_CONDITION_NUMBER,
    PYUSDT_CONDITION_IS_TEXT,
    PYUSDT_CONDITION_REAL,
};

#define PYUSDT_CONDITION_ARGUMENT 0x80 /* flag: an argument of the probe in the place of a path */

/* As a tracer sends them: pyusdt_fetch_head, whose `steps` says how many rows, and whose `most` has
 * the bits of the probes with conditions (enum pyusdt_pyvm_probe); the rows, sorted by clause; the
 * texts. */
struct pyusdt_condition_row {
    uint8_t clause, probes, subject, op; /* probes: bits; subject: which path, or argument */
    uint8_t kind, unused;                /* enum pyusdt_condition_kind */
    uint16_t text, text_length, unused_too[3];
    int64_t number; /* of REAL: the bits of a double */
};

struct pyusdt_conditions {
    uint32_t probes;
    unsigned n;
    struct pyusdt_condition_row row[PYUSDT_CONDITIONS];
    char text[PYUSDT_CONDITIONS][PYUSDT_CONDITION_TEXT];
};

/* What an event has. */
struct pyusdt_condition_subjects {
    void *from;
    /* The value of a path; *text: its bytes if it is a text. */
    const struct pyusdt_fetched *(*path)(void *from, unsigned number, const char **text);
    int64_t (*argument)(void *from, unsigned number);
};

#pragma GCC visibility push(hidden)

/* Whether bytes of a tracer's are conditions, well or badly formed. */
int pyusdt_conditions_are(const void *bytes, size_t size);

/* 0: they are no valid ones for a session with so many paths. */
int pyusdt_conditions_load(const void *bytes, size_t size, unsigned npaths,
                           struct pyusdt_conditions *conditions);

/* Whether an event of this probe (its bit) is wanted. */
int pyusdt_conditions_hold(const struct pyusdt_conditions *conditions, uint32_t probe,
                           const struct pyusdt_condition_subjects *subjects);

/* The same of a probe whose third argument is a line, as far as the line decides. */
int pyusdt_conditions_allow_line(const struct pyusdt_conditions *conditions, uint32_t probe,
                                 int64_t line);

/* Whether one of them is on the line. */
int pyusdt_conditions_have_line(const struct pyusdt_conditions *conditions, uint32_t probe);

#pragma GCC visibility pop

#endif
