/*
 * Records to text: byte for byte what dtrace(1) prints for the records of a compiled program.
 *
 * - src/pydtrace/program/formatter_table.py makes the table once from the program;
 *   docs/internals/program.md describes records.
 * - Records are untrusted, since they may come from a file: a load checks the table's offsets
 *   against its clauses' record sizes, and each record's size is checked against its clause's
 *   before it is read.
 * - The formatter returns at what it does not print itself (exit() and the like, faults, unknown
 *   probes), and goes on from there when it is called again.
 */
#ifndef PYUSDT_FORMAT_FORMATTER_H
#define PYUSDT_FORMAT_FORMATTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/error.h"
#include "format/text.h"

enum {
    PYUSDT_FORMAT_QUIET = 1, /* -q: only what actions print */
    PYUSDT_FORMAT_TESTING =
        2, /* _DTRACE_TESTING: no CPU and ID columns, as DTrace's own test suite wants */
    PYUSDT_FORMAT_RAWBYTES = 4, /* -x rawbytes: trace() dumps everything */
    PYUSDT_FORMAT_FLOW = 8      /* -F: the columns are flowindent.h's, also with -q */
};

enum pyusdt_format_stop {
    PYUSDT_FORMAT_DONE, /* everything was consumed */
    PYUSDT_FORMAT_FULL, /* the text is long: write it out, empty it and call again */
    PYUSDT_FORMAT_PROBE, /* the record at the place is of a probe that pyusdt_format_probe() has not named */
    PYUSDT_FORMAT_ACTION, /* the action at the place is the caller's; call again to go on behind it */
    PYUSDT_FORMAT_FAULT, /* the record at the place is a fault; call again to go on behind it */
};

/* Where the formatter is in a buffer of records; all zero at its beginning. */
struct pyusdt_format_place {
    size_t offset;   /* of a record */
    uint32_t action; /* of the record's clause: the one returned with FORMAT_ACTION */
    uint32_t resume; /* the formatter's own */
};

struct pyusdt_formatter;

/* -EINVAL with a message where the table is not well-formed; `table` is copied. */
int pyusdt_formatter_new(const void *table, size_t size, unsigned flags,
                         struct pyusdt_formatter **out, struct pyusdt_error *err);
void pyusdt_formatter_free(struct pyusdt_formatter *f);
void pyusdt_formatter_flags(struct pyusdt_formatter *f, unsigned flags);

/* Tell the names of probe `id`. */
int pyusdt_format_probe(struct pyusdt_formatter *f, uint32_t id, const char *provider,
                        const char *function, const char *name);

/* Append the text of the records to *text, from *place on.  Returns an enum pyusdt_format_stop, -ENOMEM, or
 * -EINVAL where the record at *place is not well-formed: then the rest of the buffer cannot be read. */
int pyusdt_format(struct pyusdt_formatter *f, const uint8_t *records, size_t size,
                  struct pyusdt_format_place *place, struct pyusdt_text *text);

/* Append the text of a record if only the formatter is needed for it and the text is short.  False: nothing was appended, the record is
 * for pyusdt_format(). */
bool pyusdt_format_at_once(struct pyusdt_formatter *f, const uint8_t *record, uint32_t size,
                           struct pyusdt_text *text);

#endif
