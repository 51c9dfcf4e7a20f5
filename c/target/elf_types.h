/*
 * The ELF structures and constants that elf_write.c uses.
 *
 * They come from the system, or from this file if the system has no elf.h (macOS). Names and types
 * of providers are thus checked by the same code everywhere. Sources: the object file chapters of
 * the System V ABI; the GNU tools for note numbers and GNU_ constants.
 */
#ifndef PYUSDT_ELF_TYPES_H
#define PYUSDT_ELF_TYPES_H

#if !defined(__APPLE__)
#include <elf.h>
#else
#include <stdint.h>

typedef uint32_t Elf64_Word;

typedef struct {
    unsigned char e_ident[16];
    uint16_t e_type, e_machine;
    uint32_t e_version;
    uint64_t e_entry, e_phoff, e_shoff;
    uint32_t e_flags;
    uint16_t e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx;
} Elf64_Ehdr;

typedef struct {
    uint32_t p_type, p_flags;
    uint64_t p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align;
} Elf64_Phdr;

typedef struct {
    uint32_t sh_name, sh_type;
    uint64_t sh_flags, sh_addr, sh_offset, sh_size;
    uint32_t sh_link, sh_info;
    uint64_t sh_addralign, sh_entsize;
} Elf64_Shdr;

typedef struct {
    uint32_t st_name;
    unsigned char st_info, st_other;
    uint16_t st_shndx;
    uint64_t st_value, st_size;
} Elf64_Sym;

typedef struct {
    int64_t d_tag;
    union {
        uint64_t d_val, d_ptr;
    } d_un;
} Elf64_Dyn;

typedef struct {
    uint32_t n_namesz, n_descsz, n_type;
} Elf64_Nhdr;

#define ELF64_ST_INFO(bind, type) (((bind) << 4) + ((type) & 0xf))

enum {
    ELFMAG0 = 0x7f,
    ELFMAG1 = 'E',
    ELFMAG2 = 'L',
    ELFMAG3 = 'F',
    ELFCLASS64 = 2,
    ELFDATA2LSB = 1,
    EV_CURRENT = 1
};
enum { ET_DYN = 3, EM_X86_64 = 62, EM_AARCH64 = 183, NT_GNU_BUILD_ID = 3 };
enum {
    PT_LOAD = 1,
    PT_DYNAMIC = 2,
    PT_NOTE = 4,
    PT_GNU_STACK = 0x6474e551,
    PF_X = 1,
    PF_W = 2,
    PF_R = 4
};
enum {
    SHT_PROGBITS = 1,
    SHT_STRTAB = 3,
    SHT_HASH = 5,
    SHT_DYNAMIC = 6,
    SHT_NOTE = 7,
    SHT_DYNSYM = 11
};
enum {
    SHF_WRITE = 1,
    SHF_ALLOC = 2,
    SHF_EXECINSTR = 4,
    STB_GLOBAL = 1,
    STT_OBJECT = 1,
    STT_FUNC = 2
};
enum { DT_NULL = 0, DT_HASH = 4, DT_STRTAB = 5, DT_SYMTAB = 6, DT_STRSZ = 10, DT_SYMENT = 11 };

#endif

#endif
