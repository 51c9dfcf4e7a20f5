/*
 * Maps addresses to code files (see code_address.h).
 *
 * - Each megabyte of address space has one word that names its code location. If that word is
 *   empty, the address is searched in a table of the mapped code.
 * - A negative answer takes no lock. A code location is made under the lock of the slow paths.
 * - The table is read from /proc/self/maps when an address lies in no entry, and reading takes at
 *   most one percent of the time. Code that replaces an unmapped file keeps the old file's name
 *   until then.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "target/code_address.h"

#include "target/target.h"
#include "target/spare_stack.h"

#if defined(__linux__) && defined(__LP64__)
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096ull
#define PAGES 4096u /* that are remembered, each at one of */
#define WAYS 4u
/* of code; behind the first half those that are no file's become one with their neighbours */
#define RANGES 8192u
#define TEXTS \
    (512u \
     << 10) /* bytes of the names of their files; code whose file name does not fit has no file */
/* entries of /proc/self/maps, whose reading takes some 60 ms; mappings behind them are unknown */
#define LINES 131072u
#define PART_BITS 20 /* of a file that is a place */
/* the pause until the next reading, as a multiple of the time that the reading took; at most */
#define REREAD_FACTOR 100u
#define REREAD_FACTOR_MAX 12800u
#define NO_PLACE 0u

/* ---- the code that is mapped ---- */

/* Ascending, and read by all threads: a reader's copy is valid if `version` is even and has not
 * changed. */
static _Atomic uint32_t version, nranges;
static _Atomic uint64_t starts[RANGES], ends[RANGES];
static _Atomic uint64_t reread_at; /* when to read again */

/* Under the lock. */
static struct {
    uint64_t offset;
    /* "device inode" and the path, behind each other in `texts`; 0: it is no file's */
    uint32_t file;
} origin[RANGES];
static uint32_t ntexts, nlines;
static char texts[TEXTS];
static uint64_t checksum, reread_factor = REREAD_FACTOR;

/* page << 28 | place << 8 | the page within its part; each at one of some that its hash says. 0:
 * none. */
static _Atomic uint64_t cached[PAGES / WAYS][WAYS];

