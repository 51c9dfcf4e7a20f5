/*
 * Texts of terms as OTP's own probes have them (pids, m:f/a, terms as the shell prints them), and
 * sizes of terms in words.
 *
 * - The work is bounded, however large a term is. Each scheduler caches the texts of pids.
 */
#ifndef PYUSDT_NIF_VM_TEXT_H
#define PYUSDT_NIF_VM_TEXT_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "pyusdt.h"

#pragma GCC visibility push(hidden)

enum {
    PYUSDT_VM_TEXTS = 5, /* strings that a probe has at most */
    PYUSDT_VM_TEXT = PYUSDT_MAX_STRING + 1,
    PYUSDT_VM_WORDS = 1000, /* terms that are read for a size, at most */
};

/* An event that is being made, and the room for its texts. */
struct pyusdt_vm_event {
    ErlNifEnv *env;
    struct pyusdt_firing firing;
    unsigned used;
    char text[PYUSDT_VM_TEXTS][PYUSDT_VM_TEXT];
};

/* Each sets an argument, if it is read. */
void pyusdt_vm_put(struct pyusdt_vm_event *event, unsigned arg,
                   ERL_NIF_TERM term); /* as the shell shows it */
void pyusdt_vm_put_local(struct pyusdt_vm_event *event, unsigned arg,
                         ERL_NIF_TERM local); /* a process or port of this node */
void pyusdt_vm_put_text(struct pyusdt_vm_event *event, unsigned arg,
                        const char *text); /* which stays */
void pyusdt_vm_put_mfa(struct pyusdt_vm_event *event, unsigned arg,
                       ERL_NIF_TERM mfa); /* {M, F, arguments or arity} */
void pyusdt_vm_put_node(struct pyusdt_vm_event *event, unsigned arg,
                        ERL_NIF_TERM pid); /* of a remote pid */
void pyusdt_vm_put_binary(struct pyusdt_vm_event *event, unsigned arg,
                          ERL_NIF_TERM text); /* its bytes */
void pyusdt_vm_put_words(struct pyusdt_vm_event *event, unsigned arg, ERL_NIF_TERM term);
int64_t pyusdt_vm_count_bytes(ErlNifEnv *env,
                              ERL_NIF_TERM iolist); /* the most that so many terms have */
void pyusdt_vm_put_bytes(struct pyusdt_vm_event *event, unsigned arg, ERL_NIF_TERM iolist);
void pyusdt_vm_put_number(struct pyusdt_vm_event *event, unsigned arg,
                          ERL_NIF_TERM integer); /* absent, if it is none */
void pyusdt_vm_put_integer(struct pyusdt_vm_event *event, unsigned arg, int64_t value);

#pragma GCC visibility pop

#endif
