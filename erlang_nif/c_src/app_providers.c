/* Probes of application providers (see app_providers.h). */
#include "app_providers.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "atoms.h"
#include "pyusdt.h"
#include "term_encode.h"
#include "iolist_text.h"

#define NAME_ROOM 256 /* more than a name can have: the core reports the error */

struct app_probe {
    struct pyusdt_probe_site site;
    unsigned nargs;
    uint8_t type[PYUSDT_MAX_ARGS];
    atomic_bool redacts; /* secrets in terms, which the program has not chosen to show */
};

static ErlNifResourceType *app_probe_type;

int pyusdt_app_probes_load(ErlNifEnv *env)
{
    const ErlNifResourceFlags flags = ERL_NIF_RT_CREATE | ERL_NIF_RT_TAKEOVER;

    app_probe_type = enif_open_resource_type(env, NULL, "probe", NULL, flags, NULL);
    return app_probe_type != NULL;
}

/* ---- defining ---- */

/* A binary as a C string. */
static bool read_name(ErlNifEnv *env, ERL_NIF_TERM term, char *name, size_t size)
{
    ErlNifBinary binary;

    if (!enif_inspect_binary(env, term, &binary) || binary.size >= size ||
        memchr(binary.data, 0, binary.size))
        return false;
    memcpy(name, binary.data, binary.size);
    name[binary.size] = '\0';
    return true;
}

/* The names of the arguments, allocated together with the probe that points to them. */
struct names {
    char text[PYUSDT_MAX_ARGS][NAME_ROOM];
};

/* A type, or {Type, Name}.  False: neither. */
static bool read_argument(ErlNifEnv *env, ERL_NIF_TERM term, struct pyusdt_probe_def *probe,
                          struct names *names)
{
    const ERL_NIF_TERM *pair;
    unsigned i = probe->nargs, type;
    int size;

    if (enif_get_tuple(env, term, &size, &pair)) {
        if (size != 2 || !read_name(env, pair[1], names->text[i], NAME_ROOM))
            return false;
        probe->argument[i] = names->text[i];
        term = pair[0];
    }
    if (!enif_get_uint(env, term, &type) || type > UINT8_MAX)
        return false;
    probe->type[i] = (uint8_t)type;
    probe->nargs++;
    return true;
}

/* NULL, or the error in them. */
static const char *read_arguments(ErlNifEnv *env, ERL_NIF_TERM list, struct pyusdt_probe_def *probe,
                                  struct names *names)
{
    ERL_NIF_TERM head;

    while (enif_get_list_cell(env, list, &head, &list)) {
        if (probe->nargs == PYUSDT_MAX_ARGS)
            return "a probe has at most twelve arguments";
        if (!read_argument(env, head, probe, names))
            return "an argument is a type, or a type with a name that is text of less than 256 bytes without a NUL";
    }
    return enif_is_empty_list(env, list) ? NULL : "the arguments are a list";
}

static ERL_NIF_TERM make_binary(ErlNifEnv *env, const char *text)
{
    ERL_NIF_TERM term;
    size_t size = strlen(text);

    memcpy(enif_make_new_binary(env, size, &term), text, size);
    return term;
}

static ERL_NIF_TERM make_failure(ErlNifEnv *env, const char *reason, const char *message)
{
    return enif_make_tuple3(env, pyusdt_atoms.error, enif_make_atom(env, reason),
                            make_binary(env, message));
}

static ERL_NIF_TERM refuse_name(ErlNifEnv *env)
{
    return make_failure(env, "badarg", "a name of hundreds of bytes, or with a NUL in it");
}

/* check(Provider): ok, or {error, badarg, Message} */
ERL_NIF_TERM pyusdt_nif_check(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    char provider[NAME_ROOM];
    struct pyusdt_error why;

    (void)argc;
    if (!read_name(env, argv[0], provider, sizeof provider))
        return refuse_name(env);
    return pyusdt_provider_check(provider, &why) == 0 ? pyusdt_atoms.ok
                                                      : make_failure(env, "badarg", why.message);
}

/* define(Provider, Name, Arguments): {ok, Probe, Path, Why}: the path of its object, or why there
 * is none; {error, Reason, Message} */
