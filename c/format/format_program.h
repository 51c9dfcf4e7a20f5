/* A formatter's table (formatter.h), loaded and checked. */
#ifndef PYUSDT_FORMAT_FORMAT_PROGRAM_H
#define PYUSDT_FORMAT_FORMAT_PROGRAM_H

#include "format/formatter.h"

enum {
    PYUSDT_MAX_WIDTH = 0xffffff
}; /* of a width or precision; program/printf_format.py has both */
enum { PYUSDT_MAX_STAR = 0xffff }; /* of one that an argument gives */

/* How a part of a printf() is printed without a layout: one that says nothing but which value it is. */
enum pyusdt_format_quick {
    PYUSDT_QUICK_NO, /* it has one */
    PYUSDT_QUICK_LITERAL,
    PYUSDT_QUICK_SIGNED,
    PYUSDT_QUICK_UNSIGNED,
    PYUSDT_QUICK_STRING,
};

struct pyusdt_format_table {
    struct pyusdt_format_head head;
    void *memory; /* a copy of the table, which the others point into */
    const struct pyusdt_format_clause *clauses;
    const struct pyusdt_format_action *actions;
    const struct pyusdt_format_part *parts;
    const char *literals;
    uint8_t *quick; /* of each part: enum pyusdt_format_quick */
    uint8_t *
        at_once; /* of each clause: 1: its records need nobody but the formatter, and their text is short */
};

/* After 0 every offset in the table is good: into the table itself, or into any record that is at least as
 * long as its clause says. */
int pyusdt_format_table_load(struct pyusdt_format_table *t, const void *data, size_t size,
                             struct pyusdt_error *err);
void pyusdt_format_table_free(struct pyusdt_format_table *t);

#endif
