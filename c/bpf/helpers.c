/*
 * The helpers of the embedded engine: r1 … r5 in, r0 out, as Linux's helper of that number returns
 * it.
 *
 * - Each pointer is checked over its whole length before it is used.
 */
#include "bpf/helpers.h"
#include "bpf/helpers/float.h"
#include "bpf/vm_internal.h"
#include "bpf/helpers/json.h"
#include "bpf/helpers/path.h"
#include "bpf/helpers/term.h"
#include "pyusdt.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static uint64_t refuse_access(struct pyusdt_run *run, uint64_t value)
{
    run->error = -EFAULT;
    run->env->fault_addr = value;
    run->env->fault_size = 0;
    return 0;
}

static struct pyusdt_map *map_of(struct pyusdt_run *run, uint64_t handle)
{
    uint64_t index = handle - PYUSDT_MAP_HANDLE;
    if (index < run->vm->n_maps)
        return &run->vm->maps[index];
    refuse_access(run, handle);
    return NULL;
}

/* The map and its key; NULL (and the run ends) unless both are right. */
static struct pyusdt_map *map_and_key(struct pyusdt_run *run, const uint64_t *args,
                                      const void **key)
{
    struct pyusdt_map *map = map_of(run, args[0]);
    if (map && map->def.key_size == 0) /* a ringbuf */
        return refuse_access(run, args[0]), NULL;
    if (!map)
        return NULL;
    *key = pyusdt_run_memory(run, args[1], map->def.key_size, false);
    return *key ? map : NULL;
}

static uint64_t map_lookup_elem(struct pyusdt_run *run, const uint64_t *args)
{
    const void *key;
    struct pyusdt_map *map = map_and_key(run, args, &key);
    return map ? (uintptr_t)pyusdt_map_lookup(map, key) : 0;
}

static uint64_t map_update_elem(struct pyusdt_run *run, const uint64_t *args)
{
    const void *key;
    struct pyusdt_map *map = map_and_key(run, args, &key);
    const void *value = map ? pyusdt_run_memory(run, args[2], map->def.value_size, false) : NULL;
    return value ? (uint64_t)(int64_t)pyusdt_map_update(map, key, value, args[3]) : 0;
}

static uint64_t map_delete_elem(struct pyusdt_run *run, const uint64_t *args)
{
    const void *key;
    struct pyusdt_map *map = map_and_key(run, args, &key);
    return map ? (uint64_t)(int64_t)pyusdt_map_delete(map, key) : 0;
}

