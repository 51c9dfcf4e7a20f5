/* Native frames: see native.h.
 *
 * An address is a place by its page: one word says of a page which place it belongs to, a megabyte of a file. That is worked out
 * under the lock of the slow paths, from /proc/self/maps, which is read again when an address lies in no code that is known, and
 * for a hundredth of the time at most. Code in the place of another file's, which was unmapped, has that one's name until then. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "target/native.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "shared/core.h"
#include "shared/os.h"

int pyusdt_native_inner;

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
#include <sys/syscall.h>

#define PAGE 4096ull
#define FARTHEST (8ull << 20) /* bytes from one frame to the next */
#define PAGES 4096u           /* that are remembered */
#define MAPPINGS 1024u        /* of code */
#define TEXTS (128u << 10)    /* bytes of their names */
#define PART_BITS 20          /* of a file that is a place */
#define PATIENCE 100u         /* times that a look at the mappings took, until the next; up to */
#define PATIENCE_MOST 12800u
#define NO_CODE UINT64_MAX

/* ---- what code an address is ---- */

struct mapping {
    uint64_t start, end, offset;
    uint32_t file; /* "device:inode" and the path, behind each other in `texts`; 0: it is no file's */
};

/* page << 28 | place << 8 | the page within its part; at the page's hash. 0: none. */
static _Atomic uint64_t known[PAGES];

/* Under the lock. */
static struct mapping mappings[MAPPINGS];
static uint32_t nmappings, ntexts;
static char texts[TEXTS];
static uint64_t checksum, patience = PATIENCE;
static _Atomic uint64_t look_at; /* when to look again */

static uint64_t number(const char **at, unsigned base)
{
    uint64_t value = 0;

    for (;; ++*at) {
        unsigned digit = **at >= 'a' && **at <= 'f' ? (unsigned)(**at - 'a') + 10 : (unsigned)(**at - '0');
        if (digit >= base)
            return value;
        value = value * base + digit;
    }
}

static uint32_t put_text(const char *text, size_t length)
{
    uint32_t at = ntexts;

    if (length + 1 > TEXTS - ntexts)
        return 0;
    memcpy(texts + at, text, length);
    texts[at + length] = '\0';
    ntexts += (uint32_t)length + 1;
    return at;
}

/* "start-end rwxp offset device inode    path" */
static void read_line(const char *line)
{
    struct mapping mapping = {.start = number(&line, 16)};
    const char *device, *inode;
    size_t length;

    line += *line == '-';
    mapping.end = number(&line, 16);
    if (strlen(line) < 6 || line[3] != 'x' || nmappings == MAPPINGS)
        return;
    line += 6;
    mapping.offset = number(&line, 16);
    device = line += *line == ' ';
    while (*line && *line != ' ')
        line++;
    length = (size_t)(line - device);
    inode = line += *line == ' ';
    if (number(&line, 10) != 0) {
        char name[64];
        size_t more = (size_t)(line - inode);
        if (length + 1 + more >= sizeof name)
            return;
        memcpy(name, device, length);
        name[length] = ' ';
        memcpy(name + length + 1, inode, more);
        mapping.file = put_text(name, length + 1 + more);
        while (*line == ' ')
            line++;
        if (mapping.file == 0 || put_text(line, strlen(line)) == 0)
            return;
    }
    mappings[nmappings++] = mapping;
}

static uint64_t sum(void)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (uint32_t i = 0; i < nmappings; i++) {
        hash = (hash ^ mappings[i].start) * 0x100000001b3u;
        hash = (hash ^ mappings[i].end) * 0x100000001b3u;
        hash = (hash ^ mappings[i].offset) * 0x100000001b3u;
    }
    for (uint32_t i = 0; i < ntexts; i++)
        hash = (hash ^ (uint8_t)texts[i]) * 0x100000001b3u;
    return hash;
}

static void read_mappings(int fd)
{
    static char buffer[8192];
    size_t have = 0;
    ssize_t n;

    nmappings = 0;
    ntexts = 1;
    while ((n = read(fd, buffer + have, sizeof buffer - 1 - have)) > 0 || (n < 0 && errno == EINTR)) {
        char *line = buffer, *end;
        if (n < 0)
            continue;
        have += (size_t)n;
        buffer[have] = '\0';
        for (; (end = memchr(line, '\n', have - (size_t)(line - buffer))) != NULL; line = end + 1) {
            *end = '\0';
            read_line(line);
        }
        have -= (size_t)(line - buffer);
        memmove(buffer, line, have);
        if (have == sizeof buffer - 1)
            have = 0; /* no such line is the kernel's */
    }
}

/* Returns whether there was something new. */
static bool look(void)
{
    uint64_t before = pyusdt_now(), was = checksum, now;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        read_mappings(fd);
        close(fd);
        checksum = sum();
    }
    patience = checksum != was ? PATIENCE : patience < PATIENCE_MOST ? 2 * patience : patience;
    now = pyusdt_now();
    atomic_store_explicit(&look_at, now + patience * (now - before), memory_order_relaxed);
    if (checksum != was)
        for (uint32_t i = 0; i < PAGES; i++)
            atomic_store_explicit(&known[i], 0, memory_order_relaxed);
    return checksum != was;
}

static const struct mapping *find(uint64_t address)
{
    for (uint32_t i = 0; i < nmappings; i++)
        if (address >= mappings[i].start && address < mappings[i].end)
            return &mappings[i];
    return NULL;
}

