/*
 * The NIFs of pyusdt_nif.erl: the enabled tests, and firing.
 *
 * - A call is bounded. Only values that a tracer reads are converted.
 * - All instances of the module (old and current code) share one core. The library stays mapped (-z
 *   nodelete), since threads of the emulator keep addresses in it. The last instance unpublishes
 *   the process.
 */
#include <erl_nif.h>
#include <stdbool.h>

#include "atoms.h"
#include "secret_names.h"
#include "app_providers.h"
#include "pyusdt.h"
#include "erlang_stack.h"
#include "target/sites.h"
#include "iolist_text.h"
#include "vm_open_calls.h"
#include "vm.h"
#include "vm_watch.h"

#define OTP_LAST_NUMBER \
    1023 /* OTP takes numbers up to here for valid, and answers error beyond its last probe */
#define PID_SIZE 32

/* of the module; changed while code is loaded or purged only, which the emulator does in turn */
static int instances;

/* ---- an event, whose values are absent until they are set ---- */

static bool begin_firing(struct pyusdt_firing *firing, unsigned probe)
{
    if (!pyusdt_firing_begin(firing, probe, pyusdt_attached(probe)))
        return false;
    pyusdt_firing_no_more(firing, 0);
    return true;
}

static bool set_text(ErlNifEnv *env, struct pyusdt_firing *firing, unsigned arg,
                     struct pyusdt_iolist_text *text, ERL_NIF_TERM term)
{
    bool is_text = pyusdt_iolist_text_set(env, text, term);

    pyusdt_firing_text(firing, arg, text->address, text->length);
    return is_text;
}

/* The calling process as the shell shows it. Each scheduler keeps its last one, since a pid is
 * an immediate term. */
static const char *format_pid(ErlNifEnv *env, uint32_t *length)
{
    static _Thread_local struct {
        ERL_NIF_TERM pid;
        uint32_t length;
        char text[PID_SIZE];
    } last;
    ErlNifPid self;

    if (enif_self(env, &self) == NULL)
        return NULL;
    if (last.length == 0 || last.pid != self.pid) {
        int size = enif_snprintf(last.text, sizeof last.text, "%T", self.pid);
        last.pid = self.pid;
        last.length = size < 0 ? 0 : size < PID_SIZE ? (uint32_t)size : PID_SIZE - 1;
    }
    *length = last.length;
    return last.text;
}

/* The eight values, each in its place; those that were not given are atoms. */
static void fire_values(ErlNifEnv *env, struct pyusdt_firing *firing, ERL_NIF_TERM tag,
                        const ERL_NIF_TERM values[PYUSDT_VALUES])
{
    struct pyusdt_iolist_text tag_text, texts[PYUSDT_STRINGS];

    if (pyusdt_firing_reads(firing, PYUSDT_ARG_PROC))
        firing->args.value[PYUSDT_ARG_PROC] =
            (uintptr_t)format_pid(env, &firing->args.length[PYUSDT_ARG_PROC]);
    if (pyusdt_firing_reads(firing, PYUSDT_ARG_TAG))
        set_text(env, firing, PYUSDT_ARG_TAG, &tag_text, tag);
    for (unsigned i = 0; i < PYUSDT_INTEGERS; i++) {
        ErlNifSInt64 integer;
        if (enif_get_int64(env, values[i], &integer))
            firing->args.value[PYUSDT_ARG_INTEGER + i] = (uint64_t)integer;
    }
    for (unsigned i = 0; i < PYUSDT_STRINGS; i++)
        if (pyusdt_firing_reads(firing, PYUSDT_ARG_STRING + i))
            set_text(env, firing, PYUSDT_ARG_STRING + i, &texts[i], values[PYUSDT_INTEGERS + i]);
    pyusdt_firing_offer(firing);
}

/* p's rule: integers from the left, at most four, are integers; from the first that is none on,
 * all are strings. */
static bool place_values(ErlNifEnv *env, ERL_NIF_TERM list, ERL_NIF_TERM values[PYUSDT_VALUES])
{
    unsigned integers = 0, strings = 0;
    ERL_NIF_TERM value;

    for (unsigned i = 0; i < PYUSDT_VALUES; i++)
        values[i] = pyusdt_atoms.no;
    while (enif_get_list_cell(env, list, &value, &list)) {
        if (strings == 0 && integers < PYUSDT_INTEGERS &&
            enif_term_type(env, value) == ERL_NIF_TERM_TYPE_INTEGER)
            values[integers++] = value;
        else if (strings < PYUSDT_STRINGS)
            values[PYUSDT_INTEGERS + strings++] = value;
        else
            return false;
    }
    return true;
}

