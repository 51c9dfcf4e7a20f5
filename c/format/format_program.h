/* A formatter's table (formatter.h), loaded and checked. */
#ifndef PYUSDT_FORMAT_FORMAT_PROGRAM_H
#define PYUSDT_FORMAT_FORMAT_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "shared/error.h"

/* The bytes of a table: host byte order, the parts one after the other without gaps. */

#define PYUSDT_TABLE_MAGIC 0x31464450u /* "PDF1" */
#define PYUSDT_TABLE_NONE 0xffffffffu  /* no star */

struct pyusdt_format_head {
    uint32_t magic, size; /* size: bytes of the whole table */
    uint32_t clauses, actions, parts,
        literals;     /* numbers of what follows; literals: bytes of text */
    uint32_t strsize; /* the option: what a dump of a string shows */
    uint32_t zero;
};

struct pyusdt_format_clause {
    uint32_t record_size; /* 0: the clause emits no records */
    uint32_t first_action, actions;
};

enum {
    PYUSDT_ACTION_CALLER, /* returned to the caller */
    PYUSDT_ACTION_TRACE,  /* one part, in the default layout */
    PYUSDT_ACTION_PRINTF, /* its parts one after the other */
};

struct pyusdt_format_action {
    uint32_t kind;
    uint32_t first_part, parts;
};

/* Kinds of parts; program/printf_format.py has the same numbers. */
enum {
    PYUSDT_PART_LITERAL, /* offset, size: in the literals */
    PYUSDT_PART_SIGNED,
    PYUSDT_PART_UNSIGNED,
    PYUSDT_PART_BY_TYPE, /* never in a table: formatter_table.py knows the type */
    PYUSDT_PART_CHAR,
    PYUSDT_PART_STRING,
    PYUSDT_PART_ESCAPED,
    PYUSDT_PART_TIME,
    PYUSDT_PART_TIME822,
};

struct pyusdt_format_part {
    uint8_t kind;
    uint8_t letter, flags; /* as in struct pyusdt_layout */
    uint8_t is_string;     /* PART_ESCAPED: a string (%S), not an integer (%C) */
    uint32_t offset, size; /* of the value, in the record; integers: 1, 2, 4 or 8 bytes */
    uint32_t width, precision;
    uint32_t star_width,
        star_width_size; /* offset and size of the integer that gives the width, or NONE, 0 */
    uint32_t star_precision, star_precision_size;
};

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
        at_once; /* of each clause: 1: its records need only the formatter, and their text is short */
};

/* After 0 every offset in the table is good: into the table itself, or into any record that is at least as
 * long as its clause says. */
int pyusdt_format_table_load(struct pyusdt_format_table *t, const void *data, size_t size,
                             struct pyusdt_error *err);
void pyusdt_format_table_free(struct pyusdt_format_table *t);

#endif
