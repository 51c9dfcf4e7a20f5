/*
 * The C core's own firing, without Python: a process with one probe, user_trace-i4s4, that pydtrace traces. Its threads
 * fire what pyusdt.p(1, 2, "a") with the tag "bench" fires. Input: the path of a socket, by which orders and answers
 * (threads.h) come and go.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "pyusdt.h"
#include "threads.h"

enum { PROC, TAG, I1, I2, I3, I4, S1, S2, S3, S4, NARGS };

static const struct pyusdt_probe_desc TABLE = {
    .provider = "pyusdt",
    .module = "core_worker",
    .function = "fire",
    .name = "user_trace-i4s4",
    .strings = 1u << PROC | 1u << TAG | 1u << S1 | 1u << S2 | 1u << S3 | 1u << S4,
    .nargs = NARGS,
};

static void set_string(struct pyusdt_args *args, unsigned i, const char *text)
{
    args->value[i] = (uintptr_t)text;
    args->length[i] = (uint32_t)strlen(text);
}

/* volatile: the compiler does not know the texts, as it does not where LTTng's tracepoint is, so both measure their length */
static const char *volatile proc = "<12345.12345>", *volatile tag = "bench", *volatile a = "a",
                            *volatile none = "";

static void fire_one(int64_t i1, int64_t i2)
{
    struct pyusdt_args args;

    if (!pyusdt_wanted(0) || !pyusdt_demand(0))
        return;
    args.missing = 0;
    set_string(&args, PROC, proc);
    set_string(&args, TAG, tag);
    args.value[I1] = (uint64_t)i1;
    args.value[I2] = (uint64_t)i2;
    args.value[I3] = args.value[I4] = 0;
    set_string(&args, S1, a);
    set_string(&args, S2, none);
    set_string(&args, S3, none);
    set_string(&args, S4, none);
    pyusdt_fire(0, &args);
}

static void fire(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        fire_one(1, 2);
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int error = pyusdt_publish(&TABLE, 1);

    if (argc == 2)
        strncpy(address.sun_path, argv[1], sizeof(address.sun_path) - 1);
    if (error == 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        error = -errno;
    if (error) {
        fprintf(stderr, "core_worker: %s\n", strerror(-error));
        return 1;
    }
    error = serve(fdopen(fd, "r"), fdopen(fd, "w"));
    pyusdt_unpublish();
    return error;
}
