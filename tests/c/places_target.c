/*
 * A provider whose probes have places, as a VM's is: places_target FUNCTIONS ROUNDS [option …]
 *
 * Function i is m<i % 10>:f<i>, in file m<i % 10>.py, line i. A round calls each: function-entry(i, name), function-return(i).
 *
 *   threads=N  so many do that at once, each with what it remembers of its own
 *   wait       not before somebody wants the entry
 *   fork       after half of the rounds a child does the other half, and so does the parent
 *   strange    names with control characters, too long ones, empty ones
 *   watch      the watcher runs meanwhile; by it alone "wait" learns of a tracer, and is told "wanted" and "unwanted" on stdout
 *   linger     sleeps when done, until it is killed
 *   counts     prints at the end, as JSON, how many events were fired, by function
 * HOOK: see hook_kill.h.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hook_kill.h"
#include "pyusdt.h"

#define FUNCTIONS_MAX 100000

enum { ENTRY, RETURN, PLAIN, PROBES };

static const struct pyusdt_probe_desc TABLE[PROBES] = {
    {"vm", "", "", "function-entry", 1, 0x2, 2, 1, NULL},
    {"vm", "", "", "function-return", 1, 0, 1, 1, NULL},
    {"vm", "plain", "plain", "tick", 1, 0, 1, 0, NULL},
};

static unsigned functions, rounds, threads = 1;
static int waits, forks, strange, watches, lingers, counts;
static _Atomic uint64_t fired[FUNCTIONS_MAX];
static atomic_int wanted;

/* What a VM keeps with a code object. */
struct code {
    uint64_t sessions[PROBES];
    uint32_t generation, place;
};

static const char *name(unsigned i, const char *what, char *to, size_t size)
{
    static const char *odd[] = {"",          "new\nline", "esc\033[31m", "\303\244\303\266",
                                "\377bytes", "a:b`c'd\"e"};

    if (strange && i < 6)
        snprintf(to, size, "%s", odd[i]);
    else if (strange && i == 6)
        snprintf(to, size, "%s%0300d", what, 0);
    else
        snprintf(to, size, "%s%u", what, *what == 'm' ? i % 10 : i);
    return to;
}

/* The sessions that want this, and have the place in the table. */
static uint64_t ask(struct code *code, unsigned i, unsigned probe)
{
    char module[512], function[512], file[512];
    uint32_t generation = pyusdt_places_generation();

    if (code->generation != generation) {
        name(i, "m", module, sizeof module);
        name(i, "f", function, sizeof function);
        snprintf(file, sizeof file, "m%u.py", i % 10);
        for (unsigned each = ENTRY; each <= RETURN; each++)
            code->sessions[each] = pyusdt_place_wanted(each, module, function);
        if (code->place == 0 && (code->sessions[ENTRY] | code->sessions[RETURN]) != 0)
            code->place = pyusdt_place(module, function, file, i);
        code->generation = generation;
    }
    return code->sessions[probe];
}

static void fire(struct code *code, unsigned i, unsigned probe)
{
    struct pyusdt_args args = {.value = {i}};
    uint64_t sessions = pyusdt_wanted(probe) ? ask(code, i, probe) : 0;
    uint32_t demand;
    char function[512];

    if (sessions == 0)
        return;
    demand = pyusdt_fire_bare_at(probe, code->place, &sessions);
    args.missing = ~demand;
    if (demand != 0) {
        args.value[1] = (uintptr_t)name(i, "f", function, sizeof function);
        args.length[1] = pyusdt_text_length(function, sizeof function);
        pyusdt_fire_at(probe, code->place, sessions, &args);
    }
    atomic_fetch_add(&fired[i], 1);
}

static void play(struct code *code, unsigned n)
{
    for (unsigned round = 0; round < n; round++) {
        struct pyusdt_args args = {.value = {round}};
        for (unsigned i = 0; i < functions; i++) {
            fire(&code[i], i, ENTRY);
            fire(&code[i], i, RETURN);
        }
        if (pyusdt_wanted(PLAIN) && pyusdt_demand(PLAIN) != 0)
            pyusdt_fire(PLAIN, &args);
    }
}

static void *run(void *unused)
{
    struct code *code = calloc(functions, sizeof *code);

    (void)unused;
    for (unsigned i = 0; i < functions; i++)
        code[i].generation = pyusdt_places_generation() - 1;
    play(code, forks ? rounds / 2 : rounds);
    if (forks) {
        pid_t child = fork();
        play(code, rounds / 2);
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    }
    free(code);
    return NULL;
}

static void on_change(void *arg)
{
    int now = pyusdt_wanted(ENTRY) != 0;

    (void)arg;
    if (now != atomic_exchange(&wanted, now) &&
        write(STDOUT_FILENO, now ? "wanted\n" : "unwanted\n", now ? 7 : 9) < 0)
        exit(3);
}

static void read_options(int argc, char **argv)
{
    functions = (unsigned)atoi(argv[1]);
    rounds = (unsigned)atoi(argv[2]);
    for (int i = 3; i < argc; i++) {
        waits |= strcmp(argv[i], "wait") == 0;
        forks |= strcmp(argv[i], "fork") == 0;
        strange |= strcmp(argv[i], "strange") == 0;
        watches |= strcmp(argv[i], "watch") == 0;
        lingers |= strcmp(argv[i], "linger") == 0;
        counts |= strcmp(argv[i], "counts") == 0;
        if (strncmp(argv[i], "threads=", 8) == 0)
            threads = (unsigned)atoi(argv[i] + 8);
    }
}

static void report(void)
{
    const char *comma = "";

    printf("{");
    for (unsigned i = 0; i < functions; i++)
        if (fired[i]) {
            printf("%s\"f%u\": %llu", comma, i, (unsigned long long)fired[i]);
            comma = ", ";
        }
    printf("}\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct pyusdt_watch watch = {.changed = on_change, .first = 0, .n = PROBES};
    pthread_t thread[64];

    if (argc < 3)
        return 2;
    read_options(argc, argv);
    if (functions > FUNCTIONS_MAX || pyusdt_publish(TABLE, PROBES) != 0 ||
        (watches && pyusdt_watch_start(&watch) != 0))
        return 3;
    while (waits && !(watches ? atomic_load(&wanted) : pyusdt_wanted(ENTRY)))
        usleep(200);
    for (unsigned i = 1; i < threads; i++)
        pthread_create(&thread[i], NULL, run, NULL);
    run(NULL);
    for (unsigned i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    if (counts)
        report();
    while (lingers)
        pause();
    pyusdt_watch_stop(&watch);
    pyusdt_unpublish();
    return 0;
}
