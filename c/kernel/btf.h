/*
 * The kernel's type information (BTF, as in /sys/kernel/btf/vmlinux): ids of types and functions,
 * offsets of members.
 *
 * - All is checked, and nothing past the end is read.
 */
#ifndef PYUSDT_KERNEL_BTF_H
#define PYUSDT_KERNEL_BTF_H

#include <stddef.h>
#include <stdint.h>

/* The id of the function `name`; -ENOENT where there is none, -EINVAL where this is no BTF. */
int64_t pyusdt_btf_function(const uint8_t *btf, size_t size, const char *name);

/* The id of the type of this kind (BTF_KIND_…) and name; errors as above. */
int64_t pyusdt_btf_find(const uint8_t *btf, size_t size, uint32_t kind, const char *name);

/* How many types there are; of the first `room` of them, by id from 1 on, the places in `btf`.  -EINVAL where this is no BTF,
 * or has a type of a kind that is not known. */
int64_t pyusdt_btf_type_offsets(const uint8_t *btf, size_t size, uint32_t *places, size_t room);

/* The offset in bytes of a member of the struct `structure`, also of one in an unnamed struct or union in it; -ENOENT
 * where either is not there, -EINVAL as above. */
int64_t pyusdt_btf_member(const uint8_t *btf, size_t size, const char *structure,
                          const char *member);

/* How many bytes the struct `structure` takes; errors as above. */
int64_t pyusdt_btf_size(const uint8_t *btf, size_t size, const char *structure);

/* The value of an enumerator, of any enumeration; -ENOENT where there is none of this name, -EEXIST where there are several of
 * different values, -EINVAL as above. */
int pyusdt_btf_enumerator(const uint8_t *btf, size_t size, const char *name, int64_t *value);

#endif
