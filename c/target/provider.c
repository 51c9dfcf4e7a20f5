/*
 * Providers that are defined at run time: pyusdt_provider_define() of pyusdt.h.
 *
 * A provider has sites in an object that USDT tracers see, and entries in the probe table that
 * sessions see.
 *
 * - Each of the two works without the other.
 * - Nothing is removed while the process runs.
 * - A probe is made once, even if several callers (interpreters, for example) define it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "target/provider_cache.h"
#include "shared/error.h"
#include "target/provider_names.h"
#include "target/sites.h"

#define PUBLISH_TRIES 500

static const uint16_t no_semaphore;

/* The addresses of the sites and the semaphores in memory. */
struct loaded {
    char *sites;
    uint16_t *semaphores;
};

#if PYUSDT_OBJECTS

static int load_object(const char *path, struct loaded *loaded, struct pyusdt_error *why)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!object)
        return pyusdt_error_set(why, -ENOEXEC, "%s", dlerror());
    loaded->sites = dlsym(object, PYUSDT_ELF_SITES);
    loaded->semaphores = dlsym(object, PYUSDT_ELF_SEMAPHORES);
    if (loaded->sites && loaded->semaphores)
        return 0;
    dlclose(object);
    return pyusdt_error_set(why, -ENOEXEC, "%s: not as it was written", path);
}

static int make_object(const char *provider, const struct pyusdt_elf *elf, struct loaded *loaded,
                       char *path, size_t size, struct pyusdt_error *why)
{
    int r = pyusdt_cache_object(provider, elf, path, size, why);
    return r == 0 ? load_object(path, loaded, why) : r;
}

#else

static int make_object(const char *provider, const struct pyusdt_elf *elf, struct loaded *loaded,
                       char *path, size_t size, struct pyusdt_error *why)
{
    (void)provider, (void)elf, (void)loaded, (void)path, (void)size;
    return pyusdt_error_set(why, -ENOSYS, "this build has no USDT probe sites");
}

#endif

static void fill_desc(struct pyusdt_probe_desc *desc, const char *provider, const char *module,
                      const char *function, const char *signature,
                      const struct pyusdt_probe_def *probe)
{
    *desc = (struct pyusdt_probe_desc){.provider = provider,
                                       .module = probe->places ? "" : module,
                                       .function = probe->places ? "" : function,
                                       .name = probe->name,
                                       .nargs = probe->nargs,
                                       .places = probe->places,
                                       .signature = signature};
    for (unsigned i = 0; i < probe->nargs; i++)
        if (probe->type[i] == PYUSDT_STRING ||
            probe->type[i] == PYUSDT_TERM) /* parts with a length */
            desc->strings |= 1u << i;
}

/* The slow path of a firing thread may take longer than pyusdt_publish_more() waits, on a busy
 * machine, and the probe would then never get into a table. Seconds in all, but none if this thread
 * itself is on that path. */
static int publish_with_retries(const struct pyusdt_probe_desc *table, unsigned n)
{
    int r = -EBUSY;

    for (int i = 0; r == -EBUSY && i < PUBLISH_TRIES; i++)
        r = pyusdt_publish_more(table, n);
    return r;
}

/* Adds the probes to the embedded engine. The index of the first, or -errno. */
static int publish_probes(const char *provider, const char *path,
                          const struct pyusdt_probe_def *probes, unsigned n)
{
    const char *slash = strrchr(path, '/'), *module = slash ? slash + 1 : provider;
    enum {
        FUNCTION = PYUSDT_PROVIDER_MAX + 2 * PYUSDT_NAME_MAX + 2,
        ROOM = FUNCTION + PYUSDT_SIGNATURE_SIZE
    };
    struct pyusdt_probe_desc *table = calloc(n, sizeof *table + ROOM);
    char *texts = (char *)(table + n);
    int r;

    if (!table)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        char *function = texts + (size_t)i * ROOM;
        pyusdt_elf_function(provider, probes[i].name, function, FUNCTION);
        fill_desc(&table[i], provider, module, function,
                  pyusdt_signature(&probes[i], function + FUNCTION), &probes[i]);
    }
    r = publish_with_retries(table, n);
    free(table);
    return r;
}

/* ---- existing providers ---- */

