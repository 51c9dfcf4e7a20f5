/* See session_values.h. */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include "_core_c/vm/session_values.h"

#include <stddef.h>
#include <string.h>

#include "_core_c/vm/fetch_program.h"
#include "_core_c/vm/object_locks.h"
#include "_core_c/vm/python_provider.h"
#include "_core_c/vm/secret_names.h"
#include "_core_c/vm/unknown_variables.h"
#include "_core_c/vm/value_conditions.h"
#include "shared/os.h"

#define PATHS (PYUSDT_MAX_ARGS - PYUSDT_PATH_ARG)
#define SECOND 1000000000ull
#define CODE_PROBES (PYUSDT_VM_BIT(PYUSDT_VM_CODE_PROBES) - 1)

/* With the GIL, which no step between filling a buffer and firing gives up. Without it a session's
 * programs have readers, or one thread that changes them. */
static struct compiled {
    uint64_t generation;
    unsigned n;
    struct pyusdt_fetch_program *program[PATHS]; /* NULL: its values are absent */
    struct pyusdt_conditions conditions;         /* all zeros: none */
    const char *wrong;                           /* why values are absent, or NULL */
    uint32_t redactions;                         /* of the program, when they were compiled */
    uint32_t rate; /* bytes of values a second; 0: as many as there are */
    struct pyusdt_variables_seen variables;
} compiled[PYUSDT_MAX_SESSIONS];

/* Why events of a session were dropped, or parts of its values are <busy>. */
enum flag { FOR_RATE, FOR_BUSY, IS_CUT, FLAGS };

static const char *const flag_texts[FLAGS] = {
    [FOR_RATE] =
        "events are dropped: their values are more bytes a second than -x valuerate allows",
    [FOR_BUSY] = "events are dropped: other threads were just changing their values",
    [IS_CUT] = "some values are <busy>: other threads were just changing them",
};

/* The session that it is true of. */
static uint64_t flags[PYUSDT_MAX_SESSIONS][FLAGS];
uint64_t pyusdt_vm_line_deciders;
static PYUSDT_PER_THREAD char texts[PATHS][PYUSDT_FETCH_TEXT];

/* ---- who uses the programs of a session ---- */

#ifdef Py_GIL_DISABLED

#define IS_CHANGING (1u << 31)

static uint32_t users[PYUSDT_MAX_SESSIONS]; /* readers, or IS_CHANGING */

enum { TRIES = 1000 }; /* readers are there for a microsecond */

static void end_reading(unsigned number)
{
    __atomic_sub_fetch(&users[number], 1, __ATOMIC_RELEASE);
}

/* 0: they are just changed. */
static int begin_reading(unsigned number)
{
    if ((__atomic_add_fetch(&users[number], 1, __ATOMIC_ACQUIRE) & IS_CHANGING) == 0)
        return 1;
    end_reading(number);
    return 0;
}

