/* The instructions of x86-64 and aarch64, as far as probes need them (instructions.h). */
#include "kernel/instructions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- lengths of x86-64 -------------------------------------------------------------------- */

enum {
    NONE = 0,
    BYTE = 1,
    HALF = 2,
    ENTER = 3,
    WORD = 4,
    MODRM = 16,
    BAD = 32
}; /* immediates in bytes; beside these, flags */

#define ARITHMETIC(at) \
    [at... at + 3] = MODRM, [at + 4] = BYTE, [at + 5] = WORD, [at + 6 ... at + 7] = BAD

static const uint8_t one_byte[256] = {
    ARITHMETIC(0x00),
    ARITHMETIC(0x08),
    ARITHMETIC(0x10),
    ARITHMETIC(0x18),
    ARITHMETIC(0x20),
    ARITHMETIC(0x28),
    ARITHMETIC(0x30),
    ARITHMETIC(0x38),
    [0x60 ... 0x62] = BAD,
    [0x63] = MODRM,
    [0x68] = WORD,
    [0x69] = MODRM | WORD,
    [0x6a] = BYTE,
    [0x6b] = MODRM | BYTE,
    [0x70 ... 0x7f] = BYTE,
    [0x80] = MODRM | BYTE,
    [0x81] = MODRM | WORD,
    [0x82] = BAD,
    [0x83] = MODRM | BYTE,
    [0x84 ... 0x8f] = MODRM,
    [0x9a] = BAD,
    [0xa8] = BYTE,
    [0xa9] = WORD,
    [0xb0 ... 0xb7] = BYTE,
    [0xb8 ... 0xbf] = WORD,
    [0xc0 ... 0xc1] = MODRM | BYTE,
    [0xc2] = HALF,
    [0xc4 ... 0xc5] = BAD,
    [0xc6] = MODRM | BYTE,
    [0xc7] = MODRM | WORD,
    [0xc8] = ENTER,
    [0xca] = HALF,
    [0xcd] = BYTE,
    [0xce] = BAD,
    [0xd0 ... 0xd3] = MODRM,
    [0xd4 ... 0xd6] = BAD,
    [0xd8 ... 0xdf] = MODRM,
    [0xe0 ... 0xe7] = BYTE,
    [0xe8 ... 0xe9] = WORD,
    [0xea] = BAD,
    [0xeb] = BYTE,
    [0xf6 ... 0xf7] = MODRM,
    [0xfe ... 0xff] = MODRM,
};

/* Most have a ModRM byte: what is not said differs from that by nothing. */
static const uint8_t two_bytes[256] = {
    [0x04] = MODRM ^ BAD,
    [0x05 ... 0x09] = MODRM,
    [0x0a] = MODRM ^ BAD,
    [0x0b] = MODRM,
    [0x0c] = MODRM ^ BAD,
    [0x0e] = MODRM,
    [0x0f] = BYTE,
    [0x24 ... 0x27] = MODRM ^ BAD,
    [0x30 ... 0x37] = MODRM,
    [0x39] = MODRM ^ BAD,
    [0x3b ... 0x3f] = MODRM ^ BAD,
    [0x70 ... 0x73] = BYTE,
    [0x77] = MODRM,
    [0x80 ... 0x8f] = MODRM ^ WORD,
    [0xa0 ... 0xa2] = MODRM,
    [0xa4] = BYTE,
    [0xa6 ... 0xa7] = MODRM ^ BAD,
    [0xa8 ... 0xaa] = MODRM,
    [0xac] = BYTE,
    [0xba] = BYTE,
    [0xc2] = BYTE,
    [0xc4 ... 0xc6] = BYTE,
    [0xc8 ... 0xcf] = MODRM,
};

static const uint8_t vector_of_two_bytes[256] = {
    [0x70 ... 0x73] = BYTE,
    [0x77] = MODRM,
    [0xc2] = BYTE,
    [0xc4 ... 0xc6] = BYTE,
};

