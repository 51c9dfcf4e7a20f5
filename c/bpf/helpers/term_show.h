/* Terms of Erlang, as ~0tp prints them: term_show.c. */
#ifndef PYUSDT_HELPERS_TERM_SHOW_H
#define PYUSDT_HELPERS_TERM_SHOW_H

#include "bpf/helpers/term_read.h"

/* to: `size` bytes, of which one is the NUL's; full: not all that was put had room. */
struct pyusdt_term_writer {
    char *to;
    uint32_t length, size;
    bool full;
};

void pyusdt_term_put_number(struct pyusdt_term_writer *w, uint64_t number);

/* The next term.  bare: an atom, string or binary without quotes. */
void pyusdt_term_show(struct pyusdt_term_writer *w, struct pyusdt_term_reader *r, bool bare);

/* Ends the text, with `...` where it was full and zeros behind it; the bytes of it and its NUL. */
int pyusdt_term_finish(struct pyusdt_term_writer *w);

#endif
