/* A USDT tracer inside the traced process, to see in unit tests what every tracer outside would see.
 *
 * Input: a probe's site, its semaphore, the registers of its arguments. Output: the arguments of each hit, strings read from
 * memory as they are at that moment. The first byte of an attached site is int3, and its semaphore is raised
 * by one; what is not ours goes on as a SIGTRAP would. x86-64 Linux only. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define MAX_ARGS 12
#define MAX_SITES 16
#define MAX_TEXT 2048
#define MAX_EVENTS 4096

struct site {
    uint8_t *address;
    uint16_t *semaphore;
    uint32_t nargs;
    uint8_t registers[MAX_ARGS]; /* indices into gregs */
    uint8_t strings[MAX_ARGS];
};

struct event {
    uint32_t site;
    int32_t length[MAX_ARGS]; /* of strings; -1: NULL */
    uint64_t value[MAX_ARGS];
    char text[MAX_ARGS][MAX_TEXT];
};

struct site sites[MAX_SITES];
struct event events[MAX_EVENTS];
unsigned event_count;

static void on_trap(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint8_t *hit = (uint8_t *)(registers[REG_RIP] - 1);

    (void)info;
    for (unsigned s = 0; s < MAX_SITES; s++) {
        if (sites[s].address != hit)
            continue;
        unsigned slot = __atomic_fetch_add(&event_count, 1, __ATOMIC_RELAXED);
        if (slot >= MAX_EVENTS)
            return;
        struct event *event = &events[slot];
        event->site = s;
        for (unsigned i = 0; i < sites[s].nargs; i++) {
            event->value[i] = (uint64_t)registers[sites[s].registers[i]];
            event->length[i] = -1;
            if (sites[s].strings[i] && event->value[i] != 0) {
                event->length[i] = (int32_t)strnlen((const char *)event->value[i], MAX_TEXT);
                memcpy(event->text[i], (const char *)event->value[i], (size_t)event->length[i]);
            }
        }
        return;
    }
    signal(number, SIG_DFL);
    raise(number);
}

static int put(uint8_t *address, uint8_t byte)
{
    uintptr_t page = (uintptr_t)address & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);

    if (mprotect((void *)page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE | PROT_EXEC) !=
        0)
        return -errno;
    *address = byte;
    return mprotect((void *)page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC) != 0
               ? -errno
               : 0;
}

int attach(unsigned s, const struct site *site)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};

    if (s >= MAX_SITES || *site->address != 0x90)
        return -EINVAL;
    sigaction(SIGTRAP, &action, NULL);
    sites[s] = *site;
    __atomic_fetch_add(site->semaphore, 1, __ATOMIC_RELAXED);
    return put(site->address, 0xcc);
}

int detach(unsigned s)
{
    __atomic_fetch_sub(sites[s].semaphore, 1, __ATOMIC_RELAXED);
    return put(sites[s].address, 0x90); /* the entry stays: a late hit is still ours */
}
