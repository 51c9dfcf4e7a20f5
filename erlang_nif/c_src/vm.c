/* The NIFs of the emulator's probes, except the tracer itself (see vm.h). */
#include "vm.h"

#include <string.h>

#include "atoms.h"
#include "secret_names.h"
#include "vm_calls.h"
#include "vm_events.h"
#include "vm_cache.h"
#include "vm_mfa.h"
#include "vm_open_calls.h"

#define BURSTS 10 /* checks of the rate in a second, at most */

static const uint16_t no_semaphore;

struct pyusdt_vm_state pyusdt_vm;

static const struct {
    const char *name, *arguments;
} probes[] = {
#define ROW(constant, name, arguments) {name, arguments},
    PYUSDT_VM_PROBES(ROW)
#undef ROW
};

static ERL_NIF_TERM names[PYUSDT_VM_COUNT]; /* atoms */
static ErlNifResourceType *monitor_type;
static void *controller_monitor; /* of the controlling process */

/* ---- being loaded ---- */

/* The controlling process has ended, and cannot remove our flags: the emulator will. */
static void controller_is_down(ErlNifEnv *env, void *object, ErlNifPid *pid, ErlNifMonitor *monitor)
{
    ERL_NIF_TERM gone = pid->pid;

    (void)env, (void)object, (void)monitor;
    if (atomic_compare_exchange_strong(&pyusdt_vm.controller, &gone, 0))
        atomic_store(&pyusdt_vm.processes, false);
}

static void clear_sites(void)
{
    static bool done;

    for (unsigned i = 0; !done && i < PYUSDT_VM_COUNT; i++)
        pyusdt_vm.site[i] =
            (struct pyusdt_probe_site){.index = PYUSDT_NO_PROBE, .semaphore = &no_semaphore};
    done = true;
}

int pyusdt_vm_load(ErlNifEnv *env)
{
    ErlNifResourceTypeInit init = {.down = controller_is_down};

    clear_sites();
    for (unsigned i = 0; i < PYUSDT_VM_COUNT; i++)
        names[i] = enif_make_atom(env, probes[i].name);
    monitor_type =
        enif_open_resource_type_x(env, "vm", &init, ERL_NIF_RT_CREATE | ERL_NIF_RT_TAKEOVER, NULL);
    return pyusdt_vm_trace_load(env) && monitor_type && pyusdt_vm_cache_load(&pyusdt_vm_ports) &&
           pyusdt_vm_cache_load(&pyusdt_vm_blocked);
}

/* ---- making the probes ---- */

static int find_probe(ERL_NIF_TERM name)
{
    for (int i = 0; i < PYUSDT_VM_COUNT; i++)
        if (names[i] == name)
            return i;
    return -1;
}

static bool is_entry(unsigned probe)
{
    return probe == PYUSDT_VM_LOCAL_FUNCTION_ENTRY || probe == PYUSDT_VM_GLOBAL_FUNCTION_ENTRY ||
           probe == PYUSDT_VM_BIF_ENTRY || probe == PYUSDT_VM_NIF_ENTRY;
}

/* Of functions, BIFs and NIFs. */
static void name_arguments(struct pyusdt_probe_def *def, unsigned probe)
{
    static const char *const entry[] = {"process", "function", "depth", "params", "caller"},
                             *const after[] = {"process", "function", "depth", "retval",
                                               "exception"};

    for (unsigned i = 0; i < def->nargs; i++)
        def->argument[i] = is_entry(probe) ? entry[i] : after[i];
}

static struct pyusdt_probe_def define_probe(unsigned probe)
{
    struct pyusdt_probe_def def = {.name = probes[probe].name,
                                   .nargs = (unsigned)strlen(probes[probe].arguments)};

    for (unsigned i = 0; i < def.nargs; i++)
        switch (probes[probe].arguments[i]) {
        case 's':
            def.type[i] = PYUSDT_STRING;
            break;
        case 'u':
            def.type[i] = PYUSDT_UINT | 4;
            break;
        case 'l':
            def.type[i] = PYUSDT_INT | 8;
            break;
        case 't':
            def.type[i] = PYUSDT_TERM;
            break;
        default:
            def.type[i] = PYUSDT_INT | 4;
        }
    def.places = probe >= PYUSDT_VM_LOCAL_FUNCTION_ENTRY;
    if (def.places)
        name_arguments(&def, probe);
    return def;
}

