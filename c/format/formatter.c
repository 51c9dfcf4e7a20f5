/* Records to text; see formatter.h. */
#include "format/formatter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/flowindent.h"
#include "format/format_program.h"
#include "generated/program.h"

enum {
    TEXT_FULL = 1 << 18,  /* bytes of text after which the caller is asked to write them */
    MAX_PROBES = 1 << 22, /* of a probe id; more is not a probe but a damaged record */
    HEAD_DONE = 1
        << 30, /* in place.resume: the record's columns are printed; the rest is the next action */
};

struct probe_head {
    char *text; /* NULL: not named yet; then function:name, then the columns ID and FUNCTION:NAME */
    size_t size, named, function; /* bytes of all, of function:name, of the function */
    enum pyusdt_flow_kind flow;
    const char *entry, *other; /* prefixes: as the kind says; of a further clause */
};

struct pyusdt_formatter {
    struct pyusdt_format_table table;
    unsigned flags;
    bool heading;              /* the header line is printed, or is never to be */
    struct probe_head *probes; /* by id */
    uint32_t probe_count;
    struct pyusdt_flow *flow; /* NULL until it is asked for */
};

int pyusdt_formatter_new(const void *table, size_t size, unsigned flags,
                         struct pyusdt_formatter **out, struct pyusdt_error *err)
{
    struct pyusdt_formatter *f = calloc(1, sizeof *f);

    if (!f)
        return pyusdt_error_set(err, -ENOMEM, "formatter: out of memory");
    int rc = pyusdt_format_table_load(&f->table, table, size, err);
    if (rc < 0) {
        free(f);
        return rc;
    }
    tzset(); /* localtime_r() need not do it */
    pyusdt_formatter_flags(f, flags);
    *out = f;
    return 0;
}

void pyusdt_formatter_free(struct pyusdt_formatter *f)
{
    if (!f)
        return;
    for (uint32_t i = 0; i < f->probe_count; i++)
        free(f->probes[i].text);
    free(f->probes);
    free(f->flow);
    pyusdt_format_table_free(&f->table);
    free(f);
}

void pyusdt_formatter_flags(struct pyusdt_formatter *f, unsigned flags)
{
    if (flags & PYUSDT_FORMAT_FLOW && !f->flow)
        f->flow = calloc(1, sizeof *f->flow);
    f->flags =
        f->flow
            ? flags
            : flags & ~(unsigned)PYUSDT_FORMAT_FLOW; /* without memory the lines are not indented */
}

static int grow_probes(struct pyusdt_formatter *f, uint32_t id)
{
    uint32_t count = f->probe_count ? f->probe_count : 64;

    while (count <= id)
        count *= 2;
    struct probe_head *probes = realloc(f->probes, count * sizeof *probes);
    if (!probes)
        return -ENOMEM;
    memset(probes + f->probe_count, 0, (count - f->probe_count) * sizeof *probes);
    f->probes = probes;
    f->probe_count = count;
    return 0;
}

/* The columns ID and FUNCTION:NAME never change, so they are made once. */
int pyusdt_format_probe(struct pyusdt_formatter *f, uint32_t id, const char *provider,
                        const char *function, const char *name)
{
    struct pyusdt_text head = {0};
    const struct pyusdt_layout id_column = {.letter = 'd', .width = 6}, name_column = {.width = 32};

    if (id >= MAX_PROBES)
        return -EINVAL;
    if (id >= f->probe_count && grow_probes(f, id) < 0)
        return -ENOMEM;
    int rc = pyusdt_text_append(&head, function, strlen(function));
    rc = rc ? rc : pyusdt_text_append(&head, ":", 1);
    rc = rc ? rc : pyusdt_text_append(&head, name, strlen(name));
    size_t named = head.size;
    if (!(f->flags & PYUSDT_FORMAT_TESTING)) {
        rc = rc ? rc : pyusdt_text_integer(&head, &id_column, id, false);
        rc = rc ? rc : pyusdt_text_append(&head, " ", 1);
    }
    char *label =
        rc ? NULL : strndup(head.data, named); /* not what is appended to while it may move */
    rc = rc ? rc : label ? pyusdt_text_string(&head, &name_column, label, named) : -ENOMEM;
    rc = rc ? rc : pyusdt_text_append(&head, " ", 1);
    free(label);
    if (rc) {
        pyusdt_text_free(&head);
        return rc;
    }
    free(f->probes[id].text);
    enum pyusdt_flow_kind flow = pyusdt_flow_kind(name);
    f->probes[id] = (struct probe_head){head.data,
                                        head.size,
                                        named,
                                        strlen(function),
                                        flow,
                                        pyusdt_flow_prefix(provider, flow),
                                        pyusdt_flow_prefix(provider, PYUSDT_FLOW_NONE)};
    return 0;
}

