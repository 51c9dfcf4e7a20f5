/* Texts and sizes of terms, for the emulator's probes (see vm_text.h). */
#include "vm_text.h"

#include <string.h>

#include "vm_truncate_term.h"
#include "vm_mfa.h"

#define CACHED_LOCALS 16
#define LOCAL_SIZE 40
#define DEPTH 64 /* of a term that is sized */

/* Words of the emulator's terms behind their handles, as its own size_object() counts them. */
enum { CELL = 2, FLOAT = 2, BINARY = 6, REFERENCE = 3, FUNCTION = 5, MAP = 4 };

static bool is_read(const struct pyusdt_vm_event *event, unsigned arg)
{
    return pyusdt_firing_reads(&event->firing, arg);
}

static void set_text(struct pyusdt_vm_event *event, unsigned arg, const char *text, size_t size)
{
    pyusdt_firing_text(&event->firing, arg, text, pyusdt_text_length(text, size));
}

/* The room for another text; a text that does not fit is absent. */
static char *allocate_text(struct pyusdt_vm_event *event)
{
    return event->used < PYUSDT_VM_TEXTS ? event->text[event->used++] : NULL;
}

void pyusdt_vm_put(struct pyusdt_vm_event *event, unsigned arg, ERL_NIF_TERM term)
{
    char *text = is_read(event, arg) ? allocate_text(event) : NULL;

    if (text &&
        enif_snprintf(text, PYUSDT_VM_TEXT, "%T", pyusdt_vm_truncate_term(event->env, term)) >= 0)
        set_text(event, arg, text, PYUSDT_VM_TEXT - 1);
}

/* A pid or port of this node is an immediate term, and the same one has the same text for ever.
 * Another of the event may have the same place, so the text is copied. */
void pyusdt_vm_put_local(struct pyusdt_vm_event *event, unsigned arg, ERL_NIF_TERM local)
{
    static _Thread_local struct {
        ERL_NIF_TERM term;
        uint32_t length;
        char text[LOCAL_SIZE];
    } all[CACHED_LOCALS];
    typeof(*all) *cached = &all[local / 64 % CACHED_LOCALS];
    char *text = is_read(event, arg) ? allocate_text(event) : NULL;

    if (!text)
        return;
    if (cached->length == 0 || cached->term != local) {
        int size = enif_snprintf(cached->text, sizeof cached->text, "%T", local);
        cached->term = local;
        cached->length = size < 0 ? 0 : size < LOCAL_SIZE ? (uint32_t)size : LOCAL_SIZE - 1;
    }
    memcpy(text, cached->text, sizeof cached->text);
    pyusdt_firing_text(&event->firing, arg, text, cached->length);
}

void pyusdt_vm_put_text(struct pyusdt_vm_event *event, unsigned arg, const char *text)
{
    if (is_read(event, arg))
        set_text(event, arg, text, strlen(text));
}

void pyusdt_vm_put_integer(struct pyusdt_vm_event *event, unsigned arg, int64_t value)
{
    event->firing.args.value[arg] = (uint64_t)value;
}

void pyusdt_vm_put_number(struct pyusdt_vm_event *event, unsigned arg, ERL_NIF_TERM integer)
{
    ErlNifSInt64 value;

    if (enif_get_int64(event->env, integer, &value))
        pyusdt_vm_put_integer(event, arg, value);
}

void pyusdt_vm_put_binary(struct pyusdt_vm_event *event, unsigned arg, ERL_NIF_TERM term)
{
    char *text = is_read(event, arg) ? allocate_text(event) : NULL;
    ErlNifBinary binary;
    size_t size;

    if (!text || !enif_inspect_binary(event->env, term, &binary))
        return;
    size = binary.size < PYUSDT_VM_TEXT ? binary.size : PYUSDT_VM_TEXT - 1;
    memcpy(text, binary.data, size);
    text[size] = '\0';
    set_text(event, arg, text, size);
}

void pyusdt_vm_put_mfa(struct pyusdt_vm_event *event, unsigned arg, ERL_NIF_TERM term)
{
    const struct pyusdt_vm_mfa *mfa =
        is_read(event, arg) ? pyusdt_vm_find_mfa(event->env, term) : NULL;

    if (mfa)
        pyusdt_firing_text(&event->firing, arg, mfa->text, mfa->length);
    else
        pyusdt_vm_put(event, arg, term);
}

/* ---- the node of a remote pid, which only its external form has: 131, NEW_PID_EXT, then an atom
 * ---- */

enum {
    VERSION = 131,
    NEW_PID = 88,
    SMALL_ATOM = 119,
    LONG_ATOM = 118,
    OLD_ATOM = 100
}; /* the last one before OTP 26 */

static bool find_node(const ErlNifBinary *binary, size_t *at, size_t *length)
{
    const unsigned char *data = binary->data;

    if (binary->size < 5 || data[0] != VERSION || data[1] != NEW_PID)
        return false;
    *at = data[2] == SMALL_ATOM ? 4 : 5;
    *length = data[2] == SMALL_ATOM                         ? data[3]
              : data[2] == LONG_ATOM || data[2] == OLD_ATOM ? (size_t)data[3] << 8 | data[4]
                                                            : 0;
    for (size_t i = 0; *at + i < binary->size && i < *length; i++)
        if (data[*at + i] >= 0x80)
            return false; /* two ways to write it: no other atom is made by mistake */
    return *length > 0 && *length < 256 && *at + *length <= binary->size;
}

