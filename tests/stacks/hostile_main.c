/* A program that shows a CPython that is none: what a tracer reads of it must lead it nowhere.  argv[1] says how:
 *   wild     every pointer leads to an address that is not there
 *   circle   interpreters, threads and frames are circles
 *   long     a long list of threads, each with a long stack of frames
 *   words    as long, and the names are as long as any that is shown, of characters that are shown with four
 *   texts    names and tables of lines of endless length
 *   told     a 3.13 that tells where its objects have what: the text of a string begins before its length
 *   many     100,000 code objects, each with a table of lines of 1 MiB
 *   values   a stack of functions with endless many variables, all of them endless lists of endless lists
 *   waits    the frame lies in memory that somebody would have to provide, and nobody does (userfaultfd)
 *   unnamed  so does the code object
 *   withheld so does all that a Python tells first
 * It calls getppid() for each line that it reads, and ends when there are no more.
 * But for told, it is a 3.12 by its layout (c/pystack/cpython_offsets.c). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    INTERPRETERS = 40,
    THREADS = 72,
    NEXT = 8,
    INTERP = 16,
    CFRAME = 56,
    ID = 136,
    MODULES = 944,
    FRAMES = 3000,
    STACKS = 100,
    DEEP = 1000,
    LISTS = 100
};

const uint64_t Py_Version = 0x030c01f0;
uint64_t _PyRuntime[1024] __attribute__((aligned(4096)));
static uint64_t interp[512], cframe[FRAMES], code[64], text[1024], lines[1 << 16];
static uint64_t threads[FRAMES][64], frames[FRAMES][32];

static uint64_t at(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

static void put(uint64_t *words, int offset, const void *to)
{
    words[offset / 8] = at(to);
}

/* n threads, each with the same stack of n frames, the last of which are `last`. */
static void build(int n, const void *next_thread, const void *next_frame)
{
    put(_PyRuntime, INTERPRETERS, interp);
    put(interp, THREADS, threads[0]);
    for (int i = 0; i < n; i++) {
        put(threads[i], NEXT, i + 1 < n ? threads[i + 1] : next_thread);
        put(threads[i], INTERP, interp);
        put(threads[i], CFRAME, &cframe[i]);
        threads[i][ID / 8] = (uint64_t)pthread_self();
        cframe[i] = at(frames[0]);
        frames[i][0] = at(code);
        frames[i][1] = at(i + 1 < n ? (const void *)frames[i + 1] : next_frame);
        frames[i][7] = at(code) + 192;
    }
}

/* The code object's name, file and lines have this length. */
static void name(uint64_t length)
{
    text[2] = length;
    ((uint8_t *)text)[32] = 4 << 2 | 1 << 5;
    lines[2] = length;
    memset(lines + 4, 0xff, sizeof lines - 32);
    code[2] = length;
    put(code, 112, text);
    put(code, 128, text);
    put(code, 136, lines);
}

/* The words of _Py_DebugOffsets that lead to a name, and those of the head. */
static void tell(void)
{
    static const uint16_t words[][2] = {
        {5, 4096}, {8, 0},    {9, THREADS}, {11, MODULES}, {21, NEXT}, {22, INTERP}, {23, CFRAME},
        {24, 136}, {25, 144}, {29, 8},      {31, 56},      {32, 72},   {33, 70},     {35, 112},
        {36, 120}, {37, 128}, {38, 136},    {39, 68},      {43, 192},  {45, 8},      {47, 24},
        {65, 16},  {66, 32},  {68, 32},     {69, 16},      {70, 0}};

    memcpy(_PyRuntime, "xdebugpy", 8);
    _PyRuntime[1] = 0x030d00f0;
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        _PyRuntime[words[i][0]] = words[i][1];
    put(_PyRuntime, 4096, interp);
    put(threads[0], CFRAME, frames[0]);
}

