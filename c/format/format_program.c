/* Loading a formatter's table: everything in it is checked here, once, so that formatter.c need not. */
#include "format/format_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "generated/program.h"

enum { SHORT_WIDTH = 1024 }; /* a column that people look at is no wider */

static bool is_inside(uint32_t offset, uint32_t size, uint32_t limit)
{
    return offset <= limit && size <= limit - offset;
}

static bool is_integer_size(uint32_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

/* A value in a record lies behind the header. */
static bool in_record(uint32_t offset, uint32_t size, uint32_t record_size)
{
    return offset >= PYUSDT_RECORD_DATA && is_inside(offset, size, record_size);
}

static bool star_ok(uint32_t offset, uint32_t size, uint32_t record_size)
{
    return offset == PYUSDT_TABLE_NONE ||
           (is_integer_size(size) && in_record(offset, size, record_size));
}

static bool part_ok(const struct pyusdt_format_part *part, uint32_t record_size, uint32_t literals)
{
    if (part->kind == PYUSDT_PART_LITERAL)
        return is_inside(part->offset, part->size, literals);
    if (!in_record(part->offset, part->size, record_size) || part->width > PYUSDT_MAX_WIDTH ||
        part->precision > PYUSDT_MAX_WIDTH ||
        !star_ok(part->star_width, part->star_width_size, record_size) ||
        !star_ok(part->star_precision, part->star_precision_size, record_size))
        return false;
    switch (part->kind) {
    case PYUSDT_PART_SIGNED:
    case PYUSDT_PART_UNSIGNED:
    case PYUSDT_PART_CHAR:
        return is_integer_size(part->size);
    case PYUSDT_PART_ESCAPED:
        return part->is_string || is_integer_size(part->size);
    case PYUSDT_PART_STRING:
        return true;
    case PYUSDT_PART_TIME:
    case PYUSDT_PART_TIME822:
        return part->size == 8;
    default:
        return false;
    }
}

static bool action_ok(const struct pyusdt_format_table *t,
                      const struct pyusdt_format_action *action, uint32_t record_size)
{
    if (action->kind > PYUSDT_ACTION_PRINTF ||
        !is_inside(action->first_part, action->parts, t->head.parts))
        return false;
    if (action->kind == PYUSDT_ACTION_TRACE && action->parts != 1)
        return false;
    for (uint32_t i = 0; i < action->parts; i++) {
        if (!part_ok(&t->parts[action->first_part + i], record_size, t->head.literals))
            return false;
    }
    return true;
}

static bool clause_ok(const struct pyusdt_format_table *t,
                      const struct pyusdt_format_clause *clause)
{
    if (!is_inside(clause->first_action, clause->actions, t->head.actions))
        return false;
    if (clause->record_size == 0)
        return clause->actions == 0;
    if (clause->record_size < PYUSDT_RECORD_DATA)
        return false;
    for (uint32_t i = 0; i < clause->actions; i++) {
        if (!action_ok(t, &t->actions[clause->first_action + i], clause->record_size))
            return false;
    }
    return true;
}

/* --- what is found out once --------------------------------------------------------------------------------- */

/* Nothing but the value: no flags, width, precision. */
static bool is_plain(const struct pyusdt_format_part *part)
{
    return !(part->flags | part->width | part->precision) &&
           (part->star_width & part->star_precision) == PYUSDT_TABLE_NONE;
}

static enum pyusdt_format_quick quick_way(const struct pyusdt_format_part *part)
{
    bool is_decimal = part->letter == 'd' || part->letter == 'u';

    if (part->kind == PYUSDT_PART_LITERAL)
        return PYUSDT_QUICK_LITERAL;
    if (!is_plain(part))
        return PYUSDT_QUICK_NO;
    if (part->kind == PYUSDT_PART_STRING)
        return PYUSDT_QUICK_STRING;
    if (part->kind == PYUSDT_PART_SIGNED && is_decimal)
        return PYUSDT_QUICK_SIGNED;
    return part->kind == PYUSDT_PART_UNSIGNED && is_decimal ? PYUSDT_QUICK_UNSIGNED
                                                            : PYUSDT_QUICK_NO;
}

/* Its text is not much longer than its value, whatever that is. */
static bool is_short(const struct pyusdt_format_part *part)
{
    return part->kind == PYUSDT_PART_LITERAL ||
           (part->width <= SHORT_WIDTH && part->precision <= SHORT_WIDTH &&
            (part->star_width & part->star_precision) == PYUSDT_TABLE_NONE);
}

static bool is_at_once(const struct pyusdt_format_table *t,
                       const struct pyusdt_format_clause *clause)
{
    for (uint32_t i = 0; i < clause->actions; i++) {
        const struct pyusdt_format_action *action = &t->actions[clause->first_action + i];
        if (action->kind == PYUSDT_ACTION_CALLER)
            return false;
        for (uint32_t k = 0; k < action->parts; k++)
            if (!is_short(&t->parts[action->first_part + k]))
                return false;
    }
    return clause->record_size != 0;
}

static void find_out(struct pyusdt_format_table *t)
{
    for (uint32_t i = 0; i < t->head.parts; i++)
        t->quick[i] = (uint8_t)quick_way(&t->parts[i]);
    for (uint32_t i = 0; i < t->head.clauses; i++)
        t->at_once[i] = is_at_once(t, &t->clauses[i]);
}

/* --- loading ------------------------------------------------------------------------------------------------ */

/* The size that the head's numbers add up to; 64 bits are wide enough for any of them. */
static uint64_t expected_size(const struct pyusdt_format_head *head)
{
    return sizeof *head + (uint64_t)head->clauses * sizeof(struct pyusdt_format_clause) +
           (uint64_t)head->actions * sizeof(struct pyusdt_format_action) +
           (uint64_t)head->parts * sizeof(struct pyusdt_format_part) + head->literals;
}

int pyusdt_format_table_load(struct pyusdt_format_table *t, const void *data, size_t size,
                             struct pyusdt_error *err)
{
    memset(t, 0, sizeof *t);
    if (size < sizeof t->head)
        return pyusdt_error_set(err, -EINVAL, "format table: %zu bytes are too few", size);
    memcpy(&t->head, data, sizeof t->head);
    if (t->head.magic != PYUSDT_TABLE_MAGIC || t->head.size != size ||
        expected_size(&t->head) != size)
        return pyusdt_error_set(err, -EINVAL, "format table: the head does not fit its %zu bytes",
                                size);
    t->memory = malloc(size + t->head.parts + t->head.clauses);
    if (!t->memory)
        return pyusdt_error_set(err, -ENOMEM, "format table: out of memory");
    memcpy(t->memory, data, size);
    t->clauses = (const void *)((char *)t->memory + sizeof t->head);
    t->actions = (const void *)(t->clauses + t->head.clauses);
    t->parts = (const void *)(t->actions + t->head.actions);
    t->literals = (const void *)(t->parts + t->head.parts);
    t->quick = (uint8_t *)t->memory + size;
    t->at_once = t->quick + t->head.parts;
    for (uint32_t i = 0; i < t->head.clauses; i++) {
        if (!clause_ok(t, &t->clauses[i])) {
            pyusdt_format_table_free(t);
            return pyusdt_error_set(err, -EINVAL, "format table: clause %u is not well-formed", i);
        }
    }
    find_out(t);
    return 0;
}

void pyusdt_format_table_free(struct pyusdt_format_table *t)
{
    free(t->memory);
    memset(t, 0, sizeof *t);
}
