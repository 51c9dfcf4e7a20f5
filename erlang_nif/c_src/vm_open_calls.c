/* Open calls of functions whose returns are traced (see vm_open_calls.h). */
#include "vm_open_calls.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#define MOST_OF_ALL 100 /* times what one process may have open */

enum { STRIPES = 64, ENTRIES = 256 }; /* of processes whose pids have the same hash, one lock */

struct entry {
    ERL_NIF_TERM process; /* 0: free, and nothing behind it belongs here */
    ERL_NIF_TERM module, function;
    unsigned arity, open;
    unsigned most; /* that it may have open */
};

static struct stripe {
    ErlNifMutex *lock;
    struct entry entry[ENTRIES];
} stripes[STRIPES];

static atomic_uint most_open;
static atomic_ullong all_open, most_of_all;
static atomic_bool is_any_deep; /* a process has too many open, or the table was full */

bool pyusdt_vm_open_calls_load(void)
{
    for (unsigned i = 0; i < STRIPES; i++)
        if (!stripes[i].lock && !(stripes[i].lock = enif_mutex_create("pyusdt_vm_open_calls")))
            return false;
    return true;
}

void pyusdt_vm_open_calls_begin(unsigned most)
{
    atomic_store(&most_open, most);
    atomic_store(&most_of_all, atomic_load(&all_open) + (uint64_t)most * MOST_OF_ALL);
}

static bool are_all_deep(void)
{
    return atomic_load_explicit(&all_open, memory_order_relaxed) >=
           atomic_load_explicit(&most_of_all, memory_order_relaxed);
}

static uint64_t hash(ERL_NIF_TERM process)
{
    return (process >> 4) * UINT64_C(0x9e3779b97f4a7c15);
}

static struct stripe *find_stripe(ERL_NIF_TERM process)
{
    return &stripes[hash(process) >> 58];
}

static unsigned first_place(ERL_NIF_TERM process)
{
    return (unsigned)(hash(process) >> 40) % ENTRIES;
}

/* The entry of the process, or a free one; NULL: the stripe is full. Under its lock. */
static struct entry *find_entry(struct stripe *stripe, ERL_NIF_TERM process)
{
    for (unsigned i = 0, at = first_place(process); i < ENTRIES; i++, at = (at + 1) % ENTRIES)
        if (stripe->entry[at].process == process || stripe->entry[at].process == 0)
            return &stripe->entry[at];
    return NULL;
}

/* Entries behind it that it was in the way of move to its place. */
static void remove_entry(struct stripe *stripe, struct entry *entry)
{
    unsigned hole = (unsigned)(entry - stripe->entry);

    for (unsigned i = 1, at = (hole + 1) % ENTRIES; i < ENTRIES && stripe->entry[at].process != 0;
         i++, at = (at + 1) % ENTRIES) {
        unsigned first = first_place(stripe->entry[at].process);
        if ((at + ENTRIES - first) % ENTRIES < (at + ENTRIES - hole) % ENTRIES)
            continue;
        stripe->entry[hole] = stripe->entry[at];
        hole = at;
    }
    stripe->entry[hole].process = 0;
}

bool pyusdt_vm_may_open(ERL_NIF_TERM process)
{
    struct stripe *stripe = find_stripe(process);
    struct entry *entry;
    bool may;

    if (!atomic_load_explicit(&is_any_deep, memory_order_relaxed))
        return true;
    if (are_all_deep())
        return false;
    enif_mutex_lock(stripe->lock);
    entry = find_entry(stripe, process);
    may = entry && (entry->process == 0 || entry->open < entry->most);
    enif_mutex_unlock(stripe->lock);
    return may;
}

static void read_function(ErlNifEnv *env, ERL_NIF_TERM mfa, struct entry *to)
{
    const ERL_NIF_TERM *parts;
    int n;

    if (!enif_get_tuple(env, mfa, &n, &parts) || n != 3)
        return;
    to->module = parts[0];
    to->function = parts[1];
    if (!enif_get_uint(env, parts[2], &to->arity))
        enif_get_list_length(env, parts[2], &to->arity);
}

void pyusdt_vm_open_call(ErlNifEnv *env, ERL_NIF_TERM process, ERL_NIF_TERM mfa)
{
    struct stripe *stripe = find_stripe(process);
    struct entry *entry;

    enif_mutex_lock(stripe->lock);
    entry = find_entry(stripe, process);
    if (entry && entry->process == 0)
        *entry = (struct entry){.process = process, .most = atomic_load(&most_open)};
    if (entry) {
        entry->open++;
        read_function(env, mfa, entry);
        atomic_fetch_add_explicit(&all_open, 1, memory_order_relaxed);
    }
    if (!entry || entry->open >= entry->most || are_all_deep())
        atomic_store(&is_any_deep, true);
    enif_mutex_unlock(stripe->lock);
}

void pyusdt_vm_close_call(ERL_NIF_TERM process)
{
    struct stripe *stripe = find_stripe(process);
    struct entry *entry;

    enif_mutex_lock(stripe->lock);
    entry = find_entry(stripe, process);
    if (entry && entry->process != 0) {
        atomic_fetch_sub_explicit(&all_open, 1, memory_order_relaxed);
        if (--entry->open == 0)
            remove_entry(stripe, entry);
    }
    enif_mutex_unlock(stripe->lock);
}

/* ---- the controlling process ---- */

static bool is_dead(ErlNifEnv *env, ERL_NIF_TERM process)
{
    ErlNifPid pid;

    return !enif_get_local_pid(env, process, &pid) || !enif_is_process_alive(env, &pid);
}

static ERL_NIF_TERM make_deep(ErlNifEnv *env, const struct entry *entry)
{
    return enif_make_tuple5(env, entry->process, enif_make_uint(env, entry->open), entry->module,
                            entry->function, enif_make_uint(env, entry->arity));
}

/* Of one stripe; *deepest: the one with most open so far. */
static ERL_NIF_TERM add_deep(ErlNifEnv *env, struct stripe *stripe, ERL_NIF_TERM list,
                             struct entry *deepest)
{
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct entry *entry = &stripe->entry[i];
        if (entry->process == 0)
            continue;
        if (is_dead(env, entry->process)) {
            atomic_fetch_sub(&all_open, entry->open);
            remove_entry(stripe, entry);
            i--; /* another one may have come here */
            continue;
        }
        if (entry->open > deepest->open)
            *deepest = *entry;
        if (entry->open >= entry->most) {
            list = enif_make_list_cell(env, make_deep(env, entry), list);
            entry->most = entry->open + atomic_load(&most_open);
        }
    }
    return list;
}

ERL_NIF_TERM pyusdt_nif_vm_deep_processes(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM list = enif_make_list(env, 0);

    struct entry deepest = {0};
    bool all = are_all_deep();

    (void)argc, (void)argv;
    atomic_store(&is_any_deep, false);
    for (unsigned i = 0; i < STRIPES; i++) {
        enif_mutex_lock(stripes[i].lock);
        list = add_deep(env, &stripes[i], list, &deepest);
        enif_mutex_unlock(stripes[i].lock);
    }
    if (!all)
        return list;
    atomic_store(&most_of_all,
                 atomic_load(&all_open) + (uint64_t)atomic_load(&most_open) * MOST_OF_ALL);
    if (deepest.process != 0)
        list = enif_make_list_cell(env, make_deep(env, &deepest), list);
    return list;
}
