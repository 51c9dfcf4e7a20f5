/* The functions of trace events (see vm_mfa.h). */
#include "vm_mfa.h"

#include <string.h>

#define CACHED 128

static bool read_mfa(ErlNifEnv *env, ERL_NIF_TERM term, struct pyusdt_vm_mfa *to)
{
    const ERL_NIF_TERM *parts;
    int n;

    if (!enif_get_tuple(env, term, &n, &parts) || n != 3)
        return false;
    to->module = parts[0];
    to->function = parts[1];
    return enif_get_uint(env, parts[2], &to->arity) ||
           enif_get_list_length(env, parts[2], &to->arity);
}

static bool is_same(const struct pyusdt_vm_mfa *a, const struct pyusdt_vm_mfa *b)
{
    return a->module == b->module && a->function == b->function && a->arity == b->arity;
}

/* m:f/a as Erlang writes it; of an Elixir module Module.function/arity, as Elixir does. */
static bool write_text(struct pyusdt_vm_mfa *mfa)
{
    char module[PYUSDT_VM_NAME], function[PYUSDT_VM_NAME];

    if (!pyusdt_vm_write_name(mfa->module, module))
        return enif_snprintf(mfa->text, sizeof mfa->text, "%T:%T/%u", mfa->module, mfa->function,
                             mfa->arity) >= 0;
    pyusdt_vm_write_name(mfa->function, function);
    return enif_snprintf(mfa->text, sizeof mfa->text, "%s.%s/%u", module, function, mfa->arity) >=
           0;
}

/* Atoms are immediate terms and are never taken back, so a text once made stays true. */
struct pyusdt_vm_mfa *pyusdt_vm_find_mfa(ErlNifEnv *env, ERL_NIF_TERM term)
{
    static _Thread_local struct pyusdt_vm_mfa all[CACHED];
    struct pyusdt_vm_mfa mfa, *cached;

    if (!read_mfa(env, term, &mfa))
        return NULL;
    cached = &all[((mfa.module * 31 + mfa.function * 7) / 64 + mfa.arity) % CACHED];
    if (cached->length != 0 && is_same(cached, &mfa))
        return cached;
    memset(cached, 0, sizeof *cached);
    cached->module = mfa.module;
    cached->function = mfa.function;
    cached->arity = mfa.arity;
    if (!write_text(cached))
        return NULL;
    cached->length = pyusdt_text_length(cached->text, sizeof cached->text - 1);
    return cached;
}

bool pyusdt_vm_write_name(ERL_NIF_TERM atom, char name[PYUSDT_VM_NAME])
{
    static const char elixir[] = "Elixir.";
    size_t length, begin = 1;
    bool is_elixir;

    if (enif_snprintf(name, PYUSDT_VM_NAME, "%T", atom) < 0)
        name[0] = '\0';
    length = strlen(name);
    if (length < 2 || name[0] != '\'' || name[length - 1] != '\'')
        return false;
    is_elixir = strncmp(name + 1, elixir, sizeof elixir - 1) == 0 && length > sizeof elixir + 1;
    if (is_elixir)
        begin = sizeof elixir;
    memmove(name, name + begin, length - begin - 1);
    name[length - begin - 1] = '\0';
    return is_elixir;
}

uint64_t pyusdt_vm_mfa_sessions(struct pyusdt_vm_mfa *mfa, enum pyusdt_vm_event_side side,
                                unsigned probe)
{
    char module[PYUSDT_VM_NAME], function[PYUSDT_VM_NAME];
    uint32_t generation = pyusdt_places_generation();

    if (mfa->generation != generation)
        mfa->known = 0;
    mfa->generation = generation;
    if ((mfa->known >> side & 1) != 0)
        return mfa->sessions[side];
    pyusdt_vm_write_name(mfa->module, module);
    pyusdt_vm_write_name(mfa->function, function);
    mfa->sessions[side] = pyusdt_place_wanted(probe, module, function);
    mfa->known |= 1u << side;
    return mfa->sessions[side];
}

/* Asked again if there was no room; an event at place 0 is counted as a drop. */
uint32_t pyusdt_vm_mfa_place(struct pyusdt_vm_mfa *mfa)
{
    char module[PYUSDT_VM_NAME], function[PYUSDT_VM_NAME];

    if (mfa->place == 0) {
        pyusdt_vm_write_name(mfa->module, module);
        pyusdt_vm_write_name(mfa->function, function);
        mfa->place = pyusdt_place(module, function, "", 0);
    }
    return mfa->place;
}
