/* Flow indentation; see flowindent.h. */
#include "format/flowindent.h"

#include <stdbool.h>
#include <string.h>

enum { LEVEL = 2 /* columns */, TRIES = 16 };

/* The name is the word, or ends in a hyphen and the word. */
static bool ends_with(const char *name, const char *word)
{
    size_t length = strlen(name), wanted = strlen(word);

    if (length < wanted || strcmp(name + length - wanted, word) != 0)
        return false;
    return length == wanted || name[length - wanted - 1] == '-';
}

enum pyusdt_flow_kind pyusdt_flow_kind(const char *name)
{
    if (ends_with(name, "entry"))
        return PYUSDT_FLOW_ENTRY;
    return ends_with(name, "return") ? PYUSDT_FLOW_RETURN : PYUSDT_FLOW_NONE;
}

const char *pyusdt_flow_prefix(const char *provider, enum pyusdt_flow_kind kind)
{
    bool call = strcmp(provider, "syscall") == 0;

    switch (kind) {
    case PYUSDT_FLOW_ENTRY:
        return call ? " => " : " -> ";
    case PYUSDT_FLOW_RETURN:
        return call ? " <= " : " <- ";
    default:
        return "| ";
    }
}

/* The indentation of a thread: its own slot in the table, else a free one, else another thread's. */
static uint32_t *indent_of(struct pyusdt_flow *flow, uint32_t tid)
{
    uint32_t first = tid % PYUSDT_FLOW_THREADS, found = first;
    bool is_free = false;

    for (uint32_t i = 0; i < TRIES; i++) {
        uint32_t at = (first + i) % PYUSDT_FLOW_THREADS;
        if (flow->threads[at].indent && flow->threads[at].tid == tid)
            return &flow->threads[at].indent;
        if (!flow->threads[at].indent && !is_free) {
            found = at;
            is_free = true;
        }
    }
    flow->threads[found].tid = tid;
    flow->threads[found].indent = 0;
    return &flow->threads[found].indent;
}

uint32_t pyusdt_flow_step(struct pyusdt_flow *flow, uint32_t tid, uint32_t probe, uint32_t clause,
                          enum pyusdt_flow_kind *kind)
{
    uint32_t *indent = indent_of(flow, tid), shown;

    /* the same clause once more is a recursion; another clause of the same probe is the same call */
    if (*kind == PYUSDT_FLOW_ENTRY && probe == flow->last_probe && clause != flow->last_clause)
        *kind = PYUSDT_FLOW_NONE;
    if (*kind == PYUSDT_FLOW_RETURN && *indent)
        *indent -= LEVEL;
    shown = *indent;
    if (*kind == PYUSDT_FLOW_ENTRY && *indent < PYUSDT_FLOW_DEEPEST)
        *indent += LEVEL;
    flow->last_probe = probe;
    flow->last_clause = clause;
    return shown;
}