/* One probe that was made.  Never freed, never changed. */
struct defined {
    struct defined *next;
    char provider[PYUSDT_PROVIDER_MAX + 1];
    char name[PYUSDT_NAME_MAX + 1];
    char argument[PYUSDT_MAX_ARGS][PYUSDT_ARGUMENT_MAX + 1];
    struct pyusdt_probe_def probe;
    struct pyusdt_probe_site site;
    char path[PYUSDT_CACHE_PATH];
    struct pyusdt_error why;
};

static struct defined *defined_probes;
/* process id: a child forked meanwhile is not held up by its parent's thread */
static atomic_int lock_holder;
static int cancel; /* whether the holder may be cancelled when it has given it back: not before */

static void lock_probes(void)
{
    const struct timespec pause = {0, 100000};
    int mine = (int)getpid(), before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    for (;;) {
        int holder = 0;
        if (atomic_compare_exchange_strong(&lock_holder, &holder, mine) ||
            (holder != mine && atomic_compare_exchange_strong(&lock_holder, &holder, mine))) {
            cancel = before;
            return;
        }
        nanosleep(&pause, NULL);
    }
}

static void unlock_probes(void)
{
    int before = cancel;

    atomic_store(&lock_holder, 0);
    pthread_setcancelstate(before, NULL);
}

static const struct defined *find_defined(const char *provider, const char *name)
{
    const struct defined *each = defined_probes;

    while (each && (strcmp(each->provider, provider) != 0 || strcmp(each->name, name) != 0))
        each = each->next;
    return each;
}

static bool same_types(const struct pyusdt_probe_def *a, const struct pyusdt_probe_def *b)
{
    return a->nargs == b->nargs && memcmp(a->type, b->type, a->nargs) == 0;
}

/* An argument without a name accepts any name. */
static bool same_names(const struct pyusdt_probe_def *a, const struct pyusdt_probe_def *b)
{
    for (unsigned i = 0; i < a->nargs; i++)
        if (a->argument[i] && b->argument[i] && strcmp(a->argument[i], b->argument[i]) != 0)
            return false;
    return true;
}

static int refuse_other_arguments(const struct defined *defined,
                                  const struct pyusdt_probe_def *given, struct pyusdt_error *why)
{
    char there[PYUSDT_SIGNATURE_SIZE], wanted[PYUSDT_SIGNATURE_SIZE];
    int r = pyusdt_probe_check(defined->provider, given, why);

    if (r != 0)
        return r;
    return pyusdt_error_set(
        why, -EEXIST,
        "provider %s, probe %s: it was made with the arguments %s, and cannot have %s",
        defined->provider, defined->name, pyusdt_signature(&defined->probe, there),
        pyusdt_signature(given, wanted));
}

/* The number of these probes that exist; -EEXIST if one has other types or names. */
static int count_defined(const char *provider, const struct pyusdt_probe_def *probes, unsigned n,
                         struct pyusdt_error *why)
{
    int found = 0;

    for (unsigned i = 0; i < n; i++) {
        const struct defined *defined = find_defined(provider, probes[i].name);
        if (defined &&
            !(same_types(&defined->probe, &probes[i]) && same_names(&defined->probe, &probes[i])))
            return refuse_other_arguments(defined, &probes[i], why);
        found += defined != NULL;
    }
    return found;
}

/* ---- making ---- */

static void fill_site(struct pyusdt_probe_site *site, const struct loaded *loaded, unsigned i,
                      int first)
{
    const struct pyusdt_elf_machine *machine = pyusdt_elf_native();

    site->index = first < 0 ? PYUSDT_NO_PROBE : (unsigned)first + i;
    site->semaphore = loaded->semaphores ? &loaded->semaphores[i] : &no_semaphore;
    site->entry = NULL;
    if (machine && loaded->sites)
        site->entry = (void (*)(void))(uintptr_t)(loaded->sites + (size_t)i * PYUSDT_ELF_STRIDE +
                                                  machine->entry);
}

/* A copy of its definition, in memory of its own. */
static void copy_definition(struct defined *defined, const struct pyusdt_probe_def *probe)
{
    snprintf(defined->name, sizeof defined->name, "%s", probe->name);
    defined->probe = *probe;
    defined->probe.name = defined->name;
    for (unsigned i = 0; i < probe->nargs; i++)
        if (probe->argument[i]) {
            snprintf(defined->argument[i], sizeof defined->argument[i], "%s", probe->argument[i]);
            defined->probe.argument[i] = defined->argument[i];
        }
}

