/*
 * The code locations of this process: where probes that have locations have fired.
 *
 * - The process works on a private copy only. A forked child, or a process that has changed its
 *   user, writes the same copy into its new control file, so the numbers stay the same.
 * - Numbers begin at 1, and the tables only grow. They stand in the control file and in the flight
 *   recorder's file.
 * - A location is complete in both files before its number is returned.
 * - The stores are ordered: a child that is forked between any two of them loses one location at
 *   most.
 * - The caller holds the lock of the slow paths. pyusdt_place() takes it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/target.h"
#include "shared/os.h"
#include "target/spare_stack.h"

#define STEP \
    65536u /* bytes of pages that a file gets in one step, for locations and for their strings */
#define INDEX_START 1024u /* entries of an index at first */

uint32_t pyusdt_places_word, pyusdt_places_count;

void pyusdt_places_changed(void)
{
    __atomic_fetch_add(&pyusdt_places_word, 1, __ATOMIC_ACQ_REL);
}

void pyusdt_copy_truncated(char *to, size_t size, const char *from)
{
    uint32_t length = pyusdt_text_truncated_length(from, size, (uint32_t)size - 1);

    memcpy(to, from, length);
    to[length] = '\0';
}

/* ---- finding existing locations ---- */

/* Open addressing: of each entry its hash, and a number that is not 0; never more than half
 * full. */
struct index {
    struct entry {
        uint32_t hash, number;
    } *entry;
    uint32_t size, used;
};

/* As in the files, but with holes: memory that is never touched takes no pages. */
static struct {
    struct pyusdt_ctl_places *table;    /* NULL: no place yet */
    uint32_t strings;                   /* used of it */
    uint32_t shown;                     /* of its strings, in the files */
    uint32_t places_room, strings_room; /* bytes of both for which the files have pages */
    struct index by_place, by_string;
    uint32_t remarks[PYUSDT_REMARKS]; /* as the files have them */
} process_places;

static uint32_t mix_hash(uint32_t hash, uint32_t word)
{
    return (hash ^ word) * 0x01000193u;
}

static uint32_t hash_string(const char *string)
{
    uint32_t hash = 0x811c9dc5u;

    for (; *string; string++)
        hash = mix_hash(hash, (uint8_t)*string);
    return hash ^ hash >> 15;
}

static uint32_t hash_place(const struct pyusdt_ctl_place *place)
{
    uint32_t hash = mix_hash(
        mix_hash(mix_hash(mix_hash(0x811c9dc5u, place->module), place->function), place->file),
        place->line);
    return hash ^ hash >> 15;
}

/* Finds the entry, or its place: `number` is 0 there. */
static struct entry *find_entry(const struct index *index, uint32_t hash,
                                bool (*same)(uint32_t number, const void *key), const void *key)
{
    for (uint32_t at = hash;; at++) {
        struct entry *entry = &index->entry[at & (index->size - 1)];
        if (entry->number == 0 || (entry->hash == hash && same(entry->number, key)))
            return entry;
    }
}

static bool matches_nothing(uint32_t number, const void *key)
{
    (void)number, (void)key;
    return false;
}

