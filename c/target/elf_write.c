/*
 * Writes the shared object of a provider (see elf_write.h).
 *
 * The file has two segments that share its pages: first everything that is only read or executed
 * (headers, build id, hash table, symbols, sites), then everything that is written (dynamic
 * section, semaphores). Notes and section names are in no segment. The second segment begins at
 * least 64 KiB after the first, at a multiple of 64 KiB, so that no page of any size is in both.
 */
#define _GNU_SOURCE
#include "target/elf_write.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "target/elf_types.h"
#include "target/provider_names.h"

#define PAGE 0x10000u /* the largest page that any of the processors has */
#define NAME_SIZE 128
#define OPERANDS_SIZE 256
#define BUILD_ID_SIZE 20 /* perf takes no other for one */

const struct pyusdt_elf_machine pyusdt_elf_x86_64 = {
    .number = EM_X86_64,
    .site = 16,
    .entry = 12,
    /* 12 times int3, endbr64 | nop, nop10, nop5: 16 bytes; then the next probe's, which begins
     * with our ret */
    .code = {0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
             0xcc, 0xf3, 0x0f, 0x1e, 0xfa, 0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84,
             0x00, 0x00, 0x00, 0x00, 0x00, 0x0f, 0x1f, 0x44, 0x00, 0x00},
    .registers = {"%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9", "%rax", "%r10", "%r11", "%rbx",
                  "%r12", "%r13"},
};

const struct pyusdt_elf_machine pyusdt_elf_aarch64 = {
    .number = EM_AARCH64,
    .site = 4,
    .entry = 0,
    /* bti c, nop, ret; the rest is never reached: udf */
    .code = {0x5f, 0x24, 0x03, 0xd5, 0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6},
    .registers = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"},
};

/* The last site's final instruction, if it is the first byte of the next 32. */
#define X86_RET 0xc3

const struct pyusdt_elf_machine *pyusdt_elf_native(void)
{
#if defined(__linux__) && defined(__x86_64__) && defined(__LP64__)
    return &pyusdt_elf_x86_64;
#elif defined(__linux__) && defined(__aarch64__) && defined(__LP64__)
    return &pyusdt_elf_aarch64;
#else
    return NULL;
#endif
}

/* The sections, in the order of the file. */
enum {
    NONE,
    BUILD_ID,
    HASH,
    DYNSYM,
    DYNSTR,
    TEXT,
    BASE,
    DYNAMIC,
    PROBES,
    STAPSDT,
    SHSTRTAB,
    SECTIONS,
};

