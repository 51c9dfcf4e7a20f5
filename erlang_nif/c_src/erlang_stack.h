/*
 * The Erlang stack of a firing process, for sessions that want it (include/pyusdt.h, "stacks").
 *
 * It turns the result of process_info(self(), current_stacktrace) into three words for each
 * function: "module:function/arity", its file, its line.
 *
 * - A malformed list gives the frames up to the malformed one.
 */
#ifndef PYUSDT_NIF_ERLANG_STACK_H
#define PYUSDT_NIF_ERLANG_STACK_H

#include <erl_nif.h>

#include "pyusdt.h"

/* wants_stack(), wants_stack(Number): whether a session wants the stack of user_trace-i4s4, or
 * of that probe. */
ERL_NIF_TERM pyusdt_nif_wants_stack(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* Returns the tag of the wrapper's argument, Tag or {Tag, Stack}; puts the stack, if there is one,
 * into the firing. frames: room for PYUSDT_MAX_FRAMES, which the firing points to from then on. */
ERL_NIF_TERM pyusdt_nif_read_stack(ErlNifEnv *env, ERL_NIF_TERM given, struct pyusdt_firing *firing,
                                   uint64_t *frames);

#endif
