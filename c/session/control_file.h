/* A target's control file: a checked private copy of its header and probe table. The target may change the file meanwhile. */
#ifndef PYUSDT_SESSION_CONTROL_FILE_H
#define PYUSDT_SESSION_CONTROL_FILE_H

#include <stdbool.h>

#include "shared/layout.h"

struct pyusdt_table_copy;
struct pyusdt_target;

#define PYUSDT_CTL_MAX (2u * PYUSDT_CTL_SIZE) /* bytes of a control file */

#pragma GCC visibility push(hidden)

/* Copies the header and the table that goes with it, both whole: not while the target changes them. If the table equals that of
 * `like`, the two targets share the copy. 0 or -errno. */
int pyusdt_control_copy(const struct pyusdt_target *target, const struct pyusdt_target *like,
                        struct pyusdt_ctl_header *header, struct pyusdt_table_copy **copy);
void pyusdt_table_copy_release(struct pyusdt_table_copy *table); /* NULL is fine */

/* Whether slots and words lie in a file of this size. */
bool pyusdt_control_header_fits(const struct pyusdt_ctl_header *header, uint64_t size);

#pragma GCC visibility pop

#endif