static uint32_t read_u32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

/* An integer of 1, 2, 4 or 8 bytes, extended to 64 bits.  Each size has a memcpy() of its own: they become loads. */
static uint64_t read_integer(const uint8_t *at, uint32_t size, bool is_signed)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (size) {
    case 1:
        return is_signed ? (uint64_t)(int8_t)*at : *at;
    case 2:
        memcpy(&two, at, sizeof two);
        return is_signed ? (uint64_t)(int16_t)two : two;
    case 4:
        memcpy(&four, at, sizeof four);
        return is_signed ? (uint64_t)(int32_t)four : four;
    default:
        memcpy(&eight, at, sizeof eight);
        return eight;
    }
}

/* The bytes of a string, up to its NUL or the end of its storage. */
static size_t string_length(const uint8_t *at, uint32_t size)
{
    const uint8_t *nul = memchr(at, 0, size);

    return nul ? (size_t)(nul - at) : size;
}

static uint32_t clamp_width(int64_t value)
{
    if (value < 0)
        value = value < -PYUSDT_MAX_STAR ? PYUSDT_MAX_STAR : -value;
    return value > PYUSDT_MAX_STAR ? PYUSDT_MAX_STAR : (uint32_t)value;
}

/* Apply the arguments that stand for the width and the precision. */
static void apply_stars(struct pyusdt_layout *layout, const struct pyusdt_format_part *part,
                        const uint8_t *record)
{
    if (part->star_width != PYUSDT_TABLE_NONE) {
        int32_t width =
            (int32_t)read_integer(record + part->star_width, part->star_width_size, true);
        layout->width = clamp_width(width);
        if (width < 0)
            layout->flags |= PYUSDT_FLAG_LEFT;
    }
    if (part->star_precision != PYUSDT_TABLE_NONE) {
        int32_t precision =
            (int32_t)read_integer(record + part->star_precision, part->star_precision_size, true);
        layout->precision = precision > 0 ? clamp_width(precision) : 0;
    }
}

static int print_time(struct pyusdt_text *text, const struct pyusdt_layout *layout, uint64_t ns,
                      uint8_t kind)
{
    char out[64];
    struct tm tm;
    time_t seconds = (time_t)(ns / 1000000000u);

    if (!localtime_r(&seconds, &tm))
        return -EINVAL;
    const char *format = kind == PYUSDT_PART_TIME ? "%Y %b %e %H:%M:%S" : "%a, %d %b %G %T %Z";
    return pyusdt_text_string(text, layout, out, strftime(out, sizeof out, format, &tm));
}

/* %S of a string shows its NUL as well; %C has one byte. */
static int print_escaped(struct pyusdt_text *text, const struct pyusdt_layout *layout,
                         const struct pyusdt_format_part *part, const uint8_t *at)
{
    if (part->is_string) {
        size_t length = string_length(at, part->size);
        return pyusdt_text_escaped(text, layout, at, length < part->size ? length + 1 : length);
    }
    uint8_t byte = (uint8_t)read_integer(at, part->size, false);
    return pyusdt_text_escaped(text, layout, &byte, 1);
}

/* A part that has a layout. */
static int print_laid_out(const struct pyusdt_format_part *part, const uint8_t *record,
                          struct pyusdt_text *text)
{
    const uint8_t *at = record + part->offset;
    struct pyusdt_layout layout = {part->letter, part->flags, part->width, part->precision};
    apply_stars(&layout, part, record);
    switch (part->kind) {
    case PYUSDT_PART_SIGNED:
    case PYUSDT_PART_UNSIGNED: {
        bool is_signed = part->kind == PYUSDT_PART_SIGNED;
        return pyusdt_text_integer(text, &layout, read_integer(at, part->size, is_signed),
                                   is_signed);
    }
    case PYUSDT_PART_CHAR: {
        char byte = (char)read_integer(at, part->size, false);
        layout.precision = 0;
        return pyusdt_text_string(text, &layout, &byte, 1);
    }
    case PYUSDT_PART_STRING:
        return pyusdt_text_string(text, &layout, (const char *)at, string_length(at, part->size));
    case PYUSDT_PART_ESCAPED:
        return print_escaped(text, &layout, part, at);
    default:
        return print_time(text, &layout, read_integer(at, 8, false), part->kind);
    }
}