/* ---- the NIFs ---- */

static ERL_NIF_TERM make_boolean(bool value)
{
    return value ? pyusdt_atoms.yes : pyusdt_atoms.no;
}

/* The index of a numbered probe, or -1 and OTP's answer in that case. */
static int read_number(ErlNifEnv *env, ERL_NIF_TERM term, ERL_NIF_TERM *answer)
{
    unsigned number;

    if (!enif_get_uint(env, term, &number) || number > OTP_LAST_NUMBER) {
        *answer = pyusdt_atoms.badarg;
        return -1;
    }
    if (number >= PYUSDT_NUMBERED) {
        *answer = pyusdt_atoms.error;
        return -1;
    }
    return (int)(PYUSDT_USER_TRACE_N0 + number);
}

/* available() */
static ERL_NIF_TERM nif_available(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)env, (void)argc, (void)argv;
    return pyusdt_atoms.yes;
}

/* usdt(): are there probe sites that other tracers see? */
static ERL_NIF_TERM nif_usdt(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)env, (void)argc, (void)argv;
    return make_boolean(PYUSDT_SITES);
}

/* enabled(): user_trace-i4s4 */
static ERL_NIF_TERM nif_enabled(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)env, (void)argc, (void)argv;
    return make_boolean(pyusdt_enabled(PYUSDT_USER_TRACE_I4S4));
}

/* enabled(Number): user_trace-n<Number> */
static ERL_NIF_TERM nif_enabled_number(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM answer;
    int probe = read_number(env, argv[0], &answer);

    (void)argc;
    return probe < 0 ? answer : make_boolean(pyusdt_enabled((unsigned)probe));
}

/* given: the result of pyusdt_stack:context(). */
static ERL_NIF_TERM fire_list(ErlNifEnv *env, unsigned probe, ERL_NIF_TERM given, ERL_NIF_TERM list)
{
    ERL_NIF_TERM values[PYUSDT_VALUES], tag;
    uint64_t frames[PYUSDT_MAX_FRAMES];
    struct pyusdt_firing firing;

    if (!place_values(env, list, values))
        return enif_make_badarg(env);
    if (!begin_firing(&firing, probe))
        return pyusdt_atoms.no;
    tag = pyusdt_nif_read_stack(env, given, &firing, frames);
    fire_values(env, &firing, tag, values);
    return pyusdt_atoms.yes;
}

/* fire(Tag, Values): p's values, from the left */
static ERL_NIF_TERM nif_fire(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    return fire_list(env, PYUSDT_USER_TRACE_I4S4, argv[0], argv[1]);
}

/* fire(Number, Tag, Values) */
static ERL_NIF_TERM nif_fire_number(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM answer;
    int probe = read_number(env, argv[0], &answer);

    (void)argc;
    return probe < 0 ? answer : fire_list(env, (unsigned)probe, argv[1], argv[2]);
}

/* user_trace_i4s4(Tag, I1, I2, I3, I4, S1, S2, S3, S4): each value in its own place */
static ERL_NIF_TERM nif_user_trace_i4s4(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    struct pyusdt_firing firing;

    (void)argc;
    if (!pyusdt_enabled(PYUSDT_USER_TRACE_I4S4) || !begin_firing(&firing, PYUSDT_USER_TRACE_I4S4))
        return pyusdt_atoms.no;
    fire_values(env, &firing, argv[0], argv + 1);
    return pyusdt_atoms.yes;
}

/* user_trace_s1(Message) */
static ERL_NIF_TERM nif_user_trace_s1(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    struct pyusdt_iolist_text text;
    struct pyusdt_firing firing;

    (void)argc;
    if (!pyusdt_enabled(PYUSDT_USER_TRACE_S1) || !begin_firing(&firing, PYUSDT_USER_TRACE_S1))
        return pyusdt_atoms.no;
    if (!set_text(env, &firing, 0, &text, argv[0]))
        return pyusdt_atoms.badarg;
    pyusdt_firing_offer(&firing);
    return pyusdt_atoms.yes;
}