static uint64_t ktime_get_ns(struct pyusdt_run *run, const uint64_t *args)
{
    struct timespec now;
    (void)args;
    if (run->env->time)
        return run->env->time(run->env->arg);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* probe_read_*(dst, size, src): unreadable memory gives zeroes and -EFAULT, and the program goes on. */
static uint64_t read_user(struct pyusdt_run *run, const uint64_t *args, int string)
{
    if (args[1] == 0)
        return 0;
    uint8_t *dst = pyusdt_run_memory(run, args[0], args[1], true);
    if (!dst)
        return 0;
    uint32_t size = (uint32_t)args[1]; /* exact: no region is that large */
    int rc = run->env->read_user ? run->env->read_user(run->env->arg, args[2], dst, size, string)
                                 : -EFAULT;
    if (rc < 0)
        memset(dst, 0, size);
    else if (!string)
        rc = 0;
    return (uint64_t)(int64_t)rc;
}

static uint64_t probe_read_user(struct pyusdt_run *run, const uint64_t *args)
{
    return read_user(run, args, 0);
}

static uint64_t probe_read_user_str(struct pyusdt_run *run, const uint64_t *args)
{
    return read_user(run, args, 1);
}

/* pyusdt's own: term_text(dst, size, term, path, path size), the text of an Erlang term of the process (bpf/helpers/term.h) */
static uint64_t term_text(struct pyusdt_run *run, const uint64_t *args)
{
    uint8_t term[PYUSDT_MAX_STRING];
    uint8_t *dst = pyusdt_run_memory(run, args[0], args[1], true);
    const uint8_t *path = !dst           ? NULL
                          : args[4] == 0 ? (const uint8_t *)""
                                         : pyusdt_run_memory(run, args[3], args[4], false);

    if (!path)
        return 0;
    int size = run->env->read_user ? run->env->read_user(run->env->arg, args[2], term, sizeof term,
                                                         PYUSDT_READ_REST)
                                   : -EFAULT;
    if (size >= 0)
        size = pyusdt_term_text(term, (uint32_t)size, path, (uint32_t)args[4], (char *)dst,
                                (uint32_t)args[1]);
    return (uint64_t)(int64_t)size;
}

/* pyusdt's own: json_text(dst, size, text, path), a value of a JSON text (bpf/helpers/json.h); all have room for size bytes */
static uint64_t json_text(struct pyusdt_run *run, const uint64_t *args)
{
    char *dst = (char *)pyusdt_run_memory(run, args[0], args[1], true);
    const char *text = dst ? (const char *)pyusdt_run_memory(run, args[2], args[1], false) : NULL;
    const char *path = text ? (const char *)pyusdt_run_memory(run, args[3], args[1], false) : NULL;
    uint32_t size = (uint32_t)args[1];
    return path ? (uint64_t)(int64_t)pyusdt_json_text(text, size, path, size, dst, size) : 0;
}

/* pyusdt's own: path_clean(dst, size, path), both of `size` bytes (bpf/helpers/path.h) */
static uint64_t path_clean(struct pyusdt_run *run, const uint64_t *args)
{
    char *dst = (char *)pyusdt_run_memory(run, args[0], args[1], true);
    const char *path = dst ? (const char *)pyusdt_run_memory(run, args[2], args[1], false) : NULL;

    if (!path || !args[1] || (path < dst + args[1] && dst < path + args[1]))
        return 0;
    uint32_t size = (uint32_t)args[1], used = pyusdt_path_clean(path, size, dst);
    memset(dst + used, 0, size - used); /* what was written and taken away again */
    return used;
}

/* pyusdt's own: float_compute(operation, a, b), doubles as their bits (bpf/helpers/float.h) */
static uint64_t float_compute(struct pyusdt_run *run, const uint64_t *args)
{
    (void)run;
    return pyusdt_float_compute((uint32_t)args[0], args[1], args[2]);
}

/* pyusdt's own: float_deviate(words, size, x), one value more for stddev(): n, mean, squared distances */
static uint64_t float_deviate(struct pyusdt_run *run, const uint64_t *args)
{
    uint64_t words[3];
    uint8_t *at =
        args[1] == sizeof words ? pyusdt_run_memory(run, args[0], sizeof words, true) : NULL;

    if (!at)
        return 0;
    memcpy(words, at, sizeof words);
    pyusdt_float_deviate(words, args[2]);
    memcpy(at, words, sizeof words);
    return 0;
}

static uint64_t probe_read_kernel(struct pyusdt_run *run, const uint64_t *args)
{
    if (args[1] == 0)
        return 0;
    uint8_t *dst = pyusdt_run_memory(run, args[0], args[1], true);
    if (!dst)
        return 0;
    const uint8_t *src = pyusdt_run_memory(run, args[2], args[1], false);
    if (src) {
        memmove(dst, src, args[1]);
        return 0;
    }
    run->error = 0;
    memset(dst, 0, args[1]);
    return (uint64_t)-EFAULT;
}

/* The string in the program's own memory at src: up to size - 1 bytes and a NUL, the rest of dst stays. */
static uint64_t probe_read_kernel_str(struct pyusdt_run *run, const uint64_t *args)
{
    if (args[1] == 0)
        return 0;
    uint8_t *dst = pyusdt_run_memory(run, args[0], args[1], true);
    if (!dst)
        return 0;
    const uint8_t *src = pyusdt_run_memory(run, args[2], args[1], false);
    bool whole = src != NULL;
    uint64_t length = 0;
    for (; length < args[1] - 1; length++) {
        if (!whole && !(src = pyusdt_run_memory(run, args[2] + length, 1, false))) {
            run->error = 0;
            memset(dst, 0, args[1]);
            return (uint64_t)-EFAULT;
        }
        uint8_t byte = whole ? src[length] : *src;
        if (!byte)
            break;
        dst[length] = byte;
    }
    run->error = 0;
    dst[length] = 0;
    return length + 1;
}

static uint64_t ringbuf_output(struct pyusdt_run *run, const uint64_t *args)
{
    struct pyusdt_map *map = map_of(run, args[0]);
    if (!map)
        return 0;
    if (map->def.kind != PYUSDT_MAP_RINGBUF)
        return refuse_access(run, args[0]);
    const uint8_t *record =
        args[2] ? pyusdt_run_memory(run, args[1], args[2], false) : (const uint8_t *)"";
    if (!record)
        return 0;
    return (uint64_t)(int64_t)(run->env->output
                                   ? run->env->output(run->env->arg, record, (uint32_t)args[2])
                                   : -EAGAIN);
}

static const int32_t numbers[] = {
#define X(ident, number) number,
    PYUSDT_BPF_HELPERS(X)
#undef X
};

pyusdt_helper_fn *const pyusdt_helpers[PYUSDT_HELPERS] = {
    [PYUSDT_HELPER_MAP_LOOKUP_ELEM] = map_lookup_elem,
    [PYUSDT_HELPER_MAP_UPDATE_ELEM] = map_update_elem,
    [PYUSDT_HELPER_MAP_DELETE_ELEM] = map_delete_elem,
    [PYUSDT_HELPER_KTIME_GET_NS] = ktime_get_ns,
    [PYUSDT_HELPER_PROBE_READ_USER] = probe_read_user,
    [PYUSDT_HELPER_PROBE_READ_KERNEL] = probe_read_kernel,
    [PYUSDT_HELPER_PROBE_READ_USER_STR] = probe_read_user_str,
    [PYUSDT_HELPER_PROBE_READ_KERNEL_STR] = probe_read_kernel_str,
    [PYUSDT_HELPER_RINGBUF_OUTPUT] = ringbuf_output,
    [PYUSDT_HELPER_TERM_TEXT] = term_text,
    [PYUSDT_HELPER_JSON_TEXT] = json_text,
    [PYUSDT_HELPER_PATH_CLEAN] = path_clean,
    [PYUSDT_HELPER_FLOAT_COMPUTE] = float_compute,
    [PYUSDT_HELPER_FLOAT_DEVIATE] = float_deviate,
};

int pyusdt_helper_index(int32_t number)
{
    for (int i = 0; i < PYUSDT_HELPERS; i++)
        if (numbers[i] == number)
            return i;
    return -1;
}