static const struct section_kind {
    const char *name;
    uint32_t type;
    uint64_t flags, align, entry;
    uint32_t link, info;
} kinds[SECTIONS] = {
    [BUILD_ID] = {".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 4, 0, 0, 0},
    [HASH] = {".hash", SHT_HASH, SHF_ALLOC, 8, 4, DYNSYM, 0},
    [DYNSYM] = {".dynsym", SHT_DYNSYM, SHF_ALLOC, 8, sizeof(Elf64_Sym), DYNSTR, 1},
    [DYNSTR] = {".dynstr", SHT_STRTAB, SHF_ALLOC, 1, 0, 0, 0},
    [TEXT] = {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 32, 0, 0, 0},
    [BASE] = {".stapsdt.base", SHT_PROGBITS, SHF_ALLOC, 1, 0, 0, 0},
    [DYNAMIC] = {".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, 8, sizeof(Elf64_Dyn), DYNSTR, 0},
    [PROBES] = {".probes", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8, 0, 0, 0},
    [STAPSDT] = {".note.stapsdt", SHT_NOTE, 0, 4, 0, 0, 0},
    [SHSTRTAB] = {".shstrtab", SHT_STRTAB, 0, 1, 0, 0, 0},
};

enum { LOAD_READ, LOAD_WRITE, SEGMENT_DYNAMIC, SEGMENT_NOTE, SEGMENT_STACK, SEGMENTS };

/* The file as far as it is made. */
struct writer {
    const struct pyusdt_elf_machine *machine;
    const char *provider;
    const struct pyusdt_probe_def *probes;
    unsigned n;
    uint8_t *data;
    size_t size, room;
    bool failed; /* no memory: everything after it does nothing */
    /* the difference of address and offset in the writable segment */
    uint64_t address_shift;
    Elf64_Shdr section[SECTIONS];
};

/* ---- bytes ---- */

static void *append_zeros(struct writer *w, size_t size)
{
    if (w->failed)
        return NULL;
    if (w->size + size > w->room) {
        size_t room = 2 * (w->size + size) + 4096;
        uint8_t *more = realloc(w->data, room);
        if (!more) {
            w->failed = true;
            return NULL;
        }
        w->data = more;
        w->room = room;
    }
    memset(w->data + w->size, 0, size);
    w->size += size;
    return w->data + w->size - size;
}

static void append_bytes(struct writer *w, const void *bytes, size_t size)
{
    void *at = append_zeros(w, size);
    if (at)
        memcpy(at, bytes, size);
}

static void append_text(struct writer *w, const char *text)
{
    append_bytes(w, text, strlen(text) + 1);
}

static void align_end(struct writer *w, size_t to)
{
    append_zeros(w, (to - w->size % to) % to);
}

static void begin_section(struct writer *w, unsigned which)
{
    Elf64_Shdr *section = &w->section[which];

    if (kinds[which].align)
        align_end(w, kinds[which].align);
    section->sh_type = kinds[which].type;
    section->sh_flags = kinds[which].flags;
    section->sh_addralign = kinds[which].align;
    section->sh_entsize = kinds[which].entry;
    section->sh_link = kinds[which].link;
    section->sh_info = kinds[which].info;
    section->sh_offset = w->size;
    if (section->sh_flags & SHF_ALLOC)
        section->sh_addr = w->size + (section->sh_flags & SHF_WRITE ? w->address_shift : 0);
}

static void end_section(struct writer *w, unsigned which)
{
    w->section[which].sh_size = w->size - w->section[which].sh_offset;
}

/* ---- names ---- */

int pyusdt_elf_function(const char *provider, const char *name, char *function, size_t size)
{
    char note[NAME_SIZE], *to = function;
    int n;

    if (pyusdt_note_name(name, note, sizeof note) < 0)
        return -ENAMETOOLONG;
    n = snprintf(function, size, "%s_%s", provider, note);
    if (n < 0 || (size_t)n >= size)
        return -ENAMETOOLONG;
    for (const char *from = function; *from;
         from++) /* `__` to `_`, as in the user-trace provider */
        if (!(from[0] == '_' && from[1] == '_'))
            *to++ = *from;
    *to = '\0';
    return 0;
}

static int check_names(const struct writer *w, struct pyusdt_error *why)
{
    int r = pyusdt_provider_check(w->provider, why);

    if (r == 0 && (w->n == 0 || w->n > PYUSDT_MAX_PROBES))
        r = pyusdt_error_set(why, -EINVAL, "provider %s: it has 1 to %d probes, not %u",
                             w->provider, PYUSDT_MAX_PROBES, w->n);
    for (unsigned i = 0; r == 0 && i < w->n; i++)
        r = pyusdt_probe_check(w->provider, &w->probes[i], why);
    return r;
}

/* ---- sections ---- */

static void put_note(struct writer *w, unsigned kind, const char *owner, const void *bytes,
                     size_t size)
{
    const Elf64_Nhdr header = {(Elf64_Word)strlen(owner) + 1, (Elf64_Word)size, kind};

    append_bytes(w, &header, sizeof header);
    append_text(w, owner);
    align_end(w, 4);
    append_bytes(w, bytes, size);
    align_end(w, 4);
}

/* The two tables, then each probe's function. */
static void put_symbols(struct writer *w, size_t *sites, size_t *semaphores)
{
    Elf64_Sym symbol = {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT)};
    size_t name = 1;

    append_zeros(w, sizeof symbol); /* symbol 0 is none */
    *sites = w->size;               /* addresses and sizes are filled in when they are known */
    symbol.st_name = (Elf64_Word)name;
    symbol.st_shndx = TEXT;
    append_bytes(w, &symbol, sizeof symbol);
    name += sizeof PYUSDT_ELF_SITES;
    *semaphores = w->size;
    symbol.st_name = (Elf64_Word)name;
    symbol.st_shndx = PROBES;
    append_bytes(w, &symbol, sizeof symbol);
    name += sizeof PYUSDT_ELF_SEMAPHORES;
    for (unsigned i = 0; i < w->n; i++) {
        char function[2 * NAME_SIZE];
        pyusdt_elf_function(w->provider, w->probes[i].name, function, sizeof function);
        symbol.st_name = (Elf64_Word)name;
        symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
        symbol.st_shndx = TEXT;
        append_bytes(w, &symbol, sizeof symbol);
        name += strlen(function) + 1;
    }
}

static void put_names(struct writer *w)
{
    append_text(w, "");
    append_text(w, PYUSDT_ELF_SITES);
    append_text(w, PYUSDT_ELF_SEMAPHORES);
    for (unsigned i = 0; i < w->n; i++) {
        char function[2 * NAME_SIZE];
        pyusdt_elf_function(w->provider, w->probes[i].name, function, sizeof function);
        append_text(w, function);
    }
}

/* The hash table has one bucket. The two tables that are looked up by name come first; nothing
 * behind them is looked up. */
static void put_hash(struct writer *w)
{
    uint32_t symbols = w->n + 3, head[] = {1, symbols, 1};

    append_bytes(w, head, sizeof head);
    for (uint32_t i = 0; i < symbols; i++) {
        uint32_t next = i == 0 || i + 1 == symbols ? 0 : i + 1;
        append_bytes(w, &next, sizeof next);
    }
}

static void put_sites(struct writer *w)
{
    static const uint8_t ret = X86_RET;

    for (unsigned i = 0; i < w->n; i++) {
        uint8_t code[PYUSDT_ELF_STRIDE];
        memcpy(code, w->machine->code, sizeof code);
        if (w->machine->number == EM_X86_64 && i > 0)
            code[0] = X86_RET; /* the site before's */
        append_bytes(w, code, sizeof code);
    }
    if (w->machine->number == EM_X86_64)
        append_bytes(w, &ret, 1);
}

static void put_dynamic(struct writer *w)
{
    const Elf64_Dyn entries[] = {
        {DT_HASH, {w->section[HASH].sh_addr}},     {DT_STRTAB, {w->section[DYNSTR].sh_addr}},
        {DT_SYMTAB, {w->section[DYNSYM].sh_addr}}, {DT_STRSZ, {w->section[DYNSTR].sh_size}},
        {DT_SYMENT, {sizeof(Elf64_Sym)}},          {DT_NULL, {0}},
    };
    append_bytes(w, entries, sizeof entries);
}

static void put_operands(const struct writer *w, const struct pyusdt_probe_def *probe, char *text)
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < probe->nargs; i++)
        used += (size_t)snprintf(text + used, OPERANDS_SIZE - used, "%s%s%u@%s", i ? " " : "",
                                 (probe->type[i] & PYUSDT_KIND) == PYUSDT_INT ? "-" : "",
                                 PYUSDT_TYPE_SIZE(probe->type[i]), w->machine->registers[i]);
}

