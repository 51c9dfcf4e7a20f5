/* What is fired for calls of prim_file's NIFs: OTP's probes of file I/O. See vm_events.h.
 *
 * The numbers of commands are those of OTP's chapter on DTrace. A process does one operation at a time, so it is by the
 * process that a return finds its call. */
#include <errno.h>
#include <string.h>

#include "vm_events.h"

#define RUNNING 1024

enum { PATHS = 4, NUMBERS = 6, FIRST_NUMBER = 6, MOST_NUMBERS = 4 };

/* arguments: p a path, n a number, d data (its bytes are a number), - what the probe does not have: files are references now */
static const struct {
    const char *name, *arguments;
    int command;
} commands[] = {
    {"open_nif", "p-", 1}, {"read_nif", "-n", 2}, {"seek_nif", "--n", 3}, {"write_nif", "-d", 4},
    {"read_handle_info_nif", "-", 5}, {"get_cwd_nif", "", 6}, {"list_dir_nif", "p", 7}, {"set_cwd_nif", "p", 8},
    {"sync_nif", "-n", 9}, {"make_dir_nif", "p", 10}, {"del_file_nif", "p", 11}, {"rename_nif", "pp", 12},
    {"del_dir_nif", "p", 13}, {"truncate_nif", "-", 14}, {"read_file_nif", "p", 15}, {"set_owner_nif", "pnn", 16},
    {"set_permissions_nif", "pn", 16}, {"set_time_nif", "pnnn", 16}, {"read_info_nif", "pn", 19}, {"read_link_nif", "p", 20},
    {"make_hard_link_nif", "pp", 21}, {"make_soft_link_nif", "pp", 22}, {"close_nif", "-", 23}, {"delayed_close_nif", "-", 23},
    {"pwrite_nif", "-nd", 24}, {"pread_nif", "-nn", 25}, {"ipread_s32bu_p32bu_nif", "-nn", 27}, {"altname_nif", "p", 28},
    {"advise_nif", "-nn-", 31},
};

enum { COMMANDS = sizeof commands / sizeof commands[0], FSTAT = 5, FSYNC = 9, LSTAT = 19, FDATASYNC = 30 };

static const struct {
    const char *name;
    int number;
} errors[] = {
    {"enoent", ENOENT}, {"eacces", EACCES}, {"eexist", EEXIST}, {"enotdir", ENOTDIR}, {"eisdir", EISDIR},
    {"enospc", ENOSPC}, {"eperm", EPERM}, {"einval", EINVAL}, {"ebadf", EBADF}, {"emfile", EMFILE}, {"enfile", ENFILE},
    {"eio", EIO}, {"erofs", EROFS}, {"exdev", EXDEV}, {"enotempty", ENOTEMPTY}, {"enametoolong", ENAMETOOLONG},
    {"eloop", ELOOP}, {"ebusy", EBUSY}, {"efbig", EFBIG}, {"edquot", EDQUOT}, {"enotsup", ENOTSUP}, {"espipe", ESPIPE},
    {"emlink", EMLINK}, {"enomem", ENOMEM}, {"eagain", EAGAIN}, {"estale", ESTALE}, {"epipe", EPIPE}, {"etxtbsy", ETXTBSY},
};

enum { ERRORS = sizeof errors / sizeof errors[0] };

static ERL_NIF_TERM command_names[COMMANDS], error_names[ERRORS], atom_error;

void pyusdt_vm_files_load(ErlNifEnv *env)
{
    for (unsigned i = 0; i < COMMANDS; i++)
        command_names[i] = enif_make_atom(env, commands[i].name);
    for (unsigned i = 0; i < ERRORS; i++)
        error_names[i] = enif_make_atom(env, errors[i].name);
    atom_error = enif_make_atom(env, "error");
}

/* ---- which operation it is: the thread that began it, and a number ---- */

static struct {
    ERL_NIF_TERM process;
    int thread, tag, command;
} running[RUNNING];

static atomic_int threads, operations;

/* Threads of the emulator are numbered as they come here. */
static int this_thread(void)
{
    static _Thread_local int number;

    if (number == 0)
        number = atomic_fetch_add(&threads, 1) + 1;
    return number;
}

/* Another process may take the place; its own operation is then begun anew by its next call. */
static void put_operation(struct pyusdt_vm_event *event, ERL_NIF_TERM process, bool begins, int command)
{
    unsigned i = (unsigned)(process / 16 % RUNNING);

    if (begins || running[i].process != process) {
        running[i].process = process;
        running[i].thread = this_thread();
        running[i].tag = atomic_fetch_add(&operations, 1) + 1;
        running[i].command = command;
    }
    pyusdt_vm_put_integer(event, 0, running[i].thread);
    pyusdt_vm_put_integer(event, 1, running[i].tag);
    pyusdt_vm_put_integer(event, 3, running[i].command);
}

/* ---- calls ---- */

static int find(ERL_NIF_TERM function)
{
    for (int i = 0; i < COMMANDS; i++)
        if (command_names[i] == function)
            return i;
    return -1;
}

/* {Module, Function, Arguments or arity}. NULL: no operation on files. */
static const ERL_NIF_TERM *operation(const struct pyusdt_vm_call *call, int *which)
{
    const ERL_NIF_TERM *mfa;
    int n;

    if (!enif_get_tuple(call->env, call->term, &n, &mfa) || n != 3)
        return NULL;
    *which = find(mfa[1]);
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
    ErlNifSInt64 number;

    if (to->numbers < MOST_NUMBERS && enif_get_int64(to->event->env, term, &number))
        pyusdt_vm_put_integer(to->event, FIRST_NUMBER + to->numbers++, number);
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

/* One NIF does what two commands were: the last argument tells which. */
static int command_of(ErlNifEnv *env, int which, ERL_NIF_TERM arguments)
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

void pyusdt_vm_file_entry(const struct pyusdt_vm_call *call)
{
    struct pyusdt_vm_event event;
    const ERL_NIF_TERM *mfa;
    int which;

    if (!(mfa = operation(call, &which)) || !pyusdt_vm_event_begin(&event, call->env, PYUSDT_VM_EFILE_ENTRY))
        return;
    put_operation(&event, call->tracee, true, command_of(call->env, which, mfa[2]));
    put_arguments(&event, commands[which].arguments, mfa[2]);
    pyusdt_vm_event_offer(&event, PYUSDT_VM_EFILE_ENTRY);
}

/* ---- returns ---- */

/* Of {error, Reason}; 0 of anything else. An error whose number is not known is EIO. */
static int error_of(ErlNifEnv *env, ERL_NIF_TERM result)
{
    const ERL_NIF_TERM *parts;
    int n;

    if (!enif_get_tuple(env, result, &n, &parts) || n != 2 || parts[0] != atom_error)
        return 0;
    for (unsigned i = 0; i < ERRORS; i++)
        if (error_names[i] == parts[1])
            return errors[i].number;
    return EIO;
}

/* failed: by an exception, which is the answer to what can not be an argument. */
static void fire_return(const struct pyusdt_vm_call *call, bool failed)
{
    ERL_NIF_TERM result = call->term;
    struct pyusdt_vm_event event;
    int which, error;

    if (!operation(call, &which) || !pyusdt_vm_event_begin(&event, call->env, PYUSDT_VM_EFILE_RETURN))
        return;
    pyusdt_vm_option(call, pyusdt_vm_atoms.extra, &result);
    error = failed ? EINVAL : error_of(call->env, result);
    put_operation(&event, call->tracee, false, commands[which].command);
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