static void *map_private(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Room for so many more entries. */
static bool make_index_room(struct index *index, uint32_t more)
{
    struct index larger = {NULL, index->size ? 2 * index->size : INDEX_START, index->used},
                 old = *index;

    if (2 * (index->used + more) <= index->size)
        return true;
    larger.entry = map_private(larger.size * sizeof *larger.entry);
    if (!larger.entry)
        return false;
    for (uint32_t i = 0; i < index->size; i++)
        if (index->entry[i].number != 0)
            *find_entry(&larger, index->entry[i].hash, matches_nothing, NULL) = index->entry[i];
    __atomic_store_n(&index->entry, larger.entry, __ATOMIC_RELEASE);
    __atomic_store_n(&index->size, larger.size, __ATOMIC_RELEASE);
    if (old.entry)
        munmap(old.entry, old.size * sizeof *old.entry);
    return true;
}

static bool same_string(uint32_t number, const void *key)
{
    return strcmp(process_places.table->strings + number, key) == 0;
}

static bool same_place(uint32_t number, const void *key)
{
    return memcmp(&process_places.table->place[number - 1], key, sizeof(struct pyusdt_ctl_place)) ==
           0;
}

/* ---- pages of the files ---- */

/* In a file that has them not yet: all that the table needs. */
static int allocate_pages(int fd, uint32_t places_room, uint32_t strings_room)
{
    int r = 0;

    if (places_room != 0)
        r = pyusdt_os_allocate(fd, PYUSDT_CTL_PLACES, places_room);
    if (r == 0 && strings_room != 0)
        r = pyusdt_os_allocate(fd, PYUSDT_CTL_PLACES + offsetof(struct pyusdt_ctl_places, strings),
                               strings_room);
    return r;
}

int pyusdt_places_allocate(int fd)
{
    return allocate_pages(fd, process_places.places_room, process_places.strings_room);
}

static struct pyusdt_ctl_places *find_places(struct pyusdt_ctl_header *file)
{
    return (void *)((char *)file + PYUSDT_CTL_PLACES);
}

/* By its name; to a process that has become another user that is closed, and there is its
 * address. */
static int allocate_in_file(struct pyusdt_ctl_header *file, enum pyusdt_file kind,
                            uint32_t places_room, uint32_t strings_room)
{
    struct pyusdt_name name = {.kind = kind, .process = pyusdt_core.identity};
    int dir = pyusdt_core_open_rundir(), fd, r;
    char text[PYUSDT_NAME_SIZE];
    uint64_t size;

    if (dir < 0) {
        r = pyusdt_os_populate(find_places(file)->place, places_room);
        return r ? r : pyusdt_os_populate(find_places(file)->strings, strings_room);
    }
    pyusdt_name_format(&name, text);
    fd = pyusdt_file_open(dir, text, O_RDWR, &size);
    close(dir);
    if (fd < 0)
        return fd;
    r = size >= PYUSDT_CTL_SIZE ? allocate_pages(fd, places_room, strings_room) : -EIO;
    close(fd);
    return r;
}

static uint32_t round_up(uint64_t size, uint64_t most)
{
    uint64_t room = (size + STEP - 1) / STEP * STEP;
    return (uint32_t)(room < most ? room : most);
}

static int check_head_room(uint32_t bytes)
{
    int dir = pyusdt_core_open_rundir(), r = pyusdt_head_room_reserve(dir, bytes);

    if (dir >= 0)
        close(dir);
    return r;
}

/* In both files, for one more place and so many bytes of names. */
static int make_file_room(uint32_t more)
{
    uint32_t places = round_up((pyusdt_places_count + 1) * sizeof(struct pyusdt_ctl_place),
                               sizeof process_places.table->place);
    uint32_t strings =
        round_up((uint64_t)process_places.strings + more, sizeof process_places.table->strings);
    int r;

    if (places <= process_places.places_room && strings <= process_places.strings_room)
        return 0;
    r = check_head_room(
        (places - process_places.places_room + strings - process_places.strings_room) *
        (pyusdt_core.flight ? 2u : 1u));
    if (r == 0)
        r = allocate_in_file(pyusdt_core.ctl, PYUSDT_FILE_CTL, places, strings);
    if (r == 0 && pyusdt_core.flight)
        r = allocate_in_file(pyusdt_core.flight, PYUSDT_FILE_FLIGHT, places, strings);
    if (r != 0)
        return r;
    process_places.places_room = places;
    process_places.strings_room = strings;
    return 0;
}

/* ---- the table ---- */

/* All of it, in a file that is new and has its pages. */
void pyusdt_places_copy_to(struct pyusdt_ctl_header *file)
{
    file->places = PYUSDT_CTL_PLACES;
    if (process_places.table) {
        memcpy(find_places(file)->place, process_places.table->place,
               pyusdt_places_count * sizeof *process_places.table->place);
        memcpy(find_places(file)->strings, process_places.table->strings, process_places.strings);
    }
    atomic_store(&file->nplaces, pyusdt_places_count);
    for (unsigned i = 0; i < PYUSDT_REMARKS; i++)
        atomic_store(&file->remarks[i], process_places.remarks[i]);
}

/* The last location, and the strings that were added with it. */
static void append_to_file(struct pyusdt_ctl_header *file)
{
    struct pyusdt_ctl_places *places = find_places(file);

    memcpy(places->strings + process_places.shown,
           process_places.table->strings + process_places.shown,
           process_places.strings - process_places.shown);
    PYUSDT_HOOK(16);
    places->place[pyusdt_places_count - 1] = process_places.table->place[pyusdt_places_count - 1];
    PYUSDT_HOOK(17);
    atomic_store_explicit(&file->nplaces, pyusdt_places_count, memory_order_release);
    PYUSDT_HOOK(18);
}

static bool map_table(void)
{
    if (process_places.table)
        return true;
    process_places.table = map_private(sizeof *process_places.table);
    process_places.strings = 1; /* the empty one */
    return process_places.table != NULL;
}

/* A string's entry; of the empty one, which needs none, NULL. */
static struct entry *find_string(const char *string)
{
    return *string ? find_entry(&process_places.by_string, hash_string(string), same_string, string)
                   : NULL;
}

/* Its index in the table, behind all others if it is new. */
static uint32_t add_string(const char *string)
{
    struct entry *entry = find_string(string);
    uint32_t size = (uint32_t)strlen(string) + 1;

    if (!entry)
        return 0;
    if (entry->number == 0) {
        uint32_t at = process_places.strings;
        memcpy(process_places.table->strings + at, string, size);
        __atomic_store_n(&process_places.strings, at + size, __ATOMIC_RELEASE);
        *entry = (struct entry){hash_string(string), at};
        process_places.by_string.used++;
    }
    return entry->number;
}

/* Names as they go into the table. */
struct names {
    char module[PYUSDT_PLACE_MODULE + 1], function[PYUSDT_PLACE_FUNCTION + 1],
        file[PYUSDT_PLACE_FILE + 1];
};

/* The number of a location whose names are all known; 0: it is new. */
static uint32_t find_place(const struct names *names, uint32_t line)
{
    const struct entry *module = find_string(names->module),
                       *function = find_string(names->function), *file = find_string(names->file);
    struct pyusdt_ctl_place place = {module ? module->number : 0, function ? function->number : 0,
                                     file ? file->number : 0, line};

    if ((module && module->number == 0) || (function && function->number == 0) ||
        (file && file->number == 0))
        return 0;
    return find_entry(&process_places.by_place, hash_place(&place), same_place, &place)->number;
}

static void add_place(const struct names *names, uint32_t line)
{
    struct pyusdt_ctl_place place = {add_string(names->module), add_string(names->function),
                                     add_string(names->file), line};

    process_places.table->place[pyusdt_places_count] = place;
    __atomic_store_n(&pyusdt_places_count, pyusdt_places_count + 1, __ATOMIC_RELEASE);
    *find_entry(&process_places.by_place, hash_place(&place), matches_nothing, NULL) =
        (struct entry){hash_place(&place), pyusdt_places_count};
    process_places.by_place.used++;
    append_to_file(pyusdt_core.ctl);
    if (pyusdt_core.flight)
        append_to_file(pyusdt_core.flight);
    process_places.shown = process_places.strings;
}

static uint32_t number_names(const struct names *names, uint32_t line)
{
    uint32_t number;

    if (!map_table() || !make_index_room(&process_places.by_place, 1) ||
        !make_index_room(&process_places.by_string, 3))
        return 0;
    number = find_place(names, line);
    if (number != 0)
        return number;
    if (pyusdt_places_count == PYUSDT_MAX_PLACES ||
        process_places.strings + sizeof *names > sizeof process_places.table->strings ||
        make_file_room(sizeof *names) != 0)
        return 0;
    add_place(names, line);
    return pyusdt_places_count;
}

uint32_t pyusdt_place_number(const char *module, const char *function, const char *file,
                             uint32_t line)
{
    struct names names;

    pyusdt_copy_truncated(names.module, sizeof names.module, module);
    pyusdt_copy_truncated(names.function, sizeof names.function, function);
    pyusdt_copy_truncated(names.file, sizeof names.file, file);
    return number_names(&names, line);
}

struct lookup {
    const char *module, *function, *file;
    uint32_t line, number;
};

static void number_locked(void *arg)
{
    struct lookup *lookup = arg;

    lookup->number =
        pyusdt_place_number(lookup->module, lookup->function, lookup->file, lookup->line);
}

uint32_t pyusdt_place(const char *module, const char *function, const char *file, uint32_t line)
{
    struct lookup lookup = {module, function, file, line, 0};

    if (pyusdt_is_published(0))
        pyusdt_spare_stack_call_locked(true, number_locked, &lookup);
    return lookup.number;
}

int pyusdt_remark_set(unsigned which, const char *provider, const char *names, const char *text,
                      enum pyusdt_remark kind)
{
    uint32_t number = 0;

    if (which >= PYUSDT_REMARKS)
        return -EINVAL;
    if (text != NULL)
        number = pyusdt_place(provider, names, text, PYUSDT_REMARK_LINE(kind));
    if (text != NULL && number == 0)
        return -ENOSPC;
    if (!pyusdt_is_published(0) || !pyusdt_core_lock(true))
        return -EAGAIN;
    process_places.remarks[which] = number;
    atomic_store(&pyusdt_core.ctl->remarks[which], number);
    pyusdt_core_unlock();
    return 0;
}

void pyusdt_place_names(uint32_t place, const char **module, const char **function)
{
    const struct pyusdt_ctl_place *known = &process_places.table->place[place - 1];

    *module = process_places.table->strings + known->module;
    *function = process_places.table->strings + known->function;
}
