/* See value_conditions.h. */
#include "_core_c/vm/value_conditions.h"

#include <string.h>

#define ARGUMENTS 12u
#define LINE (PYUSDT_CONDITION_ARGUMENT | 2u)

int pyusdt_conditions_are(const void *bytes, size_t size)
{
    struct pyusdt_fetch_head head;

    if (size < sizeof head)
        return 0;
    memcpy(&head, bytes, sizeof head);
    return head.root == PYUSDT_FETCH_NO_ROOT;
}

static int is_valid(const struct pyusdt_condition_row *row, size_t texts, unsigned npaths)
{
    unsigned subject = row->subject & ~(unsigned)PYUSDT_CONDITION_ARGUMENT;
    int is_argument = (row->subject & PYUSDT_CONDITION_ARGUMENT) != 0;

    if (row->op < PYUSDT_CONDITION_EQUAL || row->op > PYUSDT_CONDITION_GREATER_OR_EQUAL ||
        subject >= (is_argument ? ARGUMENTS : npaths) || row->kind > PYUSDT_CONDITION_REAL)
        return 0;
    if (row->kind != PYUSDT_CONDITION_IS_TEXT)
        return row->kind == PYUSDT_CONDITION_NUMBER || !is_argument;
    return !is_argument && row->op <= PYUSDT_CONDITION_UNEQUAL &&
           row->text_length <= PYUSDT_CONDITION_TEXT && row->text <= texts &&
           row->text_length <= texts - row->text;
}

int pyusdt_conditions_load(const void *bytes, size_t size, unsigned npaths,
                           struct pyusdt_conditions *conditions)
{
    struct pyusdt_fetch_head head;
    const char *rows = (const char *)bytes + sizeof head;
    size_t texts;

    memset(conditions, 0, sizeof *conditions);
    if (size < sizeof head || (memcpy(&head, bytes, sizeof head), head.size != size) ||
        head.version != PYUSDT_FETCH_VERSION || head.steps > PYUSDT_CONDITIONS ||
        size - sizeof head < head.steps * sizeof conditions->row[0])
        return 0;
    texts = size - sizeof head - head.steps * sizeof conditions->row[0];
    memcpy(conditions->row, rows, head.steps * sizeof conditions->row[0]);
    for (unsigned i = 0; i < head.steps; i++) {
        const struct pyusdt_condition_row *row = &conditions->row[i];

        if (!is_valid(row, texts, npaths))
            return 0;
        if (row->kind == PYUSDT_CONDITION_IS_TEXT)
            memcpy(conditions->text[i], rows + head.steps * sizeof conditions->row[0] + row->text,
                   row->text_length);
    }
    conditions->n = head.steps;
    conditions->probes = head.most;
    return 1;
}

/* A text ends at its first NUL, as D compares it. */
static int has_same_text(const struct pyusdt_conditions *conditions, unsigned i,
                         const struct pyusdt_condition_subjects *subjects)
{
    const struct pyusdt_condition_row *row = &conditions->row[i];
    const char *text = NULL;
    const struct pyusdt_fetched *found = subjects->path(subjects->from, row->subject, &text);
    size_t length = found->present && text != NULL ? strnlen(text, found->length) : 0;

    return length == row->text_length && memcmp(conditions->text[i], text, length) == 0;
}

static int64_t read_number(const struct pyusdt_condition_row *row,
                           const struct pyusdt_condition_subjects *subjects)
{
    const struct pyusdt_fetched *found;
    const char *text;

    if (row->subject & PYUSDT_CONDITION_ARGUMENT)
        return subjects->argument(subjects->from, row->subject & ~PYUSDT_CONDITION_ARGUMENT);
    found = subjects->path(subjects->from, row->subject, &text);
    return found->present ? found->number : 0;
}

/* -1, 0 or 1. NaN is the smallest number, as for D. */
static int compare_real(const struct pyusdt_condition_row *row,
                        const struct pyusdt_condition_subjects *subjects)
{
    const char *text;
    const struct pyusdt_fetched *found = subjects->path(subjects->from, row->subject, &text);
    double real = found->present ? found->real : 0, constant;

    memcpy(&constant, &row->number, sizeof constant);
    if (real != real)
        return constant != constant ? 0 : -1;
    return (real > constant) - (real < constant);
}

static int compare_number(const struct pyusdt_condition_row *row,
                          const struct pyusdt_condition_subjects *subjects)
{
    int64_t number = read_number(row, subjects);

    return (number > row->number) - (number < row->number);
}

/* order: of the value and the constant, as -1, 0 or 1. */
static int has_order(const struct pyusdt_condition_row *row, int order)
{
    switch (row->op) {
    case PYUSDT_CONDITION_EQUAL:
        return order == 0;
    case PYUSDT_CONDITION_UNEQUAL:
        return order != 0;
    case PYUSDT_CONDITION_LESS:
        return order < 0;
    case PYUSDT_CONDITION_LESS_OR_EQUAL:
        return order <= 0;
    case PYUSDT_CONDITION_GREATER:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* What is known of a row's condition at an event; arg: what it is known from. */
typedef int row_check(const struct pyusdt_conditions *conditions, unsigned i, const void *arg);

/* Whether all conditions of some clause of the probe hold. The caller's check is inlined. */
static inline int has_clause(const struct pyusdt_conditions *conditions, uint32_t probe,
                             row_check *check, const void *arg)
{
    unsigned i = 0;

    if (!(conditions->probes & probe))
        return 1;
    while (i < conditions->n) {
        unsigned clause = conditions->row[i].clause;
        int all = (conditions->row[i].probes & probe) != 0;

        for (; i < conditions->n && conditions->row[i].clause == clause; i++)
            all = all && check(conditions, i, arg);
        if (all)
            return 1;
    }
    return 0;
}

static int holds(const struct pyusdt_conditions *conditions, unsigned i, const void *arg)
{
    const struct pyusdt_condition_row *row = &conditions->row[i];
    const struct pyusdt_condition_subjects *subjects = arg;

    if (row->kind == PYUSDT_CONDITION_IS_TEXT)
        return has_same_text(conditions, i, subjects) == (row->op == PYUSDT_CONDITION_EQUAL);
    return has_order(row, row->kind == PYUSDT_CONDITION_REAL ? compare_real(row, subjects)
                                                             : compare_number(row, subjects));
}

int pyusdt_conditions_hold(const struct pyusdt_conditions *conditions, uint32_t probe,
                           const struct pyusdt_condition_subjects *subjects)
{
    return has_clause(conditions, probe, holds, subjects);
}

int pyusdt_conditions_have_line(const struct pyusdt_conditions *conditions, uint32_t probe)
{
    for (unsigned i = 0; i < conditions->n; i++)
        if (conditions->row[i].subject == LINE && (conditions->row[i].probes & probe) != 0)
            return (conditions->probes & probe) != 0;
    return 0;
}

/* Conditions on anything else may hold. */
static int allows_line(const struct pyusdt_conditions *conditions, unsigned i, const void *arg)
{
    const struct pyusdt_condition_row *row = &conditions->row[i];
    int64_t line = *(const int64_t *)arg;

    return row->subject != LINE || row->kind != PYUSDT_CONDITION_NUMBER ||
           has_order(row, (line > row->number) - (line < row->number));
}

int pyusdt_conditions_allow_line(const struct pyusdt_conditions *conditions, uint32_t probe,
                                 int64_t line)
{
    return has_clause(conditions, probe, allows_line, &line);
}
