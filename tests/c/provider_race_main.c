/* Defines a provider while another thread is on a slow path for longer than one waits for it, for test_provider_race.py.
 *
 * Prints "in the table" where sessions can see the probe all the same. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "target/target.h"
#include "target/sites.h"

static int held[2];

static void *hold(void *unused)
{
    const struct timespec long_enough = {0, 5 * PYUSDT_LOCK_TRIES * 100000};

    if (!pyusdt_core_lock(false) || write(held[1], "", 1) != 1)
        return unused;
    nanosleep(&long_enough, NULL);
    pyusdt_core_unlock();
    return NULL;
}

int main(void)
{
    static const struct pyusdt_probe_desc table[] = {
        PYUSDT_USER_TRACE_FAMILIES("provider_race_main")};
    static const struct pyusdt_probe_def probe = {"one", 1, {PYUSDT_INT | 8}, 0, {NULL}};
    struct pyusdt_probe_site site;
    struct pyusdt_error why;
    char path[4096], byte;
    pthread_t thread;

    if (pyusdt_publish(table, sizeof table / sizeof table[0]) != 0 || pipe(held) != 0 ||
        pthread_create(&thread, NULL, hold, NULL) != 0 || read(held[0], &byte, 1) != 1)
        return 1;
    if (pyusdt_provider_define("busy", &probe, 1, &site, path, sizeof path, &why) != 0)
        return 2;
    puts(site.index == PYUSDT_NO_PROBE ? "in no table" : "in the table");
    return pthread_join(thread, NULL);
}