static ErlNifFunc functions[] = {
    {"available", 0, nif_available, 0},
    {"usdt", 0, nif_usdt, 0},
    {"enabled", 0, nif_enabled, 0},
    {"enabled", 1, nif_enabled_number, 0},
    {"wants_stack", 0, pyusdt_nif_wants_stack, 0},
    {"wants_stack", 1, pyusdt_nif_wants_stack, 0},
    {"fire", 2, nif_fire, 0},
    {"fire", 3, nif_fire_number, 0},
    {"user_trace_i4s4", 9, nif_user_trace_i4s4, 0},
    {"user_trace_s1", 1, nif_user_trace_s1, 0},
    {"check_provider", 1, pyusdt_nif_check, 0},
    {"define_probe", 3, pyusdt_nif_define, ERL_NIF_DIRTY_JOB_IO_BOUND},
    {"fire_probe", 2, pyusdt_nif_fire_probe, 0},
    {"probe_enabled", 1, pyusdt_nif_probe_enabled, 0},
    {"telemetry_probe", 2, pyusdt_nif_telemetry_probe, 0},
    {"vm_define", 1, pyusdt_nif_vm_define, ERL_NIF_DIRTY_JOB_IO_BOUND},
    {"vm_wanted", 0, pyusdt_nif_vm_wanted, 0},
    {"vm_check_sessions", 0, pyusdt_nif_vm_check_sessions, ERL_NIF_DIRTY_JOB_IO_BOUND},
    {"vm_any_module", 1, pyusdt_nif_vm_any_module, 0},
    {"vm_functions", 3, pyusdt_nif_vm_functions, ERL_NIF_DIRTY_JOB_CPU_BOUND},
    {"vm_conditions", 0, pyusdt_nif_vm_conditions, 0},
    {"vm_sessions", 3, pyusdt_nif_vm_sessions, 0},
    {"vm_is_matched", 2, pyusdt_nif_vm_is_matched, 0},
    {"secret_record", 3, pyusdt_nif_secret_record, 0},
    {"is_secret", 1, pyusdt_nif_is_secret, 0},
    {"vm_unmatched", 2, pyusdt_nif_vm_unmatched, ERL_NIF_DIRTY_JOB_CPU_BOUND},
    {"vm_watch", 1, pyusdt_nif_vm_watch, ERL_NIF_DIRTY_JOB_IO_BOUND},
    {"vm_set_controller", 1, pyusdt_nif_vm_set_controller, 0},
    {"vm_read_overrun", 0, pyusdt_nif_vm_read_overrun, 0},
    {"vm_begin", 3, pyusdt_nif_vm_begin, 0},
    {"vm_deep_processes", 0, pyusdt_nif_vm_deep_processes, ERL_NIF_DIRTY_JOB_CPU_BOUND},
    {"vm_watch_begin", 4, pyusdt_nif_vm_watch_begin, 0},
    {"vm_watch_end", 0, pyusdt_nif_vm_watch_end, 0},
    {"vm_watch_seen", 0, pyusdt_nif_vm_watch_seen, 0},
    {"vm_remark", 4, pyusdt_nif_vm_remark, ERL_NIF_DIRTY_JOB_IO_BOUND},
    {"vm_port", 3, pyusdt_nif_vm_port, 0},
    {"vm_peer", 3, pyusdt_nif_vm_peer, 0},
    {"vm_blocked", 4, pyusdt_nif_vm_blocked, 0},
    {"vm_fire", 2, pyusdt_nif_vm_fire, 0},
    {"enabled", 3, pyusdt_nif_vm_enabled, 0},
    {"trace", 5, pyusdt_nif_vm_trace, 0},
};

/* ---- being loaded ---- */

/* Without a control file (no run directory, say) USDT tracers still see the probes, so that is
 * no failure. */
static void publish_first_instance(void)
{
    static const struct pyusdt_probe_desc table[] = {PYUSDT_USER_TRACE_FAMILIES("pyusdt_nif.so")};

    if (instances++ == 0)
        pyusdt_publish(table, sizeof table / sizeof table[0]);
}

static int load(ErlNifEnv *env, void **priv_data, ERL_NIF_TERM load_info)
{
    (void)priv_data, (void)load_info;
    pyusdt_native_inner = 1;
    pyusdt_atoms_load(env);
    if (!pyusdt_app_probes_load(env) || !pyusdt_vm_load(env))
        return -1;
    publish_first_instance();
    return 0;
}

/* New code of the module while the old one still runs. */
static int upgrade(ErlNifEnv *env, void **priv_data, void **old_priv_data, ERL_NIF_TERM load_info)
{
    (void)old_priv_data;
    return load(env, priv_data, load_info);
}

static void unload(ErlNifEnv *env, void *priv_data)
{
    (void)env, (void)priv_data;
    if (--instances != 0)
        return;
    pyusdt_vm_unload();
    pyusdt_unpublish();
}

ERL_NIF_INIT(pyusdt_nif, functions, load, NULL, upgrade, unload)
