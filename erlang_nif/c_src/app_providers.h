/*
 * The NIFs of pyusdt_nif.erl for application providers, which are defined at run time.
 *
 * - A probe is made once, even if several callers define it. Its resource holds nothing that must
 *   be freed.
 */
#ifndef PYUSDT_NIF_APP_PROVIDERS_H
#define PYUSDT_NIF_APP_PROVIDERS_H

#include <erl_nif.h>
#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* When the module is loaded: false if that fails. */
int pyusdt_app_probes_load(ErlNifEnv *env);

/* check(Provider): whether it can have that name. */
ERL_NIF_TERM pyusdt_nif_check(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* define(Provider, Name, [Type | {Type, What the argument is called}]): writes a file, so it
 * belongs on a dirty scheduler. */
ERL_NIF_TERM pyusdt_nif_define(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);
ERL_NIF_TERM pyusdt_nif_fire_probe(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);
ERL_NIF_TERM pyusdt_nif_probe_enabled(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* telemetry_probe(Probe, Secrets): the one with a name and two terms that a tracer of telemetry:execute/3
 * fires from now on. */
ERL_NIF_TERM pyusdt_nif_telemetry_probe(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);
bool pyusdt_telemetry_is_wanted(void);
void pyusdt_telemetry_fire(
    ErlNifEnv *env,
    ERL_NIF_TERM call); /* call: {telemetry, execute, [Name, Measurements, Metadata]} */

#pragma GCC visibility pop

#endif
