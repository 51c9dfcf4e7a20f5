/*
 * A trial of uprobes at the no-operations of a pyusdt site: whether the running kernel makes a call
 * of them, and where.
 *
 * - The call must also work in a forked child: Linux 6.18 copies the call into the child, and not
 *   the page that it leads to.
 * - The trial runs in processes of its own, without SIGCHLD, core file or line in the kernel's log.
 */
#ifndef PYUSDT_KERNEL_UPROBE_TRIAL_H
#define PYUSDT_KERNEL_UPROBE_TRIAL_H

#include <stddef.h>

/* fd: a file that begins with the site, of `size` bytes, and a return.  Where in it the call is; 0: there is none, or none
 * that a child survives; or -errno.  *child: for pyusdt_uprobe_trial_is_over(), 0 or a process that ends within
 * a second, or with this thread: the last that has the caller's descriptors, where the caller closes its own now.  So nobody
 * waits until the kernel has taken the uprobes away. */
int pyusdt_uprobe_trial(int fd, size_t size, int *child);

/* Whether that process has ended; then nothing of it is left. */
int pyusdt_uprobe_trial_is_over(int child);

#endif
