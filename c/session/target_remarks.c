/* Remarks of targets, as warnings and hints: see target_remarks.h. */
#define _GNU_SOURCE
#include "session/target_remarks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/session_state.h"
#include "session/session_warnings.h"
#include "session/target_enable.h"
#include "shared/probe_table.h"

struct search {
    const struct pyusdt_probe_table *table;
    const char *provider, *names;
    bool found;
};

/* Whether the list of names, with blanks between them, has this one. */
static bool has_name(const char *names, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = names; (at = strstr(at, name)) != NULL; at += length)
        if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static int is_remark_about(void *arg, uint32_t probe, const struct pyusdt_ctl_desc *desc)
{
    struct search *search = arg;
    const char *name = search->table->strings + desc->name;

    (void)probe;
    search->found = *name != '\0' &&
                    (*search->provider == '\0' ||
                     strcmp(search->table->strings + desc->provider, search->provider) == 0) &&
                    (*search->names == '\0' || has_name(search->names, name));
    return search->found;
}

/* Whether the session wants one of the probes that the remark is of. */
static bool is_wanted(const struct pyusdt_session *session, const struct pyusdt_target *target,
                      const struct pyusdt_place_info *remark)
{
    struct pyusdt_probe_table table = target->table->table;
    struct search search = {&table, remark->module, remark->function, false};

    table.pid = target->pid;
    for (uint32_t i = 0; i < session->nwants && !search.found; i++)
        pyusdt_probe_table_match(&table, &session->wants[i], is_remark_about, &search);
    return search.found;
}

/* Once each, as messages are. */
static void add_hint(struct pyusdt_session *session, const struct pyusdt_target *target,
                     enum pyusdt_remark kind, const char *hint)
{
    char text[PYUSDT_PLACE_FILE + 32];

    snprintf(text, sizeof text, "process %u %s", target->pid, hint);
    for (uint32_t i = 0; i < session->nhints; i++)
        if (strcmp(session->hint[i].text, text) == 0)
            return;
    if (session->nhints < PYUSDT_WARNINGS_MAX &&
        (session->hint[session->nhints].text = strdup(text)) != NULL)
        session->hint[session->nhints++].kind = kind;
}

static void take_remark(struct pyusdt_session *session, const struct pyusdt_target *target,
                        enum pyusdt_remark kind, const char *text)
{
    bool all = (session->header.flags & PYUSDT_SESSION_ALL) != 0;

    if (kind == PYUSDT_REMARK_LACK)
        pyusdt_session_warn(session, "process %u: %s", target->pid, text);
    else if (kind == PYUSDT_REMARK_REFUSED || (kind == PYUSDT_REMARK_ABSENT && !all))
        pyusdt_session_warn_refusal(session, "process %u: %s", target->pid, text);
    else
        add_hint(session, target, kind == PYUSDT_REMARK_ABSENT ? PYUSDT_REMARK_HINT : kind, text);
}

void pyusdt_target_read_remarks(struct pyusdt_session *session, struct pyusdt_target *target)
{
    struct pyusdt_place_info remark;

    for (unsigned i = 0; target->ctl && i < PYUSDT_REMARKS; i++) {
        uint32_t number = atomic_load_explicit(&target->ctl->remarks[i], memory_order_acquire);
        if (number == target->remarks[i])
            continue;
        target->remarks[i] = number;
        if (number == 0 || pyusdt_target_read_places(session, target, number) != 0 ||
            !pyusdt_places_get(&target->known_places, number, &remark) ||
            !is_wanted(session, target, &remark))
            continue;
        if (PYUSDT_IS_REMARK(remark.line))
            take_remark(session, target, PYUSDT_REMARK_LINE(remark.line), remark.file);
    }
}

const char *pyusdt_session_hint(const struct pyusdt_session *session, uint32_t n,
                                enum pyusdt_remark *kind)
{
    if (n >= session->nhints)
        return NULL;
    *kind = session->hint[n].kind;
    return session->hint[n].text;
}
