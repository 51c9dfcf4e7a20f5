/*
 * Events of calls of prim_file's NIFs: OTP's probes of file I/O (see vm_events.h).
 *
 * - The numbers of commands are those of OTP's chapter on DTrace.
 * - A process does one operation at a time, so a return finds its call by the process.
 */
#include <errno.h>
#include <string.h>

#include "atoms.h"
#include "vm_events.h"

enum { TAG = 64, PATHS = 4, NUMBERS = 6, FIRST_NUMBER = 6, MOST_NUMBERS = 4 };

/* arguments: p a path, n a number, d data (its bytes are a number), - not in the probe: files are
 * references now */
static const struct {
    const char *name, *arguments;
    int command;
} commands[] = {
    {"open_nif", "p-", 1},
    {"read_nif", "-n", 2},
    {"seek_nif", "--n", 3},
    {"write_nif", "-d", 4},
    {"read_handle_info_nif", "-", 5},
    {"get_cwd_nif", "", 6},
    {"list_dir_nif", "p", 7},
    {"set_cwd_nif", "p", 8},
    {"sync_nif", "-n", 9},
    {"make_dir_nif", "p", 10},
    {"del_file_nif", "p", 11},
    {"rename_nif", "pp", 12},
    {"del_dir_nif", "p", 13},
    {"truncate_nif", "-", 14},
    {"read_file_nif", "p", 15},
    {"set_owner_nif", "pnn", 16},
    {"set_permissions_nif", "pn", 16},
    {"set_time_nif", "pnnn", 16},
    {"read_info_nif", "pn", 19},
    {"read_link_nif", "p", 20},
    {"make_hard_link_nif", "pp", 21},
    {"make_soft_link_nif", "pp", 22},
    {"close_nif", "-", 23},
    {"delayed_close_nif", "-", 23},
    {"pwrite_nif", "-nd", 24},
    {"pread_nif", "-nn", 25},
    {"ipread_s32bu_p32bu_nif", "-nn", 27},
    {"altname_nif", "p", 28},
    {"advise_nif", "-nn-", 31},
};

enum {
    COMMANDS = sizeof commands / sizeof commands[0],
    FSTAT = 5,
    FSYNC = 9,
    LSTAT = 19,
    FDATASYNC = 30
};

static const struct {
    const char *name;
    int number;
} errors[] = {
    {"enoent", ENOENT},       {"eacces", EACCES},
    {"eexist", EEXIST},       {"enotdir", ENOTDIR},
    {"eisdir", EISDIR},       {"enospc", ENOSPC},
    {"eperm", EPERM},         {"einval", EINVAL},
    {"ebadf", EBADF},         {"emfile", EMFILE},
    {"enfile", ENFILE},       {"eio", EIO},
    {"erofs", EROFS},         {"exdev", EXDEV},
    {"enotempty", ENOTEMPTY}, {"enametoolong", ENAMETOOLONG},
    {"eloop", ELOOP},         {"ebusy", EBUSY},
    {"efbig", EFBIG},         {"edquot", EDQUOT},
    {"enotsup", ENOTSUP},     {"espipe", ESPIPE},
    {"emlink", EMLINK},       {"enomem", ENOMEM},
    {"eagain", EAGAIN},       {"estale", ESTALE},
    {"epipe", EPIPE},         {"etxtbsy", ETXTBSY},
};

enum { ERRORS = sizeof errors / sizeof errors[0] };

static ERL_NIF_TERM command_names[COMMANDS], error_names[ERRORS];

/* ---- which operation it is: the thread that began it, and a number ---- */

struct operation {
    ERL_NIF_TERM process;
    int thread, number, command;
    char tag[TAG]; /* of the user; "": none */
};

static struct pyusdt_vm_cache open_operations =
    PYUSDT_VM_CACHE("pyusdt_vm_files", struct operation);
static atomic_int threads, operations;

/* Threads of the emulator are numbered in the order of their first call. */
static int number_thread(void)
{
    static _Thread_local int number;

    if (number == 0)
        number = atomic_fetch_add(&threads, 1) + 1;
    return number;
}

/* The tag, if the match specification found a token of pyusdt_tag's: {Flags, {pyusdt_tag, Tag},
 * Serial, From, Previous}. */
static void read_tag(const struct pyusdt_vm_call *call, char tag[TAG])
{
    const ERL_NIF_TERM *token, *label;
    ERL_NIF_TERM result;
    ErlNifBinary binary;
    int n;

    tag[0] = '\0';
    if (!pyusdt_vm_find_option(call, pyusdt_atoms.match_spec_result, &result) ||
        !enif_get_tuple(call->env, result, &n, &token) || n != 5 ||
        !enif_get_tuple(call->env, token[1], &n, &label) || n != 2 ||
        label[0] != pyusdt_atoms.pyusdt_tag || !enif_inspect_binary(call->env, label[1], &binary))
        return;
    n = binary.size < TAG ? (int)binary.size : TAG - 1;
    memcpy(tag, binary.data, (size_t)n);
    tag[n] = '\0';
}

static struct operation begin_operation(const struct pyusdt_vm_call *call, int command)
{
    struct operation now = {.process = call->tracee, .thread = number_thread(), .command = command};

    now.number = atomic_fetch_add(&operations, 1) + 1;
    read_tag(call, now.tag);
    pyusdt_vm_cache_put(&open_operations, &now);
    return now;
}

/* If another process has replaced the entry, the beginning was not seen. */
static struct operation find_operation(const struct pyusdt_vm_call *call, int command)
{
    struct operation then;