static void put_probe_notes(struct writer *w)
{
    for (unsigned i = 0; i < w->n; i++) {
        uint8_t bytes[3 * sizeof(uint64_t) + 2 * NAME_SIZE + OPERANDS_SIZE];
        char name[NAME_SIZE], operands[OPERANDS_SIZE];
        const uint64_t addresses[] = {
            w->section[TEXT].sh_addr + (uint64_t)i * PYUSDT_ELF_STRIDE + w->machine->site,
            w->section[BASE].sh_addr,
            w->section[PROBES].sh_addr + 2ull * i,
        };
        const char *const texts[] = {w->provider, name, operands};
        size_t size = sizeof addresses;

        pyusdt_note_name(w->probes[i].name, name, sizeof name);
        put_operands(w, &w->probes[i], operands);
        memcpy(bytes, addresses, sizeof addresses);
        for (unsigned k = 0; k < 3; k++) {
            size_t length = strlen(texts[k]) + 1;
            memcpy(bytes + size, texts[k], length);
            size += length;
        }
        put_note(w, 3, "stapsdt", bytes, size);
    }
}

static void put_section_names(struct writer *w)
{
    append_text(w, "");
    for (unsigned i = 1; i < SECTIONS; i++) {
        w->section[i].sh_name = (Elf64_Word)(w->size - w->section[SHSTRTAB].sh_offset);
        append_text(w, kinds[i].name);
    }
}

/* ---- values that are known only at the end ---- */

static void fill_symbols(struct writer *w, size_t sites, size_t semaphores)
{
    Elf64_Sym *symbol = (void *)(w->data + sites);

    symbol->st_value = w->section[TEXT].sh_addr;
    symbol->st_size = (uint64_t)w->n * PYUSDT_ELF_STRIDE;
    symbol = (void *)(w->data + semaphores);
    symbol->st_value = w->section[PROBES].sh_addr;
    symbol->st_size = 2ull * w->n;
    for (unsigned i = 0; i < w->n; i++) {
        symbol++;
        symbol->st_value =
            w->section[TEXT].sh_addr + (uint64_t)i * PYUSDT_ELF_STRIDE + w->machine->entry;
        symbol->st_size = w->machine->number == EM_X86_64 ? 21 : 12; /* up to and with the ret */
    }
}

