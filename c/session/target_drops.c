/* Dropped events of a target, and why it drops them. */
#define _GNU_SOURCE
#include "session/target_drops.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/session_warnings.h"
#include "shared/error.h"

#define TOO_MANY_MAX (1ull << 50) /* so that the counts of all probes can be added up */
#define ERRNO_MAX 4095
#define REASON_SIZE (PYUSDT_ADVICE_SIZE + 128)

/* Why a process has not all of its buffers, and what can be done. */
static void explain_buffer_error(int error, int dir, char *text, size_t size)
{
    char advice[PYUSDT_ADVICE_SIZE];

    switch (-error) {
    case ENOSPC:
        snprintf(text, size, "%s%s", strerror(ENOSPC),
                 pyusdt_space_advice(dir, advice, sizeof advice));
        break;
    case PYUSDT_KEEPS_FILE_SPACE:
        snprintf(text, size, "what is free of the file system is kept for the program%s",
                 pyusdt_space_advice(dir, advice, sizeof advice));
        break;
    case PYUSDT_KEEPS_MEMORY:
        snprintf(
            text, size,
            "what is free below the limit of its memory (its cgroup's, or the machine's) is kept for the program. "
            "Raise the limit, or let buffers be smaller (-b 64k)");
        break;
    case PYUSDT_KEEPS_ADDRESSES:
        snprintf(
            text, size,
            "what is free below the limit of its address space (ulimit -v) is kept for the program. "
            "Raise the limit, or let buffers be smaller (-b 64k)");
        break;
    case EFBIG:
        snprintf(text, size,
                 "its limit for the size of a file (ulimit -f) is less than that of a buffer. "
                 "Raise the limit, or let buffers be smaller (-b 64k)");
        break;
    default:
        snprintf(text, size, "%s", strerror(-error));
    }
}

uint64_t pyusdt_target_probe_drops(const struct pyusdt_target *target, uint32_t probe)
{
    if (target->drops_invalid)
        return 0;
    if (target->area)
        return atomic_load_explicit(&target->area->drops[probe], memory_order_relaxed);
    return target->drops ? target->drops[probe] : 0;
}

uint64_t pyusdt_target_max_events(const struct pyusdt_session *session,
                                  const struct pyusdt_target *target)
{
    uint64_t ns = pyusdt_now() - (target->rundir->resumed ? 0 : session->begun);

    return ns < TOO_MANY_MAX / session->processors ? (ns + 1) * session->processors : TOO_MANY_MAX;
}

/* What its shared memory says; where one of the counts is absurd, that. */
static uint64_t reported_drops(const struct pyusdt_target *target, uint64_t most)
{
    uint64_t failed = atomic_load(&target->slot->failed), sum = 0, largest = 0;
    uint32_t n = target->area || target->drops ? target->table->table.nprobes : 0;

    for (uint32_t probe = 0; probe < n; probe++) {
        uint64_t drops = pyusdt_target_probe_drops(target, probe);
        largest = drops > largest ? drops : largest;
        sum += drops;
    }
    if (largest > most)
        return largest; /* the sum may have gone over */
    if (PYUSDT_FAILED_TAG(failed) == PYUSDT_FAILED_TAG(target->rundir->header.generation))
        sum += PYUSDT_FAILED_COUNT(failed);
    return sum;
}

static void warn_of_child(struct pyusdt_session *session, const struct pyusdt_target *target)
{
    int error = atomic_load(&target->slot->child_error);

    if (error < 0 && error >= -ERRNO_MAX)
        pyusdt_session_warn(
            session,
            "what a process that %u has forked fires is lost: it cannot make its control file: %s",
            target->pid, strerror(-error));
}

uint64_t pyusdt_target_total_drops(struct pyusdt_session *session, struct pyusdt_target *target)
{
    uint64_t most, reported;

    if (!target->ctl || target->drops_invalid)
        return target->dropped;
    most = pyusdt_target_max_events(session, target);
    reported = reported_drops(target, most);
    if (reported > target->dropped && reported <= most &&
        atomic_load(&target->slot->child_error) != 0)
        warn_of_child(session, target);
    if (reported <= most && reported >= target->dropped)
        return target->dropped = reported;
    target->drops_invalid = true;
    pyusdt_session_warn(
        session,
        "process %u says that it has lost %llu events, which cannot be: what it loses is not counted",
        target->pid, (unsigned long long)reported);
    return target->dropped;
}

void pyusdt_target_warn_no_buffers(struct pyusdt_session *session, struct pyusdt_target *target)
{
    bool none = !target->area;
    int error = none ? atomic_load(&target->slot->error) : atomic_load(&target->area->error);
    char reason[REASON_SIZE];

    if (target->buffers_warned || error >= 0 || error < -ERRNO_MAX ||
        (none && atomic_load(&target->slot->state) != PYUSDT_SLOT_FAILED) ||
        pyusdt_target_total_drops(session, target) == 0)
        return;
    target->buffers_warned = true;
    explain_buffer_error(error, target->rundir->in.dir, reason, sizeof reason);
    pyusdt_session_warn(session, "process %u cannot make %s in %s: %s", target->pid,
                        none ? "its buffers" : "larger buffers", target->rundir->in.path, reason);
}

void pyusdt_target_copy_drops(struct pyusdt_session *session, struct pyusdt_target *target)
{
    uint32_t nprobes = target->table->table.nprobes;

    if (pyusdt_target_total_drops(session, target) == 0)
        return;
    target->drops = calloc(nprobes, sizeof *target->drops);
    for (uint32_t probe = 0; target->drops && probe < nprobes; probe++)
        target->drops[probe] = pyusdt_target_probe_drops(target, probe);
}
