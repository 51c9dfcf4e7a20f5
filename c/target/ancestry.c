/*
 * Reads the chain of parent processes (see ancestry.h).
 *
 * - The chain is the one at the time of the fork, or when the process loaded pyusdt. It does not
 *   change when a parent ends later, so a tracer can tell whose child a process was after both have
 *   ended.
 */
#define _GNU_SOURCE
#include "target/ancestry.h"

#include <string.h>
#include <unistd.h>

#include "shared/os.h"

static struct {
    uint32_t pid; /* the process of the chain; 0: not read yet */
    uint32_t parent[PYUSDT_CTL_ANCESTORS];
} chain;

static void read_chain(void)
{
    struct pyusdt_os_process process;
    uint32_t pid = (uint32_t)getppid();

    chain.pid = (uint32_t)getpid();
    for (unsigned i = 0; i < PYUSDT_CTL_ANCESTORS; i++) {
        chain.parent[i] = pid;
        if (pid == 0 || pyusdt_os_read_process(pid, &process) != 0)
            return;
        pid = process.parent;
    }
}

void pyusdt_ancestry_fork(void)
{
    if (chain.pid == 0)
        return;
    memmove(chain.parent + 1, chain.parent, sizeof chain.parent - sizeof *chain.parent);
    chain.parent[0] = chain.pid;
    chain.pid = (uint32_t)getpid();
    if (getppid() == 0)
        memset(
            chain.parent, 0,
            sizeof chain
                .parent); /* the first process of a pid namespace: those ids mean nothing in it */
}

void pyusdt_ancestry_copy(uint32_t ancestors[PYUSDT_CTL_ANCESTORS])
{
    if (chain.pid == 0)
        read_chain();
    else if (chain.pid != (uint32_t)getpid())
        pyusdt_ancestry_fork(); /* a clone() of which the C library did not know */
    memcpy(ancestors, chain.parent, sizeof chain.parent);
}