static uint64_t load_relaxed(const _Atomic uint64_t *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

/* The range that an address lies in, or -1. */
static int find_range(uint64_t address)
{
    uint32_t low = 0, high = atomic_load_explicit(&nranges, memory_order_relaxed);

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (load_relaxed(&ends[middle]) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < RANGES && low < atomic_load_explicit(&nranges, memory_order_relaxed) &&
                   load_relaxed(&starts[low]) <= address
               ? (int)low
               : -1;
}

/* Without the lock: there is no code, and it is not time to read the mappings again. */
static bool is_known_to_be_no_code(uint64_t address)
{
    uint32_t was = atomic_load_explicit(&version, memory_order_acquire);
    int at;

    if (was % 2 != 0)
        return false;
    at = find_range(address);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&version, memory_order_relaxed) == was && at < 0 &&
           pyusdt_now() < load_relaxed(&reread_at);
}

/* ---- /proc/self/maps ---- */

static uint64_t parse_number(const char **at, unsigned base)
{
    uint64_t value = 0;

    for (;; ++*at) {
        unsigned digit =
            **at >= 'a' && **at <= 'f' ? (unsigned)(**at - 'a') + 10 : (unsigned)(**at - '0');
        if (digit >= base)
            return value;
        value = value * base + digit;
    }
}

static uint32_t add_text(const char *text, size_t length)
{
    uint32_t at = ntexts;

    if (length + 1 > TEXTS - ntexts)
        return 0;
    memcpy(texts + at, text, length);
    texts[at + length] = '\0';
    ntexts += (uint32_t)length + 1;
    return at;
}

/* "device inode    path". Of the file that has them; 0: they are no file's, or there is no room. */
static uint32_t add_file(const char *line)
{
    const char *device = line;
    uint32_t kept = ntexts, at;

    while (*line && *line != ' ')
        line++;
    line += *line == ' ';
    if (parse_number(&line, 10) == 0)
        return 0;
    at = add_text(device, (size_t)(line - device));
    while (*line == ' ')
        line++;
    if (at != 0 && add_text(line, strlen(line)) != 0)
        return at;
    ntexts = kept;
    return 0;
}

static void add_range(uint64_t start, uint64_t end, uint64_t offset, uint32_t file)
{
    uint32_t n = atomic_load_explicit(&nranges, memory_order_relaxed);

    if (n > 0 && file == 0 && origin[n - 1].file == 0 &&
        (load_relaxed(&ends[n - 1]) == start || n > RANGES / 2)) {
        atomic_store_explicit(&ends[n - 1], end, memory_order_relaxed);
        return;
    }
    if (n == RANGES)
        return;
    atomic_store_explicit(&starts[n], start, memory_order_relaxed);
    atomic_store_explicit(&ends[n], end, memory_order_relaxed);
    origin[n].offset = offset;
    origin[n].file = file;
    atomic_store_explicit(&nranges, n + 1, memory_order_relaxed);
}

/* "start-end rwxp offset device inode    path" */
static void read_line(const char *line)
{
    uint64_t start = parse_number(&line, 16), end, offset;

    line += *line == '-';
    end = parse_number(&line, 16);
    if (strlen(line) < 6 || line[3] != 'x')
        return;
    line += 6;
    offset = parse_number(&line, 16);
    line += *line == ' ';
    add_range(start, end, offset, add_file(line));
}

static void read_lines(int fd)
{
    static char buffer[8192];
    size_t have = 0;
    ssize_t n;

    while (nlines < LINES && ((n = read(fd, buffer + have, sizeof buffer - 1 - have)) > 0 ||
                              (n < 0 && errno == EINTR))) {
        char *line = buffer, *end;
        if (n < 0)
            continue;
        have += (size_t)n;
        buffer[have] = '\0';
        for (; (end = memchr(line, '\n', have - (size_t)(line - buffer))) != NULL;
             line = end + 1, nlines++) {
            *end = '\0';
            read_line(line);
        }
        have -= (size_t)(line - buffer);
        memmove(buffer, line, have);
        if (have == sizeof buffer - 1)
            have = 0; /* no such line is the kernel's */
    }
}

static uint64_t hash_mappings(void)
{
    uint64_t hash = 0xcbf29ce484222325u;
    uint32_t n = atomic_load_explicit(&nranges, memory_order_relaxed);

    for (uint32_t i = 0; i < n; i++) {
        hash = (hash ^ load_relaxed(&starts[i])) * 0x100000001b3u;
        hash = (hash ^ load_relaxed(&ends[i])) * 0x100000001b3u;
        hash = (hash ^ origin[i].offset) * 0x100000001b3u;
    }
    for (uint32_t i = 0; i < ntexts; i++)
        hash = (hash ^ (uint8_t)texts[i]) * 0x100000001b3u;
    return hash;
}

/* Makes the table anew. A child that is forked meanwhile finds an odd version, and makes its
 * own. */
static void read_ranges(int fd)
{
    uint32_t writing = atomic_load_explicit(&version, memory_order_relaxed) | 1;

    atomic_store_explicit(&version, writing, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&nranges, 0, memory_order_relaxed);
    nlines = 0;
    ntexts = 1;
    read_lines(fd);
    atomic_store_explicit(&version, writing + 1, memory_order_release);
}

/* Under the lock. */
static void reread_mappings(void)
{
    uint64_t before = pyusdt_now(), was = checksum, now;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        read_ranges(fd);
        close(fd);
        checksum = hash_mappings();
    }
    if (checksum != was)
        for (uint32_t i = 0; i < PAGES; i++)
            atomic_store_explicit(&cached[i / WAYS][i % WAYS], 0, memory_order_relaxed);
    reread_factor = checksum != was                     ? REREAD_FACTOR
                    : reread_factor < REREAD_FACTOR_MAX ? 2 * reread_factor
                                                        : reread_factor;
    now = pyusdt_now();
    atomic_store_explicit(&reread_at, now + reread_factor * (now - before), memory_order_relaxed);
}