/* Of VEX's, EVEX's and XOP's maps; BAD: there is none. */
static uint8_t vector_kind(unsigned map, uint8_t opcode)
{
    switch (map) {
    case 1:
        return vector_of_two_bytes[opcode] ^ MODRM;
    case 2:
    case 5:
    case 6:
    case 9:
        return MODRM;
    case 3:
    case 8:
        return MODRM | BYTE;
    case 10:
        return MODRM | WORD;
    default:
        return BAD;
    }
}

static int is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
           byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
           byte == 0x65;
}

static int64_t signed_number(const uint8_t *bytes, unsigned size)
{
    int8_t byte;
    int16_t half;
    int32_t word;
    switch (size) {
    case 1:
        return memcpy(&byte, bytes, 1), byte;
    case 2:
        return memcpy(&half, bytes, 2), half;
    case 4:
        return memcpy(&word, bytes, 4), word;
    default:
        return 0;
    }
}

/* The prefixes and the opcode: where what follows it is, 0: there is no such instruction. */
static unsigned read_opcode(const uint8_t *code, struct pyusdt_instruction *it, uint8_t *kind)
{
    unsigned at = 0;
    uint8_t byte;
    while (is_prefix(byte = code[at])) {
        it->half |= byte == 0x66;
        it->short_address |= byte == 0x67;
        it->notrack |= byte == 0x3e;
        it->segment |= byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e;
        it->lock |= byte == 0xf0;
        if (++at > 14) {
            return 0;
        }
    }
    if ((byte & 0xf0) == 0x40) {
        it->rex = byte;
        byte = code[++at];
    }
    it->map = PYUSDT_ONE_BYTE;
    *kind = one_byte[byte];
    if (byte == 0x0f) {
        byte = code[++at];
        it->map = PYUSDT_TWO_BYTES;
        *kind = two_bytes[byte] ^ MODRM;
        if (byte == 0x38 || byte == 0x3a) {
            *kind = vector_kind(byte == 0x38 ? 2 : 3, 0);
            it->map = PYUSDT_OTHER;
            byte = code[++at];
        }
    } else if (byte == 0xc4 || byte == 0xc5 || byte == 0x62 ||
               (byte == 0x8f && (code[at + 1] & 0x1f) >= 8)) {
        unsigned size = byte == 0xc5 ? 2 : byte == 0x62 ? 4 : 3;
        unsigned map = byte == 0xc5 ? 1 : code[at + 1] & (byte == 0x62 ? 0x07 : 0x1f);
        at += size;
        byte = code[at];
        *kind = vector_kind(map, byte);
        it->map = PYUSDT_OTHER;
        it->half = 0;
        it->vector = 1;
    }
    it->opcode = byte;
    return *kind & BAD ? 0 : at + 1;
}

/* The ModRM byte and what belongs to it: how many bytes. */
static unsigned read_operand(const uint8_t *code, struct pyusdt_instruction *it)
{
    unsigned mode = code[0] >> 6, base = code[0] & 7, size = 1;
    it->has_modrm = 1;
    it->modrm = code[0];
    if (mode == 3) {
        return 1;
    }
    if (base == 4) {
        it->sib = code[1];
        base = code[1] & 7;
        size = 2;
    }
    unsigned far = mode == 1 ? 1 : mode == 2 || base == 5 ? 4 : 0;
    it->displacement = signed_number(code + size, far);
    return size + far;
}