ERL_NIF_TERM pyusdt_nif_define(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    char provider[NAME_ROOM], name[NAME_ROOM], path[4096];
    struct pyusdt_probe_def probe = {.name = name};
    struct pyusdt_probe_site site;
    struct names names;
    struct pyusdt_error why;
    const char *wrong;
    ERL_NIF_TERM term;
    struct app_probe *app_probe;
    int r;

    (void)argc;
    if (!read_name(env, argv[0], provider, sizeof provider) ||
        !read_name(env, argv[1], name, sizeof name))
        return refuse_name(env);
    wrong = read_arguments(env, argv[2], &probe, &names);
    if (wrong)
        return make_failure(env, "badarg", wrong);
    r = pyusdt_provider_define(provider, &probe, 1, &site, path, sizeof path, &why);
    if (r < 0)
        return make_failure(env,
                            r == -EEXIST   ? "eexist"
                            : r == -ENOMEM ? "enomem"
                                           : "badarg",
                            why.message);
    app_probe = enif_alloc_resource(app_probe_type, sizeof *app_probe);
    app_probe->site = site;
    app_probe->nargs = probe.nargs;
    app_probe->redacts = false;
    memcpy(app_probe->type, probe.type, sizeof app_probe->type);
    term = enif_make_resource(env, app_probe);
    enif_release_resource(app_probe);
    return enif_make_tuple4(env, pyusdt_atoms.ok, term, make_binary(env, site.entry ? path : ""),
                            make_binary(env, why.message));
}

/* ---- values ---- */

/* Modulo 2^bits; 0 for integers of more than 64 bits and for anything else. true and false are 1
 * and 0. */
static uint64_t convert_integer(ErlNifEnv *env, ERL_NIF_TERM term, unsigned type)
{
    ErlNifSInt64 value = 0;
    ErlNifUInt64 large;

    if (!enif_get_int64(env, term, &value))
        value = enif_get_uint64(env, term, &large) ? (ErlNifSInt64)large
                                                   : enif_is_identical(term, pyusdt_atoms.yes);
    return pyusdt_integer_bits((uint64_t)value, type);
}

/* The bits; anything but a number is NaN. */
static uint64_t convert_float(ErlNifEnv *env, ERL_NIF_TERM term, unsigned type)
{
    double value = NAN;
    ErlNifSInt64 integer;

    if (!enif_get_double(env, term, &value) && enif_get_int64(env, term, &integer))
        value = (double)integer;
    return pyusdt_float_bits(value, type);
}

/* ---- one event ---- */

union value_buffer {
    struct pyusdt_iolist_text text;
    struct pyusdt_term term;
};

static void set_term(ErlNifEnv *env, struct pyusdt_firing *firing, unsigned i, ERL_NIF_TERM term,
                     struct pyusdt_term *encoded, bool redacts)
{
    if (redacts)
        pyusdt_term_encode_redacted(env, encoded, term);
    else
        pyusdt_term_encode(env, encoded, term);
    pyusdt_firing_text(firing, i, encoded->bytes, encoded->length);
}

static void set_value(ErlNifEnv *env, struct pyusdt_firing *firing, unsigned i,
                      const struct app_probe *app_probe, ERL_NIF_TERM term,
                      union value_buffer *value_buffer)
{
    unsigned type = app_probe->type[i];

    switch (type & PYUSDT_KIND) {
    case PYUSDT_STRING &PYUSDT_KIND:
        pyusdt_iolist_text_set(env, &value_buffer->text, term);
        pyusdt_firing_text(firing, i, value_buffer->text.address, value_buffer->text.length);
        break;
    case PYUSDT_TERM &PYUSDT_KIND:
        set_term(env, firing, i, term, &value_buffer->term, app_probe->redacts);
        break;
    case PYUSDT_FLOAT:
        firing->args.value[i] = convert_float(env, term, type);
        break;
    default:
        firing->args.value[i] = convert_integer(env, term, type);
    }
}

/* `undefined` and missing values are absent, except for a term, which may be that atom. */
static bool is_absent(unsigned type, ERL_NIF_TERM term)
{
    return type != PYUSDT_TERM && enif_is_identical(term, pyusdt_atoms.undefined);
}

/* The large frame.  False: more values than arguments. */
static bool fire_values(ErlNifEnv *env, const struct app_probe *app_probe,
                        struct pyusdt_firing *firing, ERL_NIF_TERM list)
{
    union value_buffer value_buffers[PYUSDT_MAX_ARGS];
    ERL_NIF_TERM term;

    pyusdt_firing_no_more(firing, 0);
    for (unsigned i = 0; enif_get_list_cell(env, list, &term, &list); i++) {
        if (i == app_probe->nargs)
            return false;
        if (pyusdt_firing_reads(firing, i) && !is_absent(app_probe->type[i], term))
            set_value(env, firing, i, app_probe, term, &value_buffers[i]);
    }
    pyusdt_firing_offer_at(firing, &app_probe->site);
    return true;
}

/* A probe that was made by a library which has been purged meanwhile is a reference still, and
 * off. */
static ERL_NIF_TERM answer_for_other(ErlNifEnv *env, ERL_NIF_TERM term)
{
    return enif_is_ref(env, term) ? pyusdt_atoms.no : enif_make_badarg(env);
}

