/*
 * A tracer with several consumers: parallel_consumers_main PROGRAM CONSUMERS PID; for test_parallel_consumers.py, which writes the program's file.
 *
 * Traces that process until it is gone. Prints one line of JSON: the session's statistics; firings that the clauses have seen by
 * the first words of each map's values (all consumers' together), and how many of the consumers have seen one.
 * With CREW_FORK: a child forks while the crew is there, polls, which gives nothing, and frees it.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/vm.h"
#include "hook_kill.h"
#include "consumer/parallel_consumers.h"
#include "session/session.h"

#define MAX 16

static uint32_t nmaps, nclauses;
static struct pyusdt_map_def maps[MAX];
static struct pyusdt_consumer *consumer[MAX];
static struct pyusdt_vm *vm[MAX];
static unsigned consumers;

static uint32_t number(FILE *file)
{
    uint32_t found;

    if (fread(&found, sizeof found, 1, file) != 1)
        exit(2);
    return found;
}

static int load(FILE *file, unsigned n, struct pyusdt_error *error)
{
    struct pyusdt_insn *insns = calloc(n, sizeof *insns);
    int program = -1;

    if (!insns || fread(insns, sizeof *insns, n, file) != n)
        exit(2);
    for (unsigned i = 0; i < consumers; i++) /* the number is the same in each */
        program = pyusdt_vm_load(vm[i], insns, n, error);
    free(insns);
    return program;
}

static void read_program(const char *path)
{
    struct pyusdt_consumer_config config = {0};
    struct pyusdt_error error = {0};
    FILE *file = fopen(path, "rb");

    if (!file)
        exit(2);
    nmaps = number(file);
    config.clauses = nclauses = number(file);
    config.uses = number(file);
    config.this_offset = number(file);
    config.this_size = number(file);
    if (nmaps > MAX || fread(maps, sizeof maps[0], nmaps, file) != nmaps)
        exit(2);
    for (unsigned i = 0; i < consumers; i++)
        if (!(vm[i] = pyusdt_vm_new(maps, nmaps, &error)) ||
            pyusdt_consumer_new(vm[i], &config, &consumer[i], &error) != 0)
            exit(2);
    for (uint32_t clause = 0; clause < nclauses; clause++) {
        unsigned n = number(file), counting = number(file);
        int program = load(file, n, &error), at_once = counting ? load(file, counting, &error) : -1;
        if (program < 0 || (counting && at_once < 0))
            exit(2);
        for (unsigned i = 0; i < consumers; i++)
            if (pyusdt_consumer_set_clause(consumer[i], clause, program, 0) != 0 ||
                (counting && pyusdt_consumer_set_counting(consumer[i], clause, at_once) != 0))
                exit(2);
    }
    fclose(file);
}

static uint64_t firings(unsigned of, unsigned map)
{
    uint32_t cursor = 0;
    uint64_t found = 0, n;
    const void *key;
    void *value;

    if (maps[map].kind != PYUSDT_MAP_HASH && maps[map].kind != PYUSDT_MAP_PERCPU_HASH) {
        value = pyusdt_vm_map_value(vm[of], map, 0);
        memcpy(&n, value, sizeof n);
        return n;
    }
    while (pyusdt_vm_map_next(vm[of], map, &cursor, &key, &value)) {
        memcpy(&n, value, sizeof n);
        found += n;
    }
    return found;
}

static void report(const struct pyusdt_session_stats *stats)
{
    printf("{\"delivered\": %" PRIu64 ", \"dropped\": %" PRIu64 ", \"out_of_order\": %" PRIu64
           ", \"corrupt\": %" PRIu64 ", \"seen\": [",
           stats->delivered, stats->dropped, stats->out_of_order, stats->corrupt);
    for (unsigned map = 0; map < nmaps; map++) {
        uint64_t all = 0;
        unsigned with = 0;
        for (unsigned i = 0; i < consumers && maps[map].value_size >= sizeof all; i++) {
            uint64_t its = firings(i, map);
            all += its;
            with += its > 0;
        }
        printf("%s[%" PRIu64 ", %u]", map == 0 ? "" : ", ", all, with);
    }
    puts("]}");
}

static void forked(struct pyusdt_parallel *crew, struct pyusdt_session *session)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        int n = pyusdt_parallel_poll(crew, session, UINT64_MAX, 0);
        pyusdt_parallel_free(crew);
        _exit(n != 0);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        exit(3);
}

int main(int argc, char **argv)
{
    static const struct pyusdt_probe_names every = {"pyusdt*", "", "", "*-i4*"};
    const struct pyusdt_want want = {
        .provider = "pyusdt*", .name = "*-i4*", .args = 0x27, .bytes = {[5] = 256}};
    struct pyusdt_session_config config = {.bufsize = 1 << 20};
    struct pyusdt_session_stats stats;
    struct pyusdt_session *session;
    struct pyusdt_error error = {0};
    struct pyusdt_parallel *crew;

    if (argc != 4 || (consumers = (unsigned)atoi(argv[2])) > MAX)
        return 2;
    read_program(argv[1]);
    for (uint32_t clause = 0; clause < nclauses; clause++)
        pyusdt_registry_describe(pyusdt_consumer_registry(consumer[0]), clause, &every);
    if (pyusdt_session_open(NULL, &config, &session, &error) != 0 ||
        pyusdt_session_want(session, &want) != 0 ||
        pyusdt_parallel_new(session, consumer, consumers, &crew, &error) != 0 ||
        pyusdt_session_attach_pid(session, atoi(argv[3]), &error) != 0 ||
        pyusdt_session_start(session, &error) != 0) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    if (getenv("CREW_FORK")) /* not with TSan, which can not fork with threads */
        forked(crew, session);
    do {
        if (pyusdt_parallel_poll(crew, session, UINT64_MAX, 0) == 0)
            usleep(20000); /* so that there is something for each */
        pyusdt_session_stats(session, &stats);
    } while (stats.alive > 0);
    report(&stats);
    pyusdt_parallel_free(crew);
    pyusdt_session_close(session);
    for (unsigned i = consumers; i-- > 0;) {
        pyusdt_consumer_free(consumer[i]);
        pyusdt_vm_free(vm[i]);
    }
    return 0;
}