int pyusdt_instruction_x86(const uint8_t *code, size_t left, struct pyusdt_instruction *it)
{
    uint8_t padded[32] = {0}, kind;
    memcpy(padded, code, left < 16 ? left : 16);
    memset(it, 0, sizeof *it);
    unsigned at = read_opcode(padded, it, &kind);
    if (at == 0) {
        return 0;
    }
    int one = it->map == PYUSDT_ONE_BYTE, wide = it->rex & 8;
    if (one && (it->opcode == 0xf6 || it->opcode == 0xf7) &&
        (padded[at] >> 3 & 7) < 2) { /* test, which alone of its group has one */
        kind |= it->opcode == 0xf6 ? BYTE : WORD;
    }
    if (one && it->opcode >= 0xa0 && it->opcode <= 0xa3) {
        at += it->short_address ? 4 : 8; /* the address itself */
    }
    if (kind & MODRM) {
        at += read_operand(padded + at, it);
    }
    unsigned immediate = kind & 7;
    if (immediate == WORD) {
        int jumps = one ? it->opcode == 0xe8 || it->opcode == 0xe9
                        : it->map == PYUSDT_TWO_BYTES && it->opcode >= 0x80 && it->opcode <= 0x8f;
        if (one && it->opcode >= 0xb8 && it->opcode <= 0xbf && wide) {
            immediate = 8;
        } else if (it->half && !wide && !jumps) {
            immediate = 2;
        }
    }
    if (at + immediate > 15 || at + immediate > left) {
        return 0;
    }
    it->immediate = signed_number(padded + at, immediate);
    it->size = at + immediate;
    return it->size;
}

size_t pyusdt_find_instructions(int machine, const uint8_t *code, size_t size, uint32_t *offsets,
                                size_t room)
{
    struct pyusdt_instruction it;
    size_t count = 0;
    for (size_t at = 0; at < size; count++) {
        int length = machine == PYUSDT_X86_64 ? pyusdt_instruction_x86(code + at, size - at, &it)
                     : machine == PYUSDT_AARCH64 && size - at >= 4 ? 4
                                                                   : 0;
        if (length == 0) {
            break;
        }
        if (count < room) {
            offsets[count] = at;
        }
        at += length;
    }
    return count;
}

/* --- what Linux does with an instruction under a uprobe ----------------------------------------
 *
 * It knows instructions by their opcode's first byte, and looks a vector instruction's up among those of one byte: it refuses vpxor as
 * `out`, and vpcmpeqb, taken for `je`, is not executed at all. */

static const uint8_t refused_by_linux[256] = {
    [0x06 ... 0x07] = 1, [0x0e ... 0x0f] = 1, [0x16 ... 0x17] = 1, [0x1e ... 0x1f] = 1,
    [0x26 ... 0x27] = 1, [0x2e ... 0x2f] = 1, [0x36 ... 0x37] = 1, [0x3e ... 0x4f] = 1,
    [0x60 ... 0x62] = 1, [0x66 ... 0x67] = 1, [0x6c ... 0x6f] = 1, [0x82] = 1,
    [0x9a] = 1,          [0xc4 ... 0xc5] = 1, [0xcc ... 0xcf] = 1, [0xd4 ... 0xd6] = 1,
    [0xe4 ... 0xe7] = 1, [0xea] = 1,          [0xec ... 0xf1] = 1, [0xf4] = 1,
    [0xfa ... 0xfb] = 1,
};

/* Jumps, nop, popf, returns, calls. */
static const uint8_t taken_for_another[256] = {
    [0x70 ... 0x7f] = 1, [0x90] = 1,          [0x9d] = 1, [0xc2 ... 0xc3] = 1,
    [0xca ... 0xcb] = 1, [0xe8 ... 0xe9] = 1, [0xeb] = 1, [0xff] = 1,
};

int pyusdt_can_take_uprobe(int machine, const uint8_t *code, size_t left)
{
    struct pyusdt_instruction it;
    if (machine != PYUSDT_X86_64 || pyusdt_instruction_x86(code, left, &it) == 0) {
        return 1;
    }
    if (it.vector) {
        return !refused_by_linux[it.opcode] && !taken_for_another[it.opcode];
    }
    if (it.lock || (it.segment && !(it.map == PYUSDT_TWO_BYTES &&
                                    it.opcode == 0x1f))) { /* but nops, which newer ones take */
        return 0;
    }
    return !(it.map == PYUSDT_ONE_BYTE && refused_by_linux[it.opcode]);
}