/* ---- places ---- */

/* Under the lock: the range of an address that has no word yet, or -1. */
static int find_or_reread(uint64_t address)
{
    int at =
        atomic_load_explicit(&version, memory_order_relaxed) % 2 == 0 ? find_range(address) : -1;

    if (at < 0 && pyusdt_now() >= load_relaxed(&reread_at)) {
        reread_mappings();
        at = find_range(address);
    }
    return at;
}

/* Under the lock. */
static uint32_t number_place(int at, uint64_t offset)
{
    char module[PYUSDT_PLACE_MODULE + 1] = "", path[PYUSDT_PLACE_FILE + 1] = "";
    const char *identity = texts + origin[at].file, *whole = identity + strlen(identity) + 1,
               *slash;

    if (offset >> PART_BITS > UINT32_MAX)
        return NO_PLACE;
    if (origin[at].file == 0)
        return pyusdt_place_number("", "", "", (uint32_t)(offset >> PART_BITS));
    slash = strrchr(whole, '/');
    pyusdt_copy_truncated(module, sizeof module, slash ? slash + 1 : whole);
    pyusdt_copy_truncated(path, sizeof path, whole);
    return pyusdt_place_number(module, identity, path, (uint32_t)(offset >> PART_BITS));
}

static uint64_t word_at(uint32_t place, uint64_t offset)
{
    return pyusdt_code_frame(place,
                             place != NO_PLACE ? (uint32_t)offset & ((1u << PART_BITS) - 1) : 0);
}

/* Under the lock. Where all are taken one that another page has is the price. */
static void cache_word(_Atomic uint64_t *slots, uint64_t word)
{
    uint32_t way = 0;

    while (way < WAYS && load_relaxed(&slots[way]) != 0)
        way++;
    atomic_store_explicit(&slots[way < WAYS ? way : pyusdt_now() / 1024 % WAYS], word,
                          memory_order_release);
}

struct lookup {
    uint64_t address, word;
    _Atomic uint64_t *slots;
};

/* Under the lock. */
static void look_up_locked(void *arg)
{
    struct lookup *lookup = arg;
    uint64_t address = lookup->address;
    int at = find_or_reread(address);

    if (at >= 0) {
        uint64_t offset = origin[at].file != 0
                              ? address - load_relaxed(&starts[at]) + origin[at].offset
                              : address;
        uint32_t place = number_place(at, offset);
        lookup->word = word_at(place, offset);
        cache_word(lookup->slots,
                   address / PAGE << 28 | (uint64_t)place << 8 | (offset / PAGE & 0xff));
    }
}

static __attribute__((noinline, cold)) uint64_t find_word(uint64_t address, _Atomic uint64_t *slots)
{
    struct lookup lookup = {address, PYUSDT_NO_CODE, slots};
    int error = errno;

    if (!is_known_to_be_no_code(address))
        pyusdt_spare_stack_call_locked(true, look_up_locked, &lookup);
    errno = error;
    return lookup.word;
}

/* Nothing is mapped above 47 or 48 bits unless a program asks for that. */
uint64_t pyusdt_code_word(uint64_t address)
{
    uint64_t page = address / PAGE, word;
    _Atomic uint64_t *slots = cached[(page ^ page >> 10) % (PAGES / WAYS)];

    if (page == 0 || address >> 48 != 0)
        return PYUSDT_NO_CODE;
    for (uint32_t way = 0; way < WAYS; way++) {
        word = atomic_load_explicit(&slots[way], memory_order_acquire);
        if (word >> 28 == page)
            return word_at((uint32_t)(word >> 8 & 0xfffff),
                           (word & 0xff) * PAGE | (address & (PAGE - 1)));
    }
    return find_word(address, slots);
}
#else
uint64_t pyusdt_code_word(uint64_t address)
{
    (void)address;
    return PYUSDT_NO_CODE;
}
#endif