/* The probes of a list of names. -1: one is not known, or too many are named. */
static int read_names(ErlNifEnv *env, ERL_NIF_TERM list, unsigned which[PYUSDT_VM_COUNT])
{
    ERL_NIF_TERM name;
    int n = 0;

    while (enif_get_list_cell(env, list, &name, &list)) {
        int probe = find_probe(name);
        if (probe < 0 || n == PYUSDT_VM_COUNT)
            return -1;
        which[n++] = (unsigned)probe;
    }
    return n;
}

ERL_NIF_TERM pyusdt_nif_vm_define(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    struct pyusdt_probe_site sites[PYUSDT_VM_COUNT];
    struct pyusdt_probe_def defs[PYUSDT_VM_COUNT];
    unsigned which[PYUSDT_VM_COUNT];
    int n = read_names(env, argv[0], which);
    struct pyusdt_error why;
    char path[4096];

    (void)argc;
    if (n <= 0)
        return enif_make_badarg(env);
    for (int i = 0; i < n; i++)
        defs[i] = define_probe(which[i]);
    if (pyusdt_provider_define("erlang", defs, (unsigned)n, sites, path, sizeof path, &why) < 0)
        return enif_make_tuple2(env, pyusdt_atoms.error,
                                enif_make_string(env, why.message, ERL_NIF_LATIN1));
    for (int i = 0; i < n; i++)
        pyusdt_vm.site[which[i]] = sites[i];
    return pyusdt_atoms.ok;
}

/* ---- demand ---- */

ERL_NIF_TERM pyusdt_nif_vm_wanted(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM list = enif_make_list(env, 0);

    (void)argc, (void)argv;
    for (unsigned i = PYUSDT_VM_COUNT; i-- > 0;)
        if (pyusdt_vm_is_wanted(i))
            list = enif_make_list_cell(env, names[i], list);
    return list;
}

/* Bits of the arguments that a match specification has to read: a token, which follows the size, or
 * the caller. */
static uint32_t token_bits(unsigned probe)
{
    if (is_entry(probe))
        return 1u << PYUSDT_VM_CALLER;
    switch (probe) {
    case PYUSDT_VM_MESSAGE_SEND:
        return 7u << 3;
    case PYUSDT_VM_MESSAGE_SEND_REMOTE:
        return 7u << 4;
    default:
        return 0;
    }
}

ERL_NIF_TERM pyusdt_nif_vm_check_sessions(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM list = enif_make_list(env, 0);
    struct pyusdt_firing firing;

    (void)argc, (void)argv;
    for (unsigned i = PYUSDT_VM_COUNT; i-- > 0;)
        if (pyusdt_firing_begin_at(&firing, &pyusdt_vm.site[i]) &&
            (firing.reads & token_bits(i)) != 0)
            list = enif_make_list_cell(env, names[i], list);
    return list;
}

static bool read_text(ErlNifEnv *env, ERL_NIF_TERM term, char *text, size_t size)
{
    ErlNifBinary binary;

    if (!enif_inspect_binary(env, term, &binary) || binary.size >= size)
        return false;
    memcpy(text, binary.data, binary.size);
    text[binary.size] = '\0';
    return true;
}

/* ---- conditions on parameters (pyusdt_vm_conditions.erl) ---- */

#define CONDITIONS_ROOT 8 /* PYUSDT_FETCH_OF_ERLANG */
#define CONDITIONS_HEAD 8 /* bytes */

static ERL_NIF_TERM make_bytes(ErlNifEnv *env, const void *bytes, size_t size)
{
    ERL_NIF_TERM binary;

    memcpy(enif_make_new_binary(env, size, &binary), bytes, size);
    return binary;
}

/* The terms behind the heads; none: the session has none, or is just changing. */
static ERL_NIF_TERM add_conditions(ErlNifEnv *env, unsigned number, ERL_NIF_TERM list)
{
    struct pyusdt_path paths[PYUSDT_MAX_ARGS];
    uint64_t generation;
    unsigned n = pyusdt_session_paths(number, paths, PYUSDT_MAX_ARGS, &generation);

    for (unsigned i = 0; i < n; i++)
        if (paths[i].size > CONDITIONS_HEAD && paths[i].size <= sizeof paths[i].bytes &&
            paths[i].bytes[5] == CONDITIONS_ROOT)
            list = enif_make_list_cell(
                env,
                enif_make_tuple2(env, enif_make_uint(env, number),
                                 make_bytes(env, paths[i].bytes + CONDITIONS_HEAD,
                                            paths[i].size - CONDITIONS_HEAD)),
                list);
    return list;
}