/* The pid is there, so its node's name is an atom already. */
void pyusdt_vm_put_node(struct pyusdt_vm_event *event, unsigned arg, ERL_NIF_TERM pid)
{
    ErlNifBinary binary;
    size_t at, length;

    if (!is_read(event, arg) || !enif_term_to_binary(event->env, pid, &binary))
        return;
    if (find_node(&binary, &at, &length))
        pyusdt_vm_put(event, arg,
                      enif_make_atom_len(event->env, (const char *)binary.data + at, length));
    enif_release_binary(&binary);
}

/* ---- sizes ---- */

struct walk {
    ErlNifEnv *env;
    unsigned budget;
    unsigned depth;
};

static uint64_t count_words(struct walk *walk, ERL_NIF_TERM term);

static uint64_t count_tuple_words(struct walk *walk, ERL_NIF_TERM tuple)
{
    const ERL_NIF_TERM *parts;
    uint64_t words = 0;
    int n = 0;

    if (enif_get_tuple(walk->env, tuple, &n, &parts) && n > 0)
        words = (uint64_t)n + 1;
    for (int i = 0; i < n && walk->budget > 0; i++)
        words += count_words(walk, parts[i]);
    return words;
}

static uint64_t count_list_words(struct walk *walk, ERL_NIF_TERM list)
{
    uint64_t words = 0;
    ERL_NIF_TERM head;

    while (walk->budget > 0 && enif_get_list_cell(walk->env, list, &head, &list))
        words += CELL + count_words(walk, head);
    return enif_is_empty_list(walk->env, list) ? words : words + count_words(walk, list);
}

/* For a small map, whose keys are a tuple; for a large one it is about right. */
static uint64_t count_map_words(struct walk *walk, ERL_NIF_TERM map)
{
    ErlNifMapIterator iterator;
    ERL_NIF_TERM key, value;
    uint64_t words = MAP;

    if (!enif_map_iterator_create(walk->env, map, &iterator, ERL_NIF_MAP_ITERATOR_FIRST))
        return words;
    for (; walk->budget > 0 && enif_map_iterator_get_pair(walk->env, &iterator, &key, &value);
         enif_map_iterator_next(walk->env, &iterator))
        words += 2 + count_words(walk, key) + count_words(walk, value);
    enif_map_iterator_destroy(walk->env, &iterator);
    return words;
}

/* One that fits a word has none behind it; else its header and its digits. */
static uint64_t count_integer_words(struct walk *walk, ERL_NIF_TERM term)
{
    const int64_t small = (int64_t)1 << 59;
    ErlNifSInt64 value;

    if (!enif_get_int64(walk->env, term, &value))
        return 3;
    return value >= -small && value < small ? 0 : 2;
}

static uint64_t count_inner_words(struct walk *walk, ERL_NIF_TERM term)
{
    switch (enif_term_type(walk->env, term)) {
    case ERL_NIF_TERM_TYPE_LIST:
        return count_list_words(walk, term);
    case ERL_NIF_TERM_TYPE_TUPLE:
        return count_tuple_words(walk, term);
    case ERL_NIF_TERM_TYPE_MAP:
        return count_map_words(walk, term);
    case ERL_NIF_TERM_TYPE_BITSTRING:
        return BINARY; /* reading its size copies some of it, so none is read */
    case ERL_NIF_TERM_TYPE_INTEGER:
        return count_integer_words(walk, term);
    case ERL_NIF_TERM_TYPE_FLOAT:
        return FLOAT;
    case ERL_NIF_TERM_TYPE_REFERENCE:
        return REFERENCE;
    case ERL_NIF_TERM_TYPE_FUN:
        return FUNCTION;
    default:
        return 0;
    }
}

static uint64_t count_words(struct walk *walk, ERL_NIF_TERM term)
{
    uint64_t words;

    if (walk->budget == 0 || walk->depth == DEPTH)
        return 0;
    walk->budget--;
    walk->depth++;
    words = count_inner_words(walk, term);
    walk->depth--;
    return words;
}

void pyusdt_vm_put_words(struct pyusdt_vm_event *event, unsigned arg, ERL_NIF_TERM term)
{
    struct walk walk = {event->env, PYUSDT_VM_WORDS, 0};

    if (is_read(event, arg))
        pyusdt_vm_put_integer(event, arg, (int64_t)count_words(&walk, term));
}

static uint64_t count_bytes(struct walk *walk, ERL_NIF_TERM term)
{
    ErlNifBinary binary;
    uint64_t bytes = 0;
    ERL_NIF_TERM head;

    if (walk->budget == 0 || walk->depth == DEPTH)
        return 0;
    walk->depth++;
    for (; walk->budget > 0 && enif_get_list_cell(walk->env, term, &head, &term); walk->budget--)
        bytes += enif_is_number(walk->env, head) ? 1 : count_bytes(walk, head);
    walk->depth--;
    return enif_inspect_binary(walk->env, term, &binary) ? bytes + binary.size : bytes;
}

int64_t pyusdt_vm_count_bytes(ErlNifEnv *env, ERL_NIF_TERM iolist)
{
    struct walk walk = {env, PYUSDT_VM_WORDS, 0};

    return (int64_t)count_bytes(&walk, iolist);
}

void pyusdt_vm_put_bytes(struct pyusdt_vm_event *event, unsigned arg, ERL_NIF_TERM iolist)
{
    if (is_read(event, arg))
        pyusdt_vm_put_integer(event, arg, pyusdt_vm_count_bytes(event->env, iolist));
}