static int print_parts(const struct pyusdt_format_table *t,
                       const struct pyusdt_format_action *action, const uint8_t *record,
                       struct pyusdt_text *text)
{
    const struct pyusdt_format_part *part = t->parts + action->first_part,
                                    *end = part + action->parts;
    const uint8_t *quick = t->quick + action->first_part;
    int rc = 0;

    for (; !rc && part < end; part++, quick++) {
        switch ((enum pyusdt_format_quick) * quick) {
        case PYUSDT_QUICK_LITERAL:
            rc = pyusdt_text_append(text, t->literals + part->offset, part->size);
            break;
        case PYUSDT_QUICK_SIGNED:
            rc = pyusdt_text_decimal(text, read_integer(record + part->offset, part->size, true),
                                     true);
            break;
        case PYUSDT_QUICK_UNSIGNED:
            rc = pyusdt_text_decimal(text, read_integer(record + part->offset, part->size, false),
                                     false);
            break;
        case PYUSDT_QUICK_STRING:
            rc = pyusdt_text_append(text, record + part->offset,
                                    string_length(record + part->offset, part->size));
            break;
        case PYUSDT_QUICK_NO:
            rc = print_laid_out(part, record, text);
        }
    }
    return rc;
}

/* The storage of a string that a record holds in fewer bytes than the longest one's has zeros behind it. */
static int dump_string(struct pyusdt_formatter *f, const uint8_t *at, size_t size,
                       struct pyusdt_text *text)
{
    size_t whole = f->table.head.strsize;

    if (size >= whole)
        return pyusdt_text_dump(text, at, whole);
    uint8_t *storage = calloc(1, whole);
    if (!storage)
        return -ENOMEM;
    memcpy(storage, at, size);
    int rc = pyusdt_text_dump(text, storage, whole);
    free(storage);
    return rc;
}

static bool all_zeros(const uint8_t *at, size_t size)
{
    while (size && !at[size - 1])
        size--;
    return !size;
}

/* trace() of a string: as text where it prints, else as a dump of as many bytes as a string can have.  An array's bytes behind
 * its NUL count, too, and one that has none stands in a column of its own whatever -q says; as in dtrace. */
static int trace_string(struct pyusdt_formatter *f, const struct pyusdt_format_part *part,
                        const uint8_t *at, struct pyusdt_text *text)
{
    static const struct pyusdt_layout column = {.flags = PYUSDT_FLAG_LEFT, .width = 33};
    size_t size = part->size, length = string_length(at, part->size);
    bool is_text = pyusdt_text_printable(at, length) &&
                   (part->is_string || all_zeros(at + length, size - length));

    if (f->flags & PYUSDT_FORMAT_RAWBYTES || !is_text)
        return part->is_string ? dump_string(f, at, size, text) : pyusdt_text_dump(text, at, size);
    if (f->flags & PYUSDT_FORMAT_QUIET && (part->is_string || length < size))
        return pyusdt_text_append(text, at, length);
    int rc = pyusdt_text_append(text, "  ", 2);
    return rc ? rc : pyusdt_text_string(text, &column, (const char *)at, length);
}

static int trace_value(struct pyusdt_formatter *f, const struct pyusdt_format_part *part,
                       const uint8_t *record, struct pyusdt_text *text)
{
    const uint8_t *at = record + part->offset;
    bool is_signed = part->kind == PYUSDT_PART_SIGNED;
    struct pyusdt_layout layout = {.letter = 'd'};

    if (part->kind == PYUSDT_PART_STRING)
        return trace_string(f, part, at, text);
    if (f->flags & PYUSDT_FORMAT_RAWBYTES)
        return pyusdt_text_dump(text, at, part->size);
    if (!(f->flags & PYUSDT_FORMAT_QUIET)) {
        layout.width = part->size == 8   ? (is_signed ? 19 : 20)
                       : part->size == 4 ? 10
                       : part->size == 2 ? 5
                                         : 3;
        if (pyusdt_text_append(text, " ", 1) < 0)
            return -ENOMEM;
    }
    return pyusdt_text_integer(text, &layout, read_integer(at, part->size, is_signed), is_signed);
}

