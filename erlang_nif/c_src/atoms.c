/* The atoms of the NIFs (see atoms.h). */
#include "atoms.h"

struct pyusdt_atoms pyusdt_atoms;

void pyusdt_atoms_load(ErlNifEnv *env)
{
#define MAKE(field, name) pyusdt_atoms.field = enif_make_atom(env, name);
    PYUSDT_ATOMS(MAKE)
#undef MAKE
}
