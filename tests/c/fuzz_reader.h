/* What the parts of the fuzzer share: fuzz_reader.c, fuzz_flight.c and fuzz_keep.c run operations, fuzz_files.c has their run
 * directory, fuzz_forge.c does what processes do that are not there, and lets system calls fail, fuzz_mutator.c makes inputs
 * of inputs. */
#ifndef FUZZ_READER_H
#define FUZZ_READER_H

#include <stdbool.h>
#include <stdint.h>

/* Those from SPOIL to before FAIL are the fuzzer's own doing, the others call the core. */
enum {
    FIRE,
    POLL,
    STOP,
    ASK,
    SECOND,
    REPUBLISH,
    SPOIL,
    SPOIL_LINE,
    PLANT,
    FORGE,
    EVENT,
    FORGED_WORD,
    FAIL,
    OPERATIONS
};
enum {
    NPROBES = 52,
    FORGED = 3,
    FORGED_RINGS = 2,
    OPERATIONS_MAX = 48,
    RING = 65536,
    DEAD_PID = 4194305
};

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

extern char fuzz_rundir[];

void fuzz_begin(void); /* makes it; it goes with the program */
void fuzz_require(int condition, const char *what);
void fuzz_remove_files(void);
int fuzz_open_file(
    const char
        *ending); /* the first, of who is not forged, whose name ends so; -1: there is none */

void fuzz_forge(struct forged *forged, const struct operation *op, int dir, uint64_t generation);
void fuzz_forge_event(struct forged *forged, const struct operation *op);
void fuzz_forge_word(struct forged *forged, const struct operation *op, uint64_t generation);
void fuzz_forged_end(struct forged *forged);

/* The n-th call from now of one of the functions that the core calls fails; n = 0: none does. */
void fuzz_fail(unsigned function, unsigned n);
void fuzz_pause(bool paused); /* not of those that the fuzzer calls itself */

/* What happens before each write() of the core's; NULL: nothing. */
extern void (*fuzz_before_write)(void);

#endif
