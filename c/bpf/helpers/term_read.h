/* Reading a term argument token by token: term_read.c. */
#ifndef PYUSDT_HELPERS_TERM_READ_H
#define PYUSDT_HELPERS_TERM_READ_H

#include <stdbool.h>
#include <stdint.h>

struct pyusdt_term_reader {
    const uint8_t *at, *end;
};

enum pyusdt_term_kind {
    KIND_CUT,
    KIND_SHOWN,
    KIND_INTEGER,
    KIND_FLOAT,
    KIND_ATOM,
    KIND_STRING, /* a list of small integers */
    KIND_BINARY,
    KIND_NIL,
    KIND_LIST,
    KIND_TUPLE,
    KIND_MAP,
    KIND_PID,
    KIND_PORT,
    KIND_REF,
};

/* data, length: the bytes of text and binaries that are there, of `whole`; count: of elements, or pairs, that follow. */
struct pyusdt_token {
    enum pyusdt_term_kind kind;
    const uint8_t *data;
    uint32_t length, whole, count;
    bool negative, latin1;
    uint64_t magnitude; /* of an integer; the number of a port */
    uint32_t words[5];  /* of a pid or reference, as it is shown */
    double real;
};

/* False: the term ends here. */
bool pyusdt_term_next(struct pyusdt_term_reader *reader, struct pyusdt_token *token);

/* Past a whole term; false: it ends inside. */
bool pyusdt_term_skip(struct pyusdt_term_reader *reader);

#endif