    return pyusdt_vm_cache_find(&open_operations, call->tracee, &then)
               ? then
               : begin_operation(call, command);
}

static void put_operation(struct pyusdt_vm_event *event, const struct operation *operation)
{
    pyusdt_vm_put_integer(event, 0, operation->thread);
    pyusdt_vm_put_integer(event, 1, operation->number);
    if (operation->tag[0])
        pyusdt_vm_put_text(event, 2, operation->tag);
    pyusdt_vm_put_integer(event, 3, operation->command);
}

bool pyusdt_vm_files_load(ErlNifEnv *env)
{
    for (unsigned i = 0; i < COMMANDS; i++)
        command_names[i] = enif_make_atom(env, commands[i].name);
    for (unsigned i = 0; i < ERRORS; i++)
        error_names[i] = enif_make_atom(env, errors[i].name);
    return pyusdt_vm_cache_load(&open_operations);
}

/* ---- calls ---- */

static int find_command(ERL_NIF_TERM function)
{
    for (int i = 0; i < COMMANDS; i++)
        if (command_names[i] == function)
            return i;
    return -1;
}

/* {Module, Function, Arguments or arity}. NULL: no operation on files. */
static const ERL_NIF_TERM *read_call(const struct pyusdt_vm_call *call, int *which)
{
    const ERL_NIF_TERM *mfa;
    int n;

    if (!enif_get_tuple(call->env, call->term, &n, &mfa) || n != 3)
        return NULL;
    *which = find_command(mfa[1]);
    return *which < 0 ? NULL : mfa;
}

struct arguments {
    struct pyusdt_vm_event *event;
    unsigned paths, numbers;
};

static void put_path(struct arguments *to, ERL_NIF_TERM term)
{
    if (to->paths < NUMBERS - PATHS)
        pyusdt_vm_put_binary(to->event, PATHS + to->paths++, term);
}

static void put_number(struct arguments *to, ERL_NIF_TERM term)
{
    if (to->numbers < MOST_NUMBERS)
        pyusdt_vm_put_number(to->event, FIRST_NUMBER + to->numbers++, term);
}

static void put_arguments(struct pyusdt_vm_event *event, const char *kinds, ERL_NIF_TERM list)
{
    struct arguments to = {event, 0, 0};
    ERL_NIF_TERM head;

    for (; *kinds && enif_get_list_cell(event->env, list, &head, &list); kinds++)
        if (*kinds == 'p')
            put_path(&to, head);
        else if (*kinds == 'n')
            put_number(&to, head);
        else if (*kinds == 'd' && to.numbers < MOST_NUMBERS)
            pyusdt_vm_put_bytes(event, FIRST_NUMBER + to.numbers++, head);
}

/* One NIF does the work of two commands: the last argument distinguishes them. */
static int read_command(ErlNifEnv *env, int which, ERL_NIF_TERM arguments)
{
    ERL_NIF_TERM last = 0, list = arguments;
    int flag = 0, command = commands[which].command;

    if (command != FSYNC && command != LSTAT)
        return command;
    while (enif_get_list_cell(env, list, &last, &list))
        ;
    if (last == 0 || !enif_get_int(env, last, &flag) || flag == 0)
        return command;
    return command == FSYNC ? FDATASYNC : FSTAT;
}

/* If only the return is wanted, it finds its call here, too. */
void pyusdt_vm_file_entry(const struct pyusdt_vm_call *call)
{
    struct pyusdt_vm_event event;
    struct operation operation;
    const ERL_NIF_TERM *mfa;
    int which;

    if (!(mfa = read_call(call, &which)))
        return;
    operation = begin_operation(call, read_command(call->env, which, mfa[2]));
    if (!pyusdt_vm_event_begin(&event, call->env, PYUSDT_VM_EFILE_ENTRY))
        return;
    put_operation(&event, &operation);
    put_arguments(&event, commands[which].arguments, mfa[2]);
    pyusdt_vm_event_offer(&event, PYUSDT_VM_EFILE_ENTRY);
}

/* ---- returns ---- */

/* Of {error, Reason}; 0 of anything else. An error with an unknown number is EIO. */
static int read_error(ErlNifEnv *env, ERL_NIF_TERM result)
{
    const ERL_NIF_TERM *parts;
    int n;

    if (!enif_get_tuple(env, result, &n, &parts) || n != 2 || parts[0] != pyusdt_atoms.error)
        return 0;
    for (unsigned i = 0; i < ERRORS; i++)
        if (error_names[i] == parts[1])
            return errors[i].number;
    return EIO;
}

/* failed: by an exception, the result of an invalid argument. */
static void fire_return(const struct pyusdt_vm_call *call, bool failed)
{
    ERL_NIF_TERM result = call->term;
    struct pyusdt_vm_event event;
    struct operation operation;
    int which, error;

    if (!read_call(call, &which) ||
        !pyusdt_vm_event_begin(&event, call->env, PYUSDT_VM_EFILE_RETURN))
        return;
    pyusdt_vm_find_option(call, pyusdt_atoms.extra, &result);
    error = failed ? EINVAL : read_error(call->env, result);
    operation = find_operation(call, commands[which].command);
    put_operation(&event, &operation);
    pyusdt_vm_put_integer(&event, 4, error == 0);
    pyusdt_vm_put_integer(&event, 5, error);
    pyusdt_vm_event_offer(&event, PYUSDT_VM_EFILE_RETURN);
}

void pyusdt_vm_file_return(const struct pyusdt_vm_call *call)
{
    fire_return(call, false);
}

void pyusdt_vm_file_exception(const struct pyusdt_vm_call *call)
{
    fire_return(call, true);
}