static void fill_headers(struct writer *w, uint64_t sections, uint64_t read_end)
{
    const uint64_t write = w->section[DYNAMIC].sh_offset;
    const uint64_t write_size = w->section[PROBES].sh_offset + w->section[PROBES].sh_size - write;
    const Elf64_Shdr *dynamic = &w->section[DYNAMIC], *id = &w->section[BUILD_ID];
    const Elf64_Phdr segments[SEGMENTS] = {
        [LOAD_READ] = {PT_LOAD, PF_R | PF_X, 0, 0, 0, read_end, read_end, PAGE},
        [LOAD_WRITE] = {PT_LOAD, PF_R | PF_W, write, dynamic->sh_addr, dynamic->sh_addr, write_size,
                        write_size, PAGE},
        [SEGMENT_DYNAMIC] = {PT_DYNAMIC, PF_R | PF_W, write, dynamic->sh_addr, dynamic->sh_addr,
                             dynamic->sh_size, dynamic->sh_size, 8},
        [SEGMENT_NOTE] = {PT_NOTE, PF_R, id->sh_offset, id->sh_addr, id->sh_addr, id->sh_size,
                          id->sh_size, 4},
        [SEGMENT_STACK] = {PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 0, 16}, /* not executable */
    };
    const Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = w->machine->number,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof header,
        .e_shoff = sections,
        .e_ehsize = sizeof header,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = SEGMENTS,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = SECTIONS,
        .e_shstrndx = SHSTRTAB,
    };

    memcpy(w->data, &header, sizeof header);
    memcpy(w->data + sizeof header, segments, sizeof segments);
}

/* So that no bit covers only a few bytes. */
static uint64_t mix_bits(uint64_t hash)
{
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdull;
    hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53ull;
    return hash ^ hash >> 33;
}

/* FNV-1a over everything, the id itself being 0. */
static void fill_id(struct writer *w, uint8_t *id)
{
    uint64_t hash = 0xcbf29ce484222325ull, words[3];

    for (size_t i = 0; i < w->size; i++)
        hash = (hash ^ w->data[i]) * 0x100000001b3ull;
    for (unsigned i = 0; i < 3; i++)
        words[i] = hash = mix_bits(hash);
    memcpy(id, words, PYUSDT_ELF_ID_SIZE);
    memcpy(w->data + w->section[BUILD_ID].sh_offset + sizeof(Elf64_Nhdr) + 4, words, BUILD_ID_SIZE);
}

/* In the order of the file. Values that are not known yet are filled in later. */
static void write_file(struct writer *w, uint8_t *id)
{
    const uint8_t no_id[BUILD_ID_SIZE] = {0};
    size_t sites = 0, semaphores = 0;
    uint64_t read_end, sections;

    append_zeros(w, sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr));
    begin_section(w, BUILD_ID), put_note(w, NT_GNU_BUILD_ID, "GNU", no_id, sizeof no_id),
        end_section(w, BUILD_ID);
    begin_section(w, HASH), put_hash(w), end_section(w, HASH);
    begin_section(w, DYNSYM), put_symbols(w, &sites, &semaphores), end_section(w, DYNSYM);
    begin_section(w, DYNSTR), put_names(w), end_section(w, DYNSTR);
    begin_section(w, TEXT), put_sites(w), end_section(w, TEXT);
    begin_section(w, BASE), append_zeros(w, 1), end_section(w, BASE);
    read_end = w->size;
    w->address_shift = (read_end + PAGE - 1) / PAGE * PAGE;
    begin_section(w, DYNAMIC), put_dynamic(w), end_section(w, DYNAMIC);
    begin_section(w, PROBES), append_zeros(w, 2ul * w->n), end_section(w, PROBES);
    begin_section(w, STAPSDT), put_probe_notes(w), end_section(w, STAPSDT);
    begin_section(w, SHSTRTAB), put_section_names(w), end_section(w, SHSTRTAB);
    align_end(w, 8);
    sections = w->size;
    append_bytes(w, w->section, sizeof w->section);
    if (w->failed)
        return;
    fill_symbols(w, sites, semaphores);
    fill_headers(w, sections, read_end);
    fill_id(w, id);
}

int pyusdt_elf_write(const struct pyusdt_elf_machine *machine, const char *provider,
                     const struct pyusdt_probe_def *probes, unsigned n, struct pyusdt_elf *elf,
                     struct pyusdt_error *why)
{
    struct writer w = {.machine = machine, .provider = provider, .probes = probes, .n = n};
    int r = check_names(&w, why);

    if (r != 0)
        return r;
    write_file(&w, elf->id);
    if (w.failed) {
        free(w.data);
        return pyusdt_error_set(why, -ENOMEM, "no memory");
    }
    elf->data = w.data;
    elf->size = w.size;
    return 0;
}
