/* The session file of one run directory: its slot and its header. The file is written with pwrite(), never mapped. */
#ifndef PYUSDT_SESSION_SESSION_FILE_H
#define PYUSDT_SESSION_SESSION_FILE_H

#include "session/session_state.h"

#pragma GCC visibility push(hidden)

/* Claims a free slot of the base's directory: fd and the header's slot. */
int pyusdt_session_dir_claim_slot(struct pyusdt_session_dir *rundir, struct pyusdt_error *error);
int pyusdt_session_dir_write_header(
    struct pyusdt_session_dir *rundir); /* the header; 0 or -errno */
int pyusdt_session_dir_write_wants(struct pyusdt_session_dir *rundir,
                                   const struct pyusdt_want *wants, uint32_t nwants);
/* Behind so many wants. */
int pyusdt_session_dir_write_paths(struct pyusdt_session_dir *rundir,
                                   const struct pyusdt_path *paths, uint32_t npaths,
                                   uint32_t nwants);

#pragma GCC visibility pop

#endif