ERL_NIF_TERM pyusdt_nif_vm_conditions(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM list = enif_make_list(env, 0);

    (void)argc, (void)argv;
    for (unsigned number = 0; number < PYUSDT_MAX_SESSIONS; number++)
        if (pyusdt_session_has_paths(number))
            list = add_conditions(env, number, list);
    return list;
}

ERL_NIF_TERM pyusdt_nif_vm_sessions(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    char module[PYUSDT_VM_NAME], function[PYUSDT_VM_NAME];
    ERL_NIF_TERM list = enif_make_list(env, 0);
    int probe = find_probe(argv[0]);
    uint64_t wanting;

    (void)argc;
    if (probe < PYUSDT_VM_LOCAL_FUNCTION_ENTRY)
        return enif_make_badarg(env);
    if (*pyusdt_vm.site[probe].semaphore != 0)
        return pyusdt_atoms.yes;
    pyusdt_vm_write_name(argv[1], module);
    pyusdt_vm_write_name(argv[2], function);
    wanting = pyusdt_place_wanted(pyusdt_vm.site[probe].index, module, function);
    for (wanting &= PYUSDT_VM_SESSIONS; wanting != 0; wanting &= wanting - 1)
        list = enif_make_list_cell(env, enif_make_int(env, __builtin_ctzll(wanting)), list);
    return list;
}

ERL_NIF_TERM pyusdt_nif_vm_is_matched(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    char pattern[PYUSDT_VM_NAME], name[PYUSDT_VM_NAME];

    (void)argc;
    if (!read_text(env, argv[0], pattern, sizeof pattern))
        return enif_make_badarg(env);
    pyusdt_vm_write_name(argv[1], name);
    return pattern[0] == '\0' || pyusdt_glob(pattern, name) ? pyusdt_atoms.yes : pyusdt_atoms.no;
}

ERL_NIF_TERM pyusdt_nif_is_secret(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc;
    return pyusdt_is_secret_key(env, argv[0]) ? pyusdt_atoms.yes : pyusdt_atoms.no;
}

/* ---- functions ---- */

/* The sessions that want the probe of any module, by a clause that names none: they also want it of
 * a module that cannot exist. */
static uint64_t find_sessions_of_any_module(unsigned probe)
{
    static const char none[] = "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1";

    return pyusdt_place_wanted(pyusdt_vm.site[probe].index, none, none) & PYUSDT_VM_SESSIONS;
}

ERL_NIF_TERM pyusdt_nif_vm_any_module(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    int probe = find_probe(argv[0]);

    (void)argc;
    if (probe < PYUSDT_VM_LOCAL_FUNCTION_ENTRY)
        return enif_make_badarg(env);
    return *pyusdt_vm.site[probe].semaphore != 0 ||
                   find_sessions_of_any_module((unsigned)probe) != 0
               ? pyusdt_atoms.yes
               : pyusdt_atoms.no;
}

static bool is_wanted_at(unsigned index, uint64_t open, const char *module, ERL_NIF_TERM function)
{
    char name[PYUSDT_VM_NAME];

    pyusdt_vm_write_name(function, name);
    return (pyusdt_place_wanted(index, module, name) & PYUSDT_VM_SESSIONS & ~open) != 0;
}

ERL_NIF_TERM pyusdt_nif_vm_functions(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM pair, all = argv[2], list = enif_make_list(env, 0);
    int n, probe = find_probe(argv[0]);
    char module[PYUSDT_VM_NAME];
    const ERL_NIF_TERM *parts;
    uint64_t open;

    (void)argc;
    if (probe < PYUSDT_VM_LOCAL_FUNCTION_ENTRY)
        return enif_make_badarg(env);
    pyusdt_vm_write_name(argv[1], module);
    open = find_sessions_of_any_module((unsigned)probe);
    while (enif_get_list_cell(env, all, &pair, &all))
        if (enif_get_tuple(env, pair, &n, &parts) && n == 2 &&
            is_wanted_at(pyusdt_vm.site[probe].index, open, module, parts[0]))
            list = enif_make_list_cell(env, pair, list);
    return list;
}

#define PATTERNS_COMPARED 64u /* of one probe */

