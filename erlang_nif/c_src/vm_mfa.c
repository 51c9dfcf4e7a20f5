/* Functions, as trace events name them: see vm_mfa.h. */
#include "vm_mfa.h"

#include <string.h>

#define KEPT 128

static bool read(ErlNifEnv *env, ERL_NIF_TERM term, struct pyusdt_vm_mfa *to)
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

static bool same(const struct pyusdt_vm_mfa *a, const struct pyusdt_vm_mfa *b)
{
    return a->module == b->module && a->function == b->function && a->arity == b->arity;
}

/* m:f/a as Erlang writes it; of an Elixir module Module.function/arity, as Elixir does. */
static bool write_text(struct pyusdt_vm_mfa *mfa)
{
    char module[PYUSDT_VM_NAME], function[PYUSDT_VM_NAME];

    if (!pyusdt_vm_name(mfa->module, module))
        return enif_snprintf(mfa->text, sizeof mfa->text, "%T:%T/%u", mfa->module, mfa->function,
                             mfa->arity) >= 0;
    pyusdt_vm_name(mfa->function, function);
    return enif_snprintf(mfa->text, sizeof mfa->text, "%s.%s/%u", module, function, mfa->arity) >=
           0;
}

/* Atoms are immediate terms and are never taken back, so a text once made stays true. */
struct pyusdt_vm_mfa *pyusdt_vm_mfa(ErlNifEnv *env, ERL_NIF_TERM term)
{
    static _Thread_local struct pyusdt_vm_mfa all[KEPT];
    struct pyusdt_vm_mfa mfa, *kept;

    if (!read(env, term, &mfa))
        return NULL;
    kept = &all[((mfa.module * 31 + mfa.function * 7) / 64 + mfa.arity) % KEPT];
    if (kept->length != 0 && same(kept, &mfa))
        return kept;
    memset(kept, 0, sizeof *kept);
    kept->module = mfa.module;
    kept->function = mfa.function;
    kept->arity = mfa.arity;
    if (!write_text(kept))
        return NULL;
    kept->length = pyusdt_text_length(kept->text, sizeof kept->text - 1);
    return kept;
}

bool pyusdt_vm_name(ERL_NIF_TERM atom, char name[PYUSDT_VM_NAME])
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

uint64_t pyusdt_vm_mfa_sessions(struct pyusdt_vm_mfa *mfa, enum pyusdt_vm_side side, unsigned probe)
{
    char module[PYUSDT_VM_NAME], function[PYUSDT_VM_NAME];
    uint32_t generation = pyusdt_places_generation();

    if (mfa->generation != generation)
        mfa->known = 0;
    mfa->generation = generation;
    if ((mfa->known >> side & 1) != 0)
        return mfa->sessions[side];
    pyusdt_vm_name(mfa->module, module);
    pyusdt_vm_name(mfa->function, function);
    mfa->sessions[side] = pyusdt_place_wanted(probe, module, function);
    mfa->known |= 1u << side;
    return mfa->sessions[side];
}

/* Asked for again where there was no room; who fires at place 0 has the event counted as dropped. */
uint32_t pyusdt_vm_mfa_place(struct pyusdt_vm_mfa *mfa)
{
    char module[PYUSDT_VM_NAME], function[PYUSDT_VM_NAME];

    if (mfa->place == 0) {
        pyusdt_vm_name(mfa->module, module);
        pyusdt_vm_name(mfa->function, function);
        mfa->place = pyusdt_place(module, function, "", 0);
    }
    return mfa->place;
}
