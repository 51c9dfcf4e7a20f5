/* The atoms that the NIFs compare with and return. */
#ifndef PYUSDT_NIF_ATOMS_H
#define PYUSDT_NIF_ATOMS_H

#include <erl_nif.h>

#pragma GCC visibility push(hidden)

/* X(field, name) */
/* clang-format off */
#define PYUSDT_ATOMS(X) \
    X(yes, "true") X(no, "false") X(ok, "ok") X(error, "error") X(badarg, "badarg") X(undefined, "undefined") \
    X(truncated, "...") X(changed, "changed") X(trace, "trace") X(discard, "discard") X(remove, "remove") \
    X(trace_status, "trace_status") X(vm, "vm") X(extra, "extra") X(match_spec_result, "match_spec_result") \
    X(wordsize, "wordsize") X(heap_block_size, "heap_block_size") X(command, "command") X(control, "control") \
    X(connect, "connect") X(close, "close") X(port_call, "port_call") X(erlang, "erlang") X(hibernate, "hibernate") \
    X(pyusdt_tag, "pyusdt_tag") X(addr, "addr") X(port, "port") X(try_dispatch, "try_dispatch") \
    X(try_handle_call, "try_handle_call") X(telemetry, "telemetry") X(absent, "absent") X(later, "later") \
    X(returns, "returns") X(call, "call") X(exception_from, "exception_from") X(exit, "exit") X(watch, "watch") \
    X(handle_msg, "handle_msg") X(gen_call, "$gen_call") X(gen_cast, "$gen_cast")
/* clang-format on */

struct pyusdt_atoms {
#define PYUSDT_ATOM(field, name) ERL_NIF_TERM field;
    PYUSDT_ATOMS(PYUSDT_ATOM)
#undef PYUSDT_ATOM
};

extern struct pyusdt_atoms pyusdt_atoms;

void pyusdt_atoms_load(ErlNifEnv *env); /* makes them, before anything else is loaded */

#pragma GCC visibility pop

#endif