/* Of the names of a place: its file, or that it has none. */
struct part {
    char module[PYUSDT_PLACE_MODULE + 1], identity[64], path[PYUSDT_PLACE_FILE + 1];
    uint64_t offset; /* in the file; an address */
};

static void part_of(const struct mapping *mapping, uint64_t address, struct part *part)
{
    const char *identity = texts + mapping->file, *path = identity + strlen(identity) + 1, *slash;

    memset(part, 0, sizeof *part);
    part->offset = address;
    if (mapping->file == 0)
        return;
    slash = strrchr(path, '/');
    part->offset = address - mapping->start + mapping->offset;
    pyusdt_place_name(part->module, sizeof part->module, slash ? slash + 1 : path);
    memcpy(part->identity, identity, strlen(identity) + 1);
    pyusdt_place_name(part->path, sizeof part->path, path);
}

/* Under the lock: what an address is that was not asked for yet. */
static bool ask(uint64_t address, struct part *part)
{
    const struct mapping *mapping = find(address);

    if (!mapping && pyusdt_now() >= atomic_load_explicit(&look_at, memory_order_relaxed) && look())
        mapping = find(address);
    if (mapping)
        part_of(mapping, address, part);
    return mapping != NULL;
}

static __attribute__((noinline, cold)) uint64_t word_ask(uint64_t address, _Atomic uint64_t *slot)
{
    int error = errno;
    struct part part;
    uint32_t place;
    bool found;

    if (!pyusdt_core_lock(true))
        return NO_CODE;
    found = ask(address, &part);
    pyusdt_core_unlock();
    place = found && part.offset >> PART_BITS <= UINT32_MAX
                ? pyusdt_place(part.module, part.identity, part.path, (uint32_t)(part.offset >> PART_BITS))
                : 0;
    errno = error;
    if (!found)
        return NO_CODE;
    if (place != 0 && address >> 48 == 0)
        atomic_store_explicit(slot, address / PAGE << 28 | (uint64_t)place << 8 | (part.offset / PAGE & 0xff), memory_order_relaxed);
    return pyusdt_code_frame(place, place != 0 ? (uint32_t)part.offset & ((1u << PART_BITS) - 1) : 0);
}

static uint64_t word_of(uint64_t address)
{
    uint64_t page = address / PAGE, word;
    _Atomic uint64_t *slot = &known[(page ^ page >> 12) % PAGES];

    if (address < PAGE)
        return NO_CODE;
    word = atomic_load_explicit(slot, memory_order_relaxed);
    if (word >> 28 != page || word == 0)
        return word_ask(address, slot);
    return pyusdt_code_frame((uint32_t)(word >> 8 & 0xfffff), (uint32_t)((word & 0xff) * PAGE | (address & (PAGE - 1))));
}

/* ---- the chain ---- */

static uint64_t plain(uintptr_t address)
{
#if defined(__aarch64__)
    register uintptr_t link __asm__("x30") = address;
    __asm__("hint #7" : "+r"(link)); /* xpaclri: without its signature */
    return link;
#else
    return address;
#endif
}

/* Where a thread's stack ends at the latest: what is its own lies above, but for the first thread, whose stack nothing follows. */
static uintptr_t end_of_stack(uintptr_t from)
{
    uintptr_t own;

#if defined(__aarch64__)
    __asm__("mrs %0, tpidr_el0" : "=r"(own));
#else
    __asm__("mov %%fs:0, %0" : "=r"(own));
#endif
    return own > from ? own : UINTPTR_MAX;
}

/* The kernel reads the mask before it finds that there is nothing to be done with it. */
static bool is_readable(uintptr_t page)
{
    int error = errno;
    bool readable = syscall(SYS_rt_sigprocmask, -1, page, NULL, 8) == 0 || errno != EFAULT;

    errno = error;
    return readable;
}

static bool may_follow(uintptr_t from, uintptr_t to, uintptr_t end, uintptr_t *readable)
{
    if (to % 16 != 0 || to <= from || to - from > FARTHEST || to > end - 16)
        return false;
    if (to / PAGE == *readable)
        return true;
    *readable = to / PAGE;
    return is_readable(to & ~(PAGE - 1));
}

/* A frame is 16 bytes, the caller's and where it goes on; it lies in one page. Its bytes may be anything, also another's redzone. */
__attribute__((noinline, no_sanitize("address"))) uint32_t pyusdt_native_take(const uintptr_t *frame, uint64_t *words, uint32_t most,
                                                                              bool *more)
{
    uintptr_t readable = (uintptr_t)frame / PAGE, end = end_of_stack((uintptr_t)frame), next;
    uint64_t own = pyusdt_native_inner ? word_of((uintptr_t)&pyusdt_native_take) >> 32 : 0;
    uint32_t n = 0;

    for (;; frame = (const uintptr_t *)next) {
        uint64_t word = word_of(plain(frame[1]));
        if (word == NO_CODE)
            return n;
        if (own == 0 || word >> 32 != own) {
            own = 0; /* from here on */
            if (n == most) {
                *more = true;
                return n;
            }
            words[n++] = word;
        }
        next = frame[0];
        if (!may_follow((uintptr_t)frame, next, end, &readable))
            return n;
    }
}
#else
uint32_t pyusdt_native_take(const uintptr_t *frame, uint64_t *words, uint32_t most, bool *more)
{
    (void)frame, (void)words, (void)most, (void)more;
    return 0;
}
#endif