static struct app_probe *find_probe(ErlNifEnv *env, ERL_NIF_TERM term)
{
    void *app_probe;
    return enif_get_resource(env, term, app_probe_type, &app_probe) ? app_probe : NULL;
}

/* fire_own(Probe, Values) */
ERL_NIF_TERM pyusdt_nif_fire_probe(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    const struct app_probe *app_probe = find_probe(env, argv[0]);
    struct pyusdt_firing firing;

    (void)argc;
    if (!enif_is_list(env, argv[1]))
        return enif_make_badarg(env);
    if (!app_probe)
        return answer_for_other(env, argv[0]);
    if (!pyusdt_firing_begin_at(&firing, &app_probe->site))
        return pyusdt_atoms.no;
    return fire_values(env, app_probe, &firing, argv[1]) ? pyusdt_atoms.yes : pyusdt_atoms.badarg;
}

/* enabled_own(Probe) */
ERL_NIF_TERM pyusdt_nif_probe_enabled(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    const struct app_probe *app_probe = find_probe(env, argv[0]);

    (void)argc;
    if (!app_probe)
        return answer_for_other(env, argv[0]);
    return pyusdt_site_enabled(&app_probe->site) ? pyusdt_atoms.yes : pyusdt_atoms.no;
}

/* ---- telemetry:::event, by a tracer ---- */

#define NAME_BYTES (PYUSDT_MAX_STRING + 1)

static const struct pyusdt_probe_site *_Atomic event_site; /* of the core's own memory: it stays */
static atomic_bool event_redacts;

/* telemetry_probe(Probe, Secrets): false, and it is none of this library. */
ERL_NIF_TERM pyusdt_nif_telemetry_probe(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    static struct pyusdt_probe_site site;
    struct app_probe *app_probe = find_probe(env, argv[0]);

    (void)argc;
    if (!app_probe || app_probe->nargs != 3)
        return pyusdt_atoms.no;
    app_probe->redacts = argv[1] != pyusdt_atoms.yes;
    atomic_store(&event_redacts, app_probe->redacts);
    if (!atomic_load(&event_site)) {
        site = app_probe->site;
        atomic_store(&event_site, &site);
    }
    return pyusdt_atoms.yes;
}

bool pyusdt_telemetry_is_wanted(void)
{
    const struct pyusdt_probe_site *site = atomic_load(&event_site);
    return site && pyusdt_site_enabled(site);
}

/* A list of atoms as text, with dots between them; atoms that do not fit are omitted. */
static uint32_t write_name(ErlNifEnv *env, ERL_NIF_TERM list, char text[NAME_BYTES])
{
    ERL_NIF_TERM head;
    size_t at = 0;

    text[0] = '\0';
    while (enif_get_list_cell(env, list, &head, &list)) {
        char word[256];
        int n = enif_get_atom(env, head, word, sizeof word, ERL_NIF_LATIN1);
        if (n == 0)
            n = (int)sizeof "?", strcpy(word, "?");
        if (at + (size_t)n + 1 >= NAME_BYTES)
            break;
        if (at > 0)
            text[at++] = '.';
        memcpy(text + at, word, (size_t)n);
        at += (size_t)n - 1;
    }
    return pyusdt_text_length(text, at);
}

void pyusdt_telemetry_fire(ErlNifEnv *env, ERL_NIF_TERM call)
{
    const struct pyusdt_probe_site *site = atomic_load(&event_site);
    ERL_NIF_TERM name, measurements, metadata, arguments;
    struct pyusdt_term encoded[2];
    bool redacts = atomic_load_explicit(&event_redacts, memory_order_relaxed);
    struct pyusdt_firing firing;
    char text[NAME_BYTES];
    const ERL_NIF_TERM *mfa;
    int size;

    if (!site || !enif_get_tuple(env, call, &size, &mfa) || size != 3)
        return;
    arguments = mfa[2];
    if (!enif_get_list_cell(env, arguments, &name, &arguments) ||
        !enif_get_list_cell(env, arguments, &measurements, &arguments) ||
        !enif_get_list_cell(env, arguments, &metadata, &arguments) ||
        !pyusdt_firing_begin_at(&firing, site))
        return;
    pyusdt_firing_no_more(&firing, 0);
    if (pyusdt_firing_reads(&firing, 0))
        pyusdt_firing_text(&firing, 0, text, write_name(env, name, text));
    if (pyusdt_firing_reads(&firing, 1))
        set_term(env, &firing, 1, measurements, &encoded[0], redacts);
    if (pyusdt_firing_reads(&firing, 2))
        set_term(env, &firing, 2, metadata, &encoded[1], redacts);
    pyusdt_firing_offer_at(&firing, site);
}