/* 0: others use them. */
static int begin_changing(unsigned number)
{
    for (int i = 0; i < TRIES; i++) {
        uint32_t none = 0;

        if (__atomic_compare_exchange_n(&users[number], &none, IS_CHANGING, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return 1;
    }
    return 0;
}

static void end_changing(unsigned number)
{
    __atomic_and_fetch(&users[number], ~IS_CHANGING, __ATOMIC_RELEASE);
}

#else

static void end_reading(unsigned number)
{
    (void)number;
}

static int begin_reading(unsigned number)
{
    (void)number;
    return 1;
}

static int begin_changing(unsigned number)
{
    (void)number;
    return 1;
}

static void end_changing(unsigned number)
{
    (void)number;
}

#endif

/* ---- why values are absent ---- */

static int is_supported(void)
{
    return pyusdt_fetch_is_supported();
}

void pyusdt_vm_paths_start(void)
{
    pyusdt_follows_paths = is_supported();
}

static int is_of_erlang(const struct pyusdt_path *path)
{
    struct pyusdt_fetch_head head = {0};

    memcpy(&head, path->bytes, path->size < sizeof head ? path->size : sizeof head);
    return head.root == PYUSDT_FETCH_OF_ERLANG;
}

/* Of the paths of a session: those of the language. */
static int reads_values(unsigned number)
{
    struct pyusdt_path paths[PATHS];
    uint64_t generation;
    unsigned n = pyusdt_session_paths(number, paths, PATHS, &generation), found = 0;

    for (unsigned i = 0; i < n; i++)
        found += !is_of_erlang(&paths[i]) && !pyusdt_conditions_are(paths[i].bytes, paths[i].size);
    return found != 0;
}

static const char *find_wrong(unsigned number)
{
    uint64_t generation = pyusdt_session_paths_generation(number);
    const char *wrong = NULL;

    if (!is_supported() && reads_values(number))
        return "values (local, global, retval, exception) of this CPython cannot be read";
    if (__atomic_load_n(&compiled[number].generation, __ATOMIC_ACQUIRE) == generation)
        wrong = __atomic_load_n(&compiled[number].wrong, __ATOMIC_RELAXED);
    for (unsigned flag = 0; wrong == NULL && flag < FLAGS; flag++)
        if (__atomic_load_n(&flags[number][flag], __ATOMIC_RELAXED) == generation)
            wrong = flag_texts[flag];
    return wrong;
}

/* Of the sessions whose tracers are still there. */
static const char *find_reason(void)
{
    const char *wrong = NULL;

    for (unsigned number = 0; wrong == NULL && number < PYUSDT_MAX_SESSIONS; number++)
        if (pyusdt_session_has_paths(number))
            wrong = find_wrong(number);
    return wrong;
}

static const char *explained;

int pyusdt_vm_paths_must_explain(void)
{
    return find_reason() != __atomic_load_n(&explained, __ATOMIC_RELAXED);
}

/* Without the GIL two threads may come at once; the watcher does what one of them leaves. */
void pyusdt_vm_paths_explain(void)
{
    static char is_explaining;
    const char *reason;

    if (__atomic_test_and_set(&is_explaining, __ATOMIC_ACQUIRE))
        return;
    reason = find_reason();
    __atomic_store_n(&explained, reason, __ATOMIC_RELAXED);
    pyusdt_vm_set_reason(PYUSDT_VM_REASON_VALUES, CODE_PROBES, reason);
    __atomic_clear(&is_explaining, __ATOMIC_RELEASE);
}

static void report_once(unsigned number, enum flag flag)
{
    uint64_t generation = pyusdt_session_paths_generation(number);

    if (__atomic_exchange_n(&flags[number][flag], generation, __ATOMIC_RELAXED) != generation)
        pyusdt_vm_paths_explain();
}

static void drop(unsigned number, unsigned probe, enum flag why)
{
    pyusdt_drop_event(number, probe);
    report_once(number, why);
}

/* ---- the programs of a session ---- */

static void free_programs(struct compiled *session)
{
    for (unsigned i = 0; i < session->n; i++)
        pyusdt_fetch_free(session->program[i]);
}

/* The conditions and the rate are behind all paths. */
static void add_program(struct compiled *session, unsigned i, const struct pyusdt_path *path)
{
    struct pyusdt_fetch_head head;
    const char *wrong;

    if (is_of_erlang(path))
        return;
    if (path->size == sizeof head &&
        (memcpy(&head, path->bytes, sizeof head), head.root == PYUSDT_FETCH_RATE)) {
        session->rate = head.most;
        return;
    }
    if (pyusdt_conditions_are(path->bytes, path->size)) {
        if (!pyusdt_conditions_load(path->bytes, path->size, i, &session->conditions))
            session->conditions = (struct pyusdt_conditions){0};
        return;
    }
    session->program[i] = pyusdt_fetch_load(path->bytes, path->size, &wrong);
    if (session->program[i] == NULL && wrong != NULL)
        session->wrong = wrong;
}

/* 0: they could not be changed. Bytes that are no program make an exception, up to CPython 3.11 a
 * collection with it, and so more events. */
__attribute__((noinline)) static int compile_paths(unsigned number)
{
    struct pyusdt_path paths[PATHS];
    struct compiled session = {0};

    session.redactions = pyusdt_redactions();
    session.n = pyusdt_session_paths(number, paths, PATHS, &session.generation);
    for (unsigned i = 0; i < session.n; i++)
        add_program(&session, i, &paths[i]);
    if (!begin_changing(number)) {
        free_programs(&session);
        return 0;
    }
    free_programs(&compiled[number]);
    compiled[number] = session;
    if (pyusdt_conditions_have_line(&session.conditions, PYUSDT_VM_BIT(PYUSDT_VM_LINE)))
        __atomic_fetch_or(&pyusdt_vm_line_deciders, 1ull << number, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(&pyusdt_vm_line_deciders, ~(1ull << number), __ATOMIC_RELAXED);
    end_changing(number);
    pyusdt_vm_paths_explain();
    return session.generation != 0;
}

static int is_compiled(unsigned number, uint64_t generation)
{
    return __atomic_load_n(&compiled[number].generation, __ATOMIC_ACQUIRE) == generation &&
           __atomic_load_n(&compiled[number].redactions, __ATOMIC_RELAXED) == pyusdt_redactions();
}

/* The programs of the session in a slot now, until end_reading(); NULL: it has none, or they are just
 * changing. */
static struct compiled *find_programs(unsigned number)
{
    uint64_t generation = pyusdt_session_paths_generation(number);
    struct compiled *session = &compiled[number];

    if (generation == 0)
        return NULL;
    if ((is_compiled(number, generation) || compile_paths(number)) && begin_reading(number)) {
        if (is_compiled(number, generation))
            return session;
        end_reading(number);
    }
    return NULL;
}

void pyusdt_vm_paths_prepare(void)
{
    for (unsigned number = 0; number < PYUSDT_MAX_SESSIONS; number++) {
        uint64_t generation = pyusdt_session_paths_generation(number);

        if (generation != 0 && !is_compiled(number, generation))
            compile_paths(number);
    }
}

/* ---- variables that functions do not have ---- */

enum { CHECK_TRIES = 1000 };

static void report_unknown(struct compiled *session, const char *text, int is_named)
{
    if (!is_named) {
        pyusdt_remark_set(PYUSDT_VM_HINT, "python", pyusdt_vm_code_names, text, PYUSDT_REMARK_HINT);
        return;
    }
    if (session->wrong != NULL) /* one at a time */
        return;
    session->wrong = text;
    pyusdt_vm_set_reason(PYUSDT_VM_REASON_VALUES, CODE_PROBES, NULL);
    pyusdt_vm_paths_explain();
}

static void check_session(struct compiled *session, unsigned number, PyCodeObject *code,
                          unsigned probe, const char *module, const char *function)
{
    uint32_t named;
    uint32_t args =
        pyusdt_place_arguments(probe, number, module, function, &named) >> PYUSDT_PATH_ARG;

    for (unsigned i = 0; i < session->n; i++) {
        PyObject *name =
            session->program[i] != NULL ? pyusdt_fetch_variable(session->program[i]) : NULL;
        struct pyusdt_traced_function traced = {module, function,
                                                named >> (PYUSDT_PATH_ARG + i) & 1};
        const char *text = name != NULL && args >> i & 1
                               ? pyusdt_variables_note(&session->variables, i, name, code, &traced)
                               : NULL;

        if (text != NULL)
            report_unknown(session, text, traced.is_named);
    }
}

/* Without the GIL one thread at a time. */
static void check_variables(unsigned number, PyCodeObject *code, unsigned probe, const char *module,
                            const char *function)
{
    static char is_checking;
    struct compiled *session = find_programs(number);

    if (session == NULL)
        return;
    for (int i = 0; i < CHECK_TRIES; i++) {
        if (__atomic_test_and_set(&is_checking, __ATOMIC_ACQUIRE))
            continue;
        check_session(session, number, code, probe, module, function);
        __atomic_clear(&is_checking, __ATOMIC_RELEASE);
        break;
    }
    end_reading(number);
}

void pyusdt_vm_paths_check(PyCodeObject *code, unsigned probe, uint64_t sessions,
                           const char *module, const char *function)
{
    for (; sessions != 0 && is_supported(); sessions &= sessions - 1) {
        unsigned number = (unsigned)__builtin_ctzll(sessions);

        if (number < PYUSDT_MAX_SESSIONS)
            check_variables(number, code, probe, module, function);
    }
}

/* ---- lines ---- */

static int allows_line(unsigned number, int line)
{
    struct compiled *session = find_programs(number);
    int allows;

    if (session == NULL)
        return 1;
    allows =
        pyusdt_conditions_allow_line(&session->conditions, PYUSDT_VM_BIT(PYUSDT_VM_LINE), line);
    end_reading(number);
    return allows;
}

uint64_t pyusdt_vm_paths_at_line(uint64_t sessions, int line)
{
    uint64_t deciding = sessions & __atomic_load_n(&pyusdt_vm_line_deciders, __ATOMIC_RELAXED);

    for (; deciding != 0; deciding &= deciding - 1) {
        unsigned number = (unsigned)__builtin_ctzll(deciding);

        if (!allows_line(number, line))
            sessions &= ~(1ull << number);
    }
    return sessions;
}

/* ---- events ---- */

static void set_absent(struct pyusdt_firing *firing)
{
    memset(&firing->args.value[PYUSDT_PATH_ARG], 0, PATHS * sizeof firing->args.value[0]);
    memset(&firing->args.length[PYUSDT_PATH_ARG], 0, PATHS * sizeof firing->args.length[0]);
}

/* The values of an event for a session, each read when it is needed first. */
struct reading {
    struct compiled *session;
    const struct pyusdt_firing *firing;
    const struct pyusdt_pyvm_event *event;
    /* done: they are read; busy: they are absent because another thread was just changing them; cut:
     * whole values, a part of which is <busy> */
    uint32_t done, busy, cut;
    struct pyusdt_fetched found[PATHS];
};

static PyObject *find_given(const struct pyusdt_fetch_program *program,
                            const struct pyusdt_pyvm_event *event)
{
    if (!pyusdt_fetch_is_of_exception(program))
        return event->returned;
    return event->exception != NULL ? event->exception : event->unwinding;
}

static const struct pyusdt_fetched *read_path(void *from, unsigned i, const char **text)
{
    struct reading *reading = from;
    const struct pyusdt_fetch_program *program = reading->session->program[i];

    *text = texts[i];
    if (reading->done >> i & 1)
        return &reading->found[i];
    reading->done |= 1u << i;
    if (program != NULL)
        pyusdt_fetch_run(program, find_given(program, reading->event), texts[i],
                         &reading->found[i]);
    else
        reading->found[i].present = reading->found[i].busy = 0;
    if (reading->found[i].busy)
        *(reading->found[i].present ? &reading->cut : &reading->busy) |= 1u << i;
    return &reading->found[i];
}

static int64_t read_argument(void *from, unsigned number)
{
    return (int64_t)((const struct reading *)from)->firing->args.value[number];
}

static void set_value(struct pyusdt_firing *firing, unsigned i, struct reading *reading)
{
    const char *text;
    const struct pyusdt_fetched *found = read_path(reading, i, &text);

    if (!found->present)
        return;
    if (pyusdt_fetch_text_size(reading->session->program[i]) != 0) {
        firing->args.value[PYUSDT_PATH_ARG + i] = (uint64_t)(uintptr_t)text;
        firing->args.length[PYUSDT_PATH_ARG + i] = found->length;
    } else {
        firing->args.value[PYUSDT_PATH_ARG + i] = (uint64_t)found->number; /* its length stays 0 */
    }
}

static void fire(const struct pyusdt_firing *firing, uint32_t place, uint64_t session)
{
    if (pyusdt_firing_wants_stack(firing))
        pyusdt_fire_with_stack(firing->probe, place, session, &firing->args);
    else
        pyusdt_fire_at(firing->probe, place, session, &firing->args);
}

/* ---- how many bytes ---- */

/* Of each session: bytes that are left, at most those of a second, and until when they were added. */
static struct budget {
    uint64_t generation, counted_until;
    int64_t left;
} budgets[PYUSDT_MAX_SESSIONS];

/* Without the GIL one of several threads adds, the others find what there is. */
static void add_to_budget(struct budget *budget, const struct compiled *session)
{
    uint64_t now = pyusdt_now(), before = __atomic_load_n(&budget->counted_until, __ATOMIC_RELAXED);
    int64_t left = __atomic_load_n(&budget->left, __ATOMIC_RELAXED), most = session->rate;
    uint64_t elapsed = now - before < SECOND ? now - before : SECOND;
    int64_t more = (int64_t)(elapsed * session->rate / SECOND);

    if (more == 0 || !__atomic_compare_exchange_n(&budget->counted_until, &before, now, 0,
                                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    if (left + more > most)
        more = most - left;
    __atomic_add_fetch(&budget->left, more, __ATOMIC_RELAXED);
}

/* Whether values may be read for the session now. */
static int has_budget(unsigned number, const struct compiled *session)
{
    struct budget *budget = &budgets[number];

    if (session->rate == 0)
        return 1;
    if (__atomic_load_n(&budget->generation, __ATOMIC_RELAXED) != session->generation) {
        __atomic_store_n(&budget->generation, session->generation, __ATOMIC_RELAXED);
        __atomic_store_n(&budget->counted_until, pyusdt_now(), __ATOMIC_RELAXED);
        __atomic_store_n(&budget->left, session->rate, __ATOMIC_RELAXED);
    }
    if (__atomic_load_n(&budget->left, __ATOMIC_RELAXED) <= 0)
        add_to_budget(budget, session);
    return __atomic_load_n(&budget->left, __ATOMIC_RELAXED) > 0;
}

/* What the arguments of an event have taken: a number has 8 bytes, a text its own. */
static void charge(unsigned number, const struct pyusdt_firing *firing, uint32_t demand)
{
    int64_t size = 0;

    for (unsigned i = PYUSDT_PATH_ARG; i < PYUSDT_MAX_ARGS; i++)
        if (demand >> i & 1)
            size +=
                firing->args.length[i] != 0 ? firing->args.length[i] : (int64_t)sizeof(uint64_t);
    __atomic_sub_fetch(&budgets[number].left, size, __ATOMIC_RELAXED);
}

/* Fires with the values. An event whose values are busy is a drop, as nothing says what they are. */
static void fire_with_values(struct pyusdt_firing *firing, uint32_t place, unsigned number,
                             struct reading *reading, uint32_t demand)
{
    for (unsigned i = 0; i < reading->session->n; i++)
        if (demand >> (PYUSDT_PATH_ARG + i) & 1)
            set_value(firing, i, reading);
    if (reading->busy != 0)
        drop(number, firing->probe, FOR_BUSY);
    else {
        if (reading->cut != 0)
            report_once(number, IS_CUT);
        if (reading->session->rate != 0)
            charge(number, firing, demand);
        fire(firing, place, 1ull << number);
    }
    set_absent(firing);
}

/* The same, unless no clause of the session is interested, or it has no bytes left. */
static void offer_to(struct pyusdt_firing *firing, const struct pyusdt_pyvm_event *event,
                     uint32_t place, unsigned number, struct compiled *session, uint32_t demand)
{
    struct reading reading = {.session = session, .firing = firing, .event = event};

    if (!pyusdt_conditions_hold(
            &session->conditions, PYUSDT_VM_BIT(event->probe),
            &(struct pyusdt_condition_subjects){&reading, read_path, read_argument})) {
        if (reading.busy != 0) /* nothing says whether they hold */
            drop(number, firing->probe, FOR_BUSY);
    } else if (!has_budget(number, session))
        drop(number, firing->probe, FOR_RATE);
    else
        fire_with_values(firing, place, number, &reading, demand);
}

/* Returns 0 if the session reads no values of this event. */
static int offer_to_session(struct pyusdt_firing *firing, const struct pyusdt_pyvm_event *event,
                            uint32_t place, unsigned number)
{
    uint32_t demand = pyusdt_session_paths_generation(number) != 0
                          ? pyusdt_demand_at(firing->probe, 1ull << number) & PYUSDT_PATH_ARGS
                          : 0;
    struct compiled *session;

    if (demand == 0)
        return 0;
    session = find_programs(number);
    if (session == NULL) {
        drop(number, firing->probe, FOR_BUSY);
        return 1;
    }
    offer_to(firing, event, place, number, session, demand);
    end_reading(number);
    return 1;
}

uint64_t pyusdt_vm_paths_offer(struct pyusdt_firing *firing, const struct pyusdt_pyvm_event *event,
                               uint32_t place)
{
    uint64_t others = 0;

    set_absent(firing);
    for (uint64_t sessions = event->sessions; sessions != 0; sessions &= sessions - 1) {
        unsigned number = (unsigned)__builtin_ctzll(sessions);

        if (number >= PYUSDT_MAX_SESSIONS || /* the flight recorder */
            !offer_to_session(firing, event, place, number))
            others |= 1ull << number;
    }
    return others;
}