/* The columns ID and FUNCTION:NAME under -F: indentation, an arrow, the function, the name where there is no arrow. */
static int print_flow(struct pyusdt_formatter *f, const struct probe_head *head,
                      const uint8_t *record, struct pyusdt_text *text)
{
    static const struct pyusdt_layout column = {.flags = PYUSDT_FLAG_LEFT, .width = 41};
    enum pyusdt_flow_kind kind = head->flow;
    uint32_t columns = pyusdt_flow_step(f->flow, read_u32(record + PYUSDT_RECORD_TID),
                                        read_u32(record + PYUSDT_RECORD_PROBE),
                                        read_u32(record + PYUSDT_RECORD_CLAUSE), &kind);
    const char *prefix = kind == head->flow ? head->entry : head->other;
    size_t size = kind == PYUSDT_FLOW_NONE ? head->named : head->function;
    struct pyusdt_text line = {0};
    const struct pyusdt_layout spaces = {.width = columns};

    int rc = pyusdt_text_string(&line, &spaces, "", 0);
    rc = rc ? rc : pyusdt_text_append(&line, prefix, strlen(prefix));
    rc = rc ? rc : pyusdt_text_append(&line, head->text, size);
    rc = rc ? rc : pyusdt_text_string(text, &column, line.data, line.size);
    pyusdt_text_free(&line);
    return rc ? rc : pyusdt_text_append(text, " ", 1);
}

/* The header line, once. */
static int print_heading(struct pyusdt_formatter *f, struct pyusdt_text *text)
{
    static const char *const lines[2][2] = {
        {"CPU     ID                    FUNCTION:NAME\n", "                   FUNCTION:NAME\n"},
        {"CPU FUNCTION                                 \n",
         "FUNCTION                                 \n"}};
    const char *line =
        lines[!!(f->flags & PYUSDT_FORMAT_FLOW)][!!(f->flags & PYUSDT_FORMAT_TESTING)];

    if (f->heading)
        return 0;
    f->heading = true;
    return pyusdt_text_append(text, line, strlen(line));
}

/* True where lines have no columns at all. */
static bool is_bare(const struct pyusdt_formatter *f)
{
    return (f->flags & (PYUSDT_FORMAT_QUIET | PYUSDT_FORMAT_FLOW)) == PYUSDT_FORMAT_QUIET;
}

/* The header line and a record's columns. */
static int print_columns(struct pyusdt_formatter *f, const uint8_t *record,
                         struct pyusdt_text *text)
{
    static const struct pyusdt_layout cpu_column = {.letter = 'd', .width = 3},
                                      marked = {.letter = 'd', .width = 2};

    if (is_bare(f)) {
        f->heading = true;
        return 0;
    }
    int rc = print_heading(f, text);
    const struct probe_head *head = &f->probes[read_u32(record + PYUSDT_RECORD_PROBE)];
    if (!(f->flags & PYUSDT_FORMAT_TESTING)) {
        uint64_t cpu = (uint64_t)(int32_t)read_u32(record + PYUSDT_RECORD_CPU);
        bool unsure = read_u32(record + PYUSDT_RECORD_CLAUSE) & PYUSDT_RECORD_UNSURE;
        if (unsure && !rc)
            rc = pyusdt_text_append(text, "~", 1);
        rc = rc ? rc : pyusdt_text_integer(text, unsure ? &marked : &cpu_column, cpu, true);
        rc = rc ? rc : pyusdt_text_append(text, " ", 1);
    }
    if (rc)
        return rc;
    if (f->flags & PYUSDT_FORMAT_FLOW)
        return print_flow(f, head, record, text);
    return pyusdt_text_append(text, head->text + head->named, head->size - head->named);
}

/* Do the actions of a record from place->resume on; stops at the caller's. */
static int print_actions(struct pyusdt_formatter *f, const struct pyusdt_format_clause *clause,
                         const uint8_t *record, struct pyusdt_format_place *place,
                         struct pyusdt_text *text)
{
    const struct pyusdt_format_table *t = &f->table;