struct asked {
    char module[PYUSDT_PLACE_MODULE + 1], function[PYUSDT_PLACE_FUNCTION + 1];
};

static bool has_function(ErlNifEnv *env, ERL_NIF_TERM functions, const char *pattern)
{
    char name[PYUSDT_VM_NAME];
    const ERL_NIF_TERM *parts;
    ERL_NIF_TERM pair;
    int n;

    while (enif_get_list_cell(env, functions, &pair, &functions))
        if (enif_get_tuple(env, pair, &n, &parts) && n == 2) {
            pyusdt_vm_write_name(parts[0], name);
            if (pyusdt_glob(pattern, name))
                return true;
        }
    return false;
}

/* Whether one of the functions matches; *is_module: one of the modules does. */
static bool is_matched(ErlNifEnv *env, ERL_NIF_TERM all, const struct asked *asked, bool *is_module)
{
    char name[PYUSDT_VM_NAME];
    const ERL_NIF_TERM *parts;
    ERL_NIF_TERM pair;
    int n;

    *is_module = false;
    while (enif_get_list_cell(env, all, &pair, &all)) {
        if (!enif_get_tuple(env, pair, &n, &parts) || n != 2)
            continue;
        pyusdt_vm_write_name(parts[0], name);
        if (!pyusdt_glob(asked->module, name))
            continue;
        *is_module = true;
        if (has_function(env, parts[1], asked->function))
            return true;
    }
    return false;
}

static ERL_NIF_TERM make_binary(ErlNifEnv *env, const char *text)
{
    return make_bytes(env, text, strlen(text));
}

ERL_NIF_TERM pyusdt_nif_vm_unmatched(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM list = enif_make_list(env, 0);
    int probe = find_probe(argv[0]);
    struct asked asked;
    bool is_module;

    (void)argc;
    if (probe < PYUSDT_VM_LOCAL_FUNCTION_ENTRY)
        return enif_make_badarg(env);
    for (unsigned n = 0;
         n < PATTERNS_COMPARED &&
         pyusdt_place_pattern(pyusdt_vm.site[probe].index, n, asked.module, asked.function);
         n++)
        if (asked.module[0] && !is_matched(env, argv[1], &asked, &is_module))
            list = enif_make_list_cell(
                env,
                enif_make_tuple3(env, make_binary(env, asked.module),
                                 make_binary(env, asked.function),
                                 is_module ? pyusdt_atoms.yes : pyusdt_atoms.no),
                list);
    return list;
}

/* ---- the watcher ---- */

/* On the watcher's thread. */
static void on_changed(void *unused)
{
    ErlNifPid controller = {atomic_load(&pyusdt_vm.controller)};
    ErlNifEnv *env = controller.pid != 0 ? enif_alloc_env() : NULL;

    (void)unused;
    if (!env)
        return;
    enif_send(NULL, &controller, env, pyusdt_atoms.changed);
    enif_free_env(env);
}

static struct pyusdt_watch watch = {
    .changed = on_changed, .sites = pyusdt_vm.site, .n = PYUSDT_VM_COUNT};
static bool is_watching; /* by the controlling process only, except when the library is unloaded */

ERL_NIF_TERM pyusdt_nif_vm_watch(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)env, (void)argc;
    if (argv[0] != pyusdt_atoms.yes)
        pyusdt_vm_unload();
    else if (!is_watching)
        is_watching = pyusdt_watch_start(&watch) == 0;
    return is_watching ? pyusdt_atoms.yes : pyusdt_atoms.no;
}

void pyusdt_vm_unload(void)
{
    if (is_watching)
        pyusdt_watch_stop(&watch);
    is_watching = false;
}

/* ---- the controlling process ---- */

static bool monitor_controller(ErlNifEnv *env, const ErlNifPid *pid)
{
    if (atomic_load(&pyusdt_vm.controller) == pid->pid)
        return true;
    if (!controller_monitor)
        controller_monitor = enif_alloc_resource(monitor_type, 1);
    if (!controller_monitor || enif_monitor_process(env, controller_monitor, pid, NULL) != 0)
        return false;
    atomic_store(&pyusdt_vm.controller, pid->pid);
    return true;
}

ERL_NIF_TERM pyusdt_nif_vm_set_controller(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifPid self;

    (void)argc;
    if (!enif_self(env, &self) || !monitor_controller(env, &self))
        return enif_make_badarg(env);
    atomic_store(&pyusdt_vm.processes, argv[0] == pyusdt_atoms.yes);
    return pyusdt_atoms.ok;
}

