/*
 * What identifies the code objects of a CPython in another process: the pointers of name, file and
 * lines, and the first bytes of the name.
 *
 * - A code object may be freed and another one made at its address; the identity is then another,
 *   too.
 * - Known identities are those that the caller has confirmed; reading them again takes one system
 *   call for many.
 */
#ifndef PYUSDT_PYSTACK_CODE_IDENTITIES_H
#define PYUSDT_PYSTACK_CODE_IDENTITIES_H

#include "pystack/cpython_offsets.h"
#include "pystack/remote_memory.h"

enum {
    PYUSDT_IDENTITY_NAME = 80, /* bytes of a name's object that are read */
    PYUSDT_IDENTITY_MAX = 320, /* bytes of an identity */
    PYUSDT_IDENTITIES_KNOWN = 1 << 16,
};

/* size 0: there is no code object. */
struct pyusdt_code_identity {
    uint64_t name; /* the address of the name */
    uint16_t size;
    uint8_t bytes[PYUSDT_IDENTITY_MAX];
};

struct pyusdt_identities;

#pragma GCC visibility push(hidden)

/* NULL: no memory, or offsets that cannot be. */
struct pyusdt_identities *pyusdt_identities_new(const struct pyusdt_memory *memory,
                                                const struct pyusdt_python_layout *layout);
void pyusdt_identities_free(struct pyusdt_identities *ids);

/* The identities of code objects now. 0, -ENOMEM. */
int pyusdt_identities_read(struct pyusdt_identities *ids, const uint64_t *codes, size_t n,
                           struct pyusdt_code_identity *found);

/* From now on the code object has this identity. 0; -ENOMEM; -ENOSPC: there are too many; -EINVAL: it is too long. */
int pyusdt_identities_confirm(struct pyusdt_identities *ids, uint64_t code, const uint8_t *bytes,
                              size_t size);
/* The code object is not known any more. */
void pyusdt_identities_forget(struct pyusdt_identities *ids, uint64_t code);
void pyusdt_identities_forget_all(struct pyusdt_identities *ids);

/* ---- a check of many ---- */

void pyusdt_identities_begin(struct pyusdt_identities *ids);

/* The code object is among those to check. False: it is not known, or they are too many. */
bool pyusdt_identities_add(struct pyusdt_identities *ids, uint64_t code);

/* Reads all that were added. */
void pyusdt_identities_check(struct pyusdt_identities *ids);

/* Whether the code object, which was added, has its identity still. */
bool pyusdt_identities_is_same(const struct pyusdt_identities *ids, uint64_t code);

#pragma GCC visibility pop

#endif