    for (uint32_t i = place->resume & ~HEAD_DONE; i < clause->actions; i++) {
        const struct pyusdt_format_action *action = &t->actions[clause->first_action + i];
        const struct pyusdt_format_part *part = &t->parts[action->first_part];
        int rc = 0;

        if (action->kind == PYUSDT_ACTION_CALLER) {
            place->action = i;
            place->resume = HEAD_DONE | (i + 1);
            return PYUSDT_FORMAT_ACTION;
        }
        if (action->kind == PYUSDT_ACTION_TRACE)
            rc = trace_value(f, part, record, text);
        else
            rc = print_parts(t, action, record, text);
        if (rc < 0)
            return rc;
    }
    if (!(f->flags & PYUSDT_FORMAT_QUIET))
        return pyusdt_text_append(text, "\n", 1);
    return 0;
}

/* True where the probe's columns can be printed, or are not to be. */
static bool is_named(const struct pyusdt_formatter *f, uint32_t probe)
{
    return is_bare(f) || (probe < f->probe_count && f->probes[probe].text);
}

static int print_record(struct pyusdt_formatter *f, const uint8_t *record, uint32_t size,
                        struct pyusdt_format_place *place, struct pyusdt_text *text)
{
    uint32_t index = read_u32(record + PYUSDT_RECORD_CLAUSE) & ~PYUSDT_RECORD_UNSURE;
    uint32_t probe = read_u32(record + PYUSDT_RECORD_PROBE);
    int rc;

    if (index >= f->table.head.clauses || probe >= MAX_PROBES)
        return -EINVAL;
    const struct pyusdt_format_clause *clause = &f->table.clauses[index];
    if (clause->record_size == 0 || size < clause->record_size)
        return -EINVAL;
    if (!place->resume) {
        if (!is_named(f, probe))
            return PYUSDT_FORMAT_PROBE;
        rc = print_columns(f, record, text);
        if (rc)
            return rc;
        place->resume = HEAD_DONE;
    }
    return print_actions(f, clause, record, place, text);
}

bool pyusdt_format_at_once(struct pyusdt_formatter *f, const uint8_t *record, uint32_t size,
                           struct pyusdt_text *text)
{
    struct pyusdt_format_place place = {0};
    uint32_t clause =
        read_u32(record + PYUSDT_RECORD_CLAUSE); /* far too large where it has a flag */
    size_t before = text->size;
    bool headed = f->heading;

    if (clause >= f->table.head.clauses || !f->table.at_once[clause] ||
        !is_named(f, read_u32(record + PYUSDT_RECORD_PROBE)))
        return false;
    if (print_record(f, record, size, &place, text) == PYUSDT_FORMAT_DONE)
        return true;
    text->size = before;
    f->heading = headed;
    return false;
}

int pyusdt_format(struct pyusdt_formatter *f, const uint8_t *records, size_t size,
                  struct pyusdt_format_place *place, struct pyusdt_text *text)
{
    while (place->offset < size) {
        const uint8_t *record = records + place->offset;
        size_t rest = size - place->offset;
        uint32_t length = rest < PYUSDT_RECORD_DATA ? 0 : read_u32(record + PYUSDT_RECORD_SIZE);
        int rc = 0;

        if (length < PYUSDT_RECORD_DATA || length > rest)
            return -EINVAL;
        if (read_u32(record + PYUSDT_RECORD_CLAUSE) & PYUSDT_RECORD_FAULT) {
            if (length < PYUSDT_FAULT_RECORD_SIZE)
                return -EINVAL;
            if (!place->resume) {
                place->resume = HEAD_DONE;
                return PYUSDT_FORMAT_FAULT;
            }
        } else if (read_u32(record + PYUSDT_RECORD_CLAUSE) == PYUSDT_RECORD_TEXT) {
            rc = pyusdt_text_append(text, record + PYUSDT_TEXT_DATA, length - PYUSDT_TEXT_DATA);
        } else {
            rc = print_record(f, record, length, place, text);
        }
        if (rc)
            return rc;
        place->offset += length;
        place->resume = 0;
        if (text->size >= TEXT_FULL && place->offset < size)
            return PYUSDT_FORMAT_FULL;
    }
    return PYUSDT_FORMAT_DONE;
}