/* --- jumps ---------------------------------------------------------------------------------- */

int pyusdt_jump_x86(const struct pyusdt_instruction *it, uint64_t next, uint64_t *target)
{
    *target = next + it->immediate;
    if (it->map == PYUSDT_ONE_BYTE) {
        if (it->opcode == 0xe9 || it->opcode == 0xeb) {
            return PYUSDT_ALWAYS;
        }
        if ((it->opcode & 0xf0) == 0x70) {
            return it->opcode & 15;
        }
        if (it->opcode >= 0xe0 && it->opcode <= 0xe3) { /* loop, jrcxz */
            return PYUSDT_ALWAYS + 1;
        }
    } else if (it->map == PYUSDT_TWO_BYTES && (it->opcode & 0xf0) == 0x80) {
        return it->opcode & 15;
    }
    return -1;
}

int pyusdt_jump_aarch64(uint32_t word, uint64_t address, uint64_t *target)
{
    int conditional = (word & 0xff000000) == 0x54000000 ||
                      (word & 0x7e000000) == 0x34000000; /* b.cond; cbz, cbnz */
    int tests = (word & 0x7e000000) == 0x36000000;       /* tbz, tbnz */
    int64_t distance = 0;
    if ((word & 0xfc000000) == 0x14000000) {
        distance = (int64_t)((uint64_t)word << 38) >> 36;
    } else if (conditional) {
        distance = (int64_t)((uint64_t)(word >> 5) << 45) >> 43;
    } else if (tests) {
        distance = (int64_t)((uint64_t)(word >> 5) << 50) >> 48;
    } else {
        return -1;
    }
    *target = address + distance;
    return conditional || tests ? PYUSDT_ALWAYS + 1 : PYUSDT_ALWAYS;
}

/* The function that an address lies in: its number, or -1. */
static int64_t function_of(const struct pyusdt_range *functions, size_t count, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (functions[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low && address - functions[low - 1].address < functions[low - 1].size ? (int64_t)low - 1
                                                                                 : -1;
}

size_t pyusdt_find_entered_functions(int machine, const uint8_t *code, size_t size,
                                     uint64_t address, const struct pyusdt_range *functions,
                                     size_t count, struct pyusdt_range *found, size_t room)
{
    struct pyusdt_instruction it;
    size_t entered = 0;
    for (size_t number = 0; number < count; number++) {
        uint64_t begin = functions[number].address - address, bytes = functions[number].size;
        if (begin >= size || bytes > size - begin) {
            continue;
        }
        for (uint64_t at = begin; at < begin + bytes;) {
            int length = 4, condition;
            uint64_t target = 0;
            if (machine == PYUSDT_X86_64) {
                length = pyusdt_instruction_x86(code + at, begin + bytes - at, &it);
                condition = length ? pyusdt_jump_x86(&it, address + at + length, &target) : -1;
                if (length && it.map == PYUSDT_ONE_BYTE && it.opcode == 0xe8) {
                    condition = PYUSDT_ALWAYS; /* a call, whose target is there, too */
                }
            } else if (begin + bytes - at >= 4) {
                uint32_t word;
                memcpy(&word, code + at, 4);
                int calls = (word & 0xfc000000) == 0x94000000; /* bl is b but for one bit */
                condition =
                    pyusdt_jump_aarch64(calls ? word ^ 0x80000000 : word, address + at, &target);
            } else {
                break;
            }
            if (length == 0) {
                break;
            }
            at += length;
            if (condition < 0 || target - functions[number].address < bytes) {
                continue;
            }
            int64_t other = function_of(functions, count, target);
            if (other >= 0 && functions[other].address != target) {
                if (entered < room) {
                    found[entered] = (struct pyusdt_range){target, number};
                }
                entered++;
            }
        }
    }
    return entered;
}
