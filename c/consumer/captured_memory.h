/*
 * The captured memory of an event: the strings, terms and arrays that its pointers lead to.
 *
 * - Any other address is a bad one.
 */
#ifndef PYUSDT_CONSUMER_CAPTURED_MEMORY_H
#define PYUSDT_CONSUMER_CAPTURED_MEMORY_H

#include "events/event_source.h"

/* As pyusdt_vm_env's read_user: how many bytes, or -EFAULT. */
int pyusdt_read_captured_memory(const struct pyusdt_event *e, uint64_t address, void *to,
                                uint32_t size, int how);

#endif
