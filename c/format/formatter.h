/* Records to text: what dtrace(1) prints for the records of a compiled program.
 *
 * In: a table (below) made once from the program by src/pydtrace/program/formatter_table.py, and buffers of records
 * (docs/internals/program.md).  Out: text, byte for byte dtrace's: header and columns unless quiet, trace(), printf().
 * Always: the table's offsets are checked against its clauses' record sizes when it is loaded, each record's
 * size against its clause's before anything of it is read; nothing outside the given buffer is ever read,
 * whatever the records hold (they may come from a file).  What the formatter does not do itself (exit() and
 * the like, faults, unknown probes) it returns with its place, and goes on from there when called again.
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
 * -EINVAL where the record at *place is not well-formed: then the rest of the buffer can not be read. */
int pyusdt_format(struct pyusdt_formatter *f, const uint8_t *records, size_t size,
                  struct pyusdt_format_place *place, struct pyusdt_text *text);

/* Append the text of a record where nobody else is needed for it and the text is short.  False: nothing was appended, the record is
 * for pyusdt_format(). */
bool pyusdt_format_at_once(struct pyusdt_formatter *f, const uint8_t *record, uint32_t size,
                           struct pyusdt_text *text);

#endif