/* The object of these probes, in memory. If it cannot be made, `no_object` has the reason and the
 * path is empty. */
static int make_sites(const char *provider, const struct pyusdt_probe_def *probes, unsigned n,
                      struct loaded *loaded, char *path, size_t size,
                      struct pyusdt_error *no_object, struct pyusdt_error *why)
{
    const struct pyusdt_elf_machine *machine = pyusdt_elf_native();
    struct pyusdt_elf elf;
    /* Without objects, the names and types are checked all the same. */
    int r =
        pyusdt_elf_write(machine ? machine : &pyusdt_elf_x86_64, provider, probes, n, &elf, why);

    if (r != 0)
        return r;
    no_object->message[0] = '\0';
    if (make_object(provider, &elf, loaded, path, size, no_object) != 0)
        path[0] = '\0';
    free(elf.data);
    return 0;
}

/* All of them are new. */
static int make_probes(const char *provider, const struct pyusdt_probe_def *probes, unsigned n,
                       struct pyusdt_error *why)
{
    struct defined *defined = calloc(n, sizeof *defined);
    struct loaded loaded = {NULL, NULL};
    char path[PYUSDT_CACHE_PATH] = "";
    int first, r;

    if (!defined)
        return pyusdt_error_set(why, -ENOMEM, "no memory");
    r = make_sites(provider, probes, n, &loaded, path, sizeof path, &defined->why, why);
    if (r != 0) {
        free(defined);
        return r;
    }
    first = publish_probes(provider, path, probes, n);
    for (unsigned i = 0; i < n; i++) {
        snprintf(defined[i].provider, sizeof defined[i].provider, "%s", provider);
        snprintf(defined[i].path, sizeof defined[i].path, "%s", path);
        defined[i].why = defined->why;
        copy_definition(&defined[i], &probes[i]);
        fill_site(&defined[i].site, &loaded, i, first);
        defined[i].next = defined_probes;
        defined_probes = &defined[i];
    }
    return 0;
}

/* The missing ones, in an object of their own. */
static int make_missing(const char *provider, const struct pyusdt_probe_def *probes, unsigned n,
                        struct pyusdt_error *why)
{
    struct pyusdt_probe_def *missing = calloc(n, sizeof *missing);
    unsigned count = 0;
    int r;

    if (!missing)
        return pyusdt_error_set(why, -ENOMEM, "no memory");
    for (unsigned i = 0; i < n; i++)
        if (!find_defined(provider, probes[i].name))
            missing[count++] = probes[i];
    r = make_probes(provider, missing, count, why);
    free(missing);
    return r;
}

int pyusdt_provider_define(const char *provider, const struct pyusdt_probe_def *probes, unsigned n,
                           struct pyusdt_probe_site *sites, char *path, size_t size,
                           struct pyusdt_error *why)
{
    int found, r = 0;

    if (n == 0)
        return pyusdt_error_set(why, -EINVAL, "provider %s: it has no probes", provider);
    lock_probes();
    found = count_defined(provider, probes, n, why);
    if (found < 0)
        r = found;
    else if ((unsigned)found < n)
        r = make_missing(provider, probes, n, why);
    for (unsigned i = 0; r == 0 && i < n; i++) {
        const struct defined *defined = find_defined(provider, probes[i].name);
        sites[i] = defined->site;
        if (i == 0) {
            snprintf(path, size, "%s", defined->path);
            *why = defined->why;
        }
    }
    unlock_probes();
    return r;
}

int pyusdt_sites_define(const char *provider, const struct pyusdt_probe_def *probes, unsigned first,
                        unsigned n, struct pyusdt_probe_site *sites, char *path, size_t size,
                        struct pyusdt_error *why)
{
    struct loaded loaded = {NULL, NULL};
    struct pyusdt_error no_object;
    int r = make_sites(provider, probes, n, &loaded, path, size, &no_object, why);

    if (r != 0)
        return r;
    for (unsigned i = 0; i < n; i++)
        fill_site(&sites[i], &loaded, i, (int)first);
    *why = no_object;
    return 0;
}
