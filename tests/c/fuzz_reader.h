/* What the parts of the fuzzer share: fuzz_reader.c runs operations, fuzz_forge.c does those of processes that are not
 * there and of system calls that fail, fuzz_mutator.c makes inputs of inputs. */
#ifndef FUZZ_READER_H
#define FUZZ_READER_H

#include <stdbool.h>
#include <stdint.h>

/* Those from SPOIL to before FAIL are the fuzzer's own doing, the others call the core. */
enum { FIRE, POLL, STOP, ASK, SECOND, REPUBLISH, SPOIL, SPOIL_LINE, PLANT, FORGE, EVENT, FORGED_WORD, FAIL, OPERATIONS };
enum { NPROBES = 52, FORGED = 3, FORGED_RINGS = 2, OPERATIONS_MAX = 48, RING = 65536, DEAD_PID = 4194305 };

struct operation {
    uint8_t code;  /* modulo OPERATIONS */
    uint8_t which; /* probe, file, forged process */
    uint8_t field;
    uint8_t flags;
    uint32_t at;
    uint64_t value;
};

/* A process that is not there: its files are the fuzzer's. */
struct forged {
    int ctl, area, ring[FORGED_RINGS]; /* descriptors; valid where `made` */
    uint64_t head[FORGED_RINGS];
    uint32_t nprobes;
    bool made;
};

void fuzz_require(int condition, const char *what);
void fuzz_forge(struct forged *forged, const struct operation *op, int dir, uint64_t generation);
void fuzz_forge_event(struct forged *forged, const struct operation *op);
void fuzz_forge_word(struct forged *forged, const struct operation *op, uint64_t generation);
void fuzz_forged_end(struct forged *forged);

/* The n-th call from now of one of the functions that the core calls fails; n = 0: none does. */
void fuzz_fail(unsigned function, unsigned n);
void fuzz_pause(bool paused); /* not of those that the fuzzer calls itself */

#endif