ERL_NIF_TERM pyusdt_nif_vm_read_overrun(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    unsigned took = atomic_load(&pyusdt_vm.overrun);

    (void)argc, (void)argv;
    if (took == 0)
        return pyusdt_atoms.no;
    return enif_make_tuple2(env, enif_make_uint(env, atomic_load(&pyusdt_vm.burst)),
                            enif_make_uint(env, took));
}

ERL_NIF_TERM pyusdt_nif_vm_begin(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    unsigned rate, depth;

    (void)argc;
    if (!enif_get_uint(env, argv[0], &rate) || !enif_get_uint(env, argv[1], &depth))
        return enif_make_badarg(env);
    atomic_store(&pyusdt_vm.secrets, argv[2] == pyusdt_atoms.yes);
    pyusdt_vm_open_calls_begin(depth);
    atomic_store(&pyusdt_vm.burst, rate == 0 ? 0 : rate < BURSTS ? 1 : rate / BURSTS);
    atomic_store(&pyusdt_vm.overrun, 0);
    return pyusdt_atoms.ok;
}

ERL_NIF_TERM pyusdt_nif_vm_remark(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    char probe_names[PYUSDT_PLACE_FUNCTION + 1], text[PYUSDT_PLACE_FILE + 1];
    bool has_text = read_text(env, argv[2], text, sizeof text);
    unsigned number;

    (void)argc;
    if (!enif_get_uint(env, argv[0], &number) || number >= PYUSDT_REMARKS ||
        !read_text(env, argv[1], probe_names, sizeof probe_names) ||
        (!has_text && !enif_is_atom(env, argv[2])))
        return enif_make_badarg(env);
    return pyusdt_remark_set(number, "erlang", probe_names, has_text ? text : NULL,
                             argv[3] == pyusdt_atoms.absent  ? PYUSDT_REMARK_ABSENT
                             : argv[3] == pyusdt_atoms.later ? PYUSDT_REMARK_HINT
                                                             : PYUSDT_REMARK_REFUSED) == 0
               ? pyusdt_atoms.yes
               : pyusdt_atoms.no;
}

/* ---- messages to the controlling process ---- */

ERL_NIF_TERM pyusdt_nif_vm_blocked(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)env, (void)argc;
    pyusdt_vm_cache_put(&pyusdt_vm_blocked,
                        &(struct pyusdt_vm_blocked){argv[0], argv[1], argv[2], argv[3]});
    return pyusdt_atoms.ok;
}

ERL_NIF_TERM pyusdt_nif_vm_port(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    struct pyusdt_vm_port port = {.port = argv[0], .owner = argv[1]};

    (void)argc;
    if (enif_get_string(env, argv[2], port.name, sizeof port.name, ERL_NIF_LATIN1) == 0)
        return enif_make_badarg(env);
    pyusdt_vm_cache_put(&pyusdt_vm_ports, &port);
    return pyusdt_atoms.ok;
}

ERL_NIF_TERM pyusdt_nif_vm_peer(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    struct pyusdt_vm_peer peer = {.port = argv[0]};

    (void)argc;
    if (!enif_is_port(env, argv[0]) || !pyusdt_vm_inet_address(env, argv[1], argv[2], peer.peer))
        return enif_make_badarg(env);
    pyusdt_vm_cache_put(&pyusdt_vm_peers, &peer);
    return pyusdt_atoms.ok;
}

ERL_NIF_TERM pyusdt_nif_vm_fire(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM value, list = argv[1];
    int probe = find_probe(argv[0]);
    struct pyusdt_vm_event event;

    (void)argc;
    if (probe < 0)
        return enif_make_badarg(env);
    if (!pyusdt_vm_event_begin(&event, env, (unsigned)probe))
        return pyusdt_atoms.no;
    for (unsigned i = 0; probes[probe].arguments[i] && enif_get_list_cell(env, list, &value, &list);
         i++)
        if (probes[probe].arguments[i] == 's' && enif_is_binary(env, value))
            pyusdt_vm_put_binary(&event, i, value);
        else if (probes[probe].arguments[i] == 's')
            pyusdt_vm_put(&event, i, value);
        else
            pyusdt_vm_put_number(&event, i, value);
    pyusdt_vm_event_offer(&event, (unsigned)probe);
    return pyusdt_atoms.yes;
}