/* STACKS threads with DEEP frames, each of another code object; all have the same names and the same table. */
static void build_many(void)
{
    static uint64_t frame[STACKS][DEEP][32], codes[STACKS][DEEP][32], table[(1 << 17) + 8];

    table[2] = 1 << 20;
    put(code, 136, table);
    for (int i = 0; i < STACKS; i++) {
        cframe[i] = at(frame[i][0]);
        put(threads[i], NEXT, i + 1 < STACKS ? threads[i + 1] : NULL);
        for (int j = 0; j < DEEP; j++) {
            memcpy(codes[i][j], code, sizeof codes[i][j]);
            put(frame[i][j], 0, codes[i][j]);
            put(frame[i][j], 8, j + 1 < DEEP ? frame[i][j + 1] : NULL);
            frame[i][j][7] = at(codes[i][j]) + 184;
        }
    }
}

/* The code object's variables: lists whose items are the other lists; their type is derived from itself. */
static void add_variables(void)
{
    static uint64_t names[2048], kinds[1024], type[128], lists[LISTS][8], items[LISTS * 64];
    static const char list_name[] = "list";

    put(code, 96, names);
    put(code, 104, kinds);
    code[48 / 8] = 1;                    /* co_flags: CO_OPTIMIZED */
    code[52 / 8] |= 0x7fffffffull << 32; /* co_argcount */
    put(names, 8, type);
    names[2] = kinds[2] = 1ull << 62;
    for (unsigned i = 3; i < 2048; i++)
        names[i] = at(text);
    put(type, 8, type);
    put(type, 24, list_name);
    type[168 / 8] = 1 << 25; /* Py_TPFLAGS_LIST_SUBCLASS */
    put(type, 256, type);
    for (unsigned i = 0; i < LISTS * 64; i++)
        items[i] = at(lists[i % LISTS]);
    for (unsigned i = 0; i < LISTS; i++) {
        put(lists[i], 8, type);
        lists[i][2] = 1ull << 62;
        put(lists[i], 24, items);
    }
    for (unsigned i = 0; i < FRAMES; i++)
        for (unsigned j = 9; j < 32; j++)
            frames[i][j] = at(lists[j]);
}

/* *word leads to memory that is not there; or a page of ours is not. */
static int wait_forever(uint64_t *word, void *page)
{
    void *memory = mmap(page, 4096, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | (page ? MAP_FIXED : 0), -1, 0);
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {{at(memory), 4096}, UFFDIO_REGISTER_MODE_MISSING, 0};
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0 || ioctl(fd, UFFDIO_REGISTER, &range) != 0)
        return -1;
    if (word)
        *word = at(memory);
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    name(5);
    if (strcmp(how, "wild") == 0)
        put(interp, MODULES, (void *)(uintptr_t)-8);
    if (strcmp(how, "wild") == 0)
        build(1, (void *)0xdeadbeefdeadbee8, (void *)(uintptr_t)-8);
    else if (strcmp(how, "circle") == 0)
        build(7, threads[0], frames[3]);
    else
        build(strcmp(how, "long") == 0 || strcmp(how, "words") == 0 || strcmp(how, "values") == 0
                  ? FRAMES
                  : 1,
              NULL, NULL);
    if (strcmp(how, "values") == 0)
        add_variables();
    if (strcmp(how, "words") == 0) {
        name(1000);
        lines[2] = 5;
    }
    if (strcmp(how, "circle") == 0)
        put(interp, 0, interp);
    if (strcmp(how, "texts") == 0)
        name((uint64_t)-1);
    if (strcmp(how, "told") == 0)
        tell();
    if (strcmp(how, "many") == 0) {
        build(STACKS, NULL, NULL);
        build_many();
    }
    bool waits = strcmp(how, "waits") == 0, unnamed = strcmp(how, "unnamed") == 0;
    bool withheld = strcmp(how, "withheld") == 0;
    bool lacks = (waits || unnamed) && wait_forever(waits ? &cframe[0] : &frames[0][0], NULL) != 0;
    puts(lacks || (withheld && wait_forever(NULL, _PyRuntime) != 0) ? "no userfaultfd" : "ready");
    fflush(stdout);
    while (getchar() == '\n')
        getppid();
    return 0;
}
