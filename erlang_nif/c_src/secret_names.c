/* Names of secrets (see secret_names.h). */
#include "atoms.h"
#include "secret_names.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX 255 /* bytes of a name that are looked at */
#define WORDS_MAX 32
#define ADJACENT 3
#define CACHED 256

/* In lower case, without separators, sorted. A plural has an s more. */
static const char *const listed[] = {
    "accesskey",     "accountkey",    "apikey",         "apisecret",    "appkey",
    "appsecret",     "auth",          "authcode",       "authheader",   "authkey",
    "authorization", "bearer",        "cardnumber",     "clientsecret", "connectionstring",
    "consumerkey",   "cookie",        "credential",     "creditcard",   "csrf",
    "cvc",           "cvv",           "cvv2",           "databaseurl",  "dburl",
    "dsn",           "encryptionkey", "hmackey",        "iban",         "idtoken",
    "jwt",           "masterkey",     "mnemonic",       "nonce",        "oauth",
    "otp",           "passcode",      "passphrase",     "passwd",       "password",
    "pgpkey",        "pin",           "postgresurl",    "privatekey",   "pwd",
    "redisurl",      "refreshtoken",  "salt",           "secret",       "secretkey",
    "securitycode",  "seed",          "sessionid",      "sessionkey",   "setcookie",
    "signature",     "signingkey",    "socialsecurity", "ssh",          "sshkey",
    "ssn",           "token",         "totp",           "xsrf",
};

/* Of a word; of a name; the last word of a name: db_pass is a secret, pass_count is none. */
static const char *const ends[] = {"secret", "token", "privatekey", "secretkey"};
static const char *const parts[] = {"password", "passwd", "passphrase", "apikey"};
static const char *const last_words[] = {"pass", "pw"};

struct words {
    char text[NAME_MAX + 1];       /* in lower case, without what is between them */
    unsigned begin[WORDS_MAX + 1]; /* of each, and the end of the last */
    unsigned n;
};

enum kind { OTHER, LOWER, UPPER, DIGIT };

static enum kind kind_of(char c)
{
    if (c >= 'a' && c <= 'z')
        return LOWER;
    if (c >= 'A' && c <= 'Z')
        return UPPER;
    return c >= '0' && c <= '9' ? DIGIT : OTHER;
}

/* Whether a word begins at this character: camelCase, HTTPServer, separators, digits. */
static bool begins_word(const char *name, size_t length, size_t at)
{
    enum kind before = at > 0 ? kind_of(name[at - 1]) : OTHER, now = kind_of(name[at]);
    enum kind after = at + 1 < length ? kind_of(name[at + 1]) : OTHER;

    if (before == UPPER && now == UPPER)
        return after == LOWER;
    return before != now && !(before == UPPER && now == LOWER);
}

static void split_words(const char *name, size_t length, struct words *words)
{
    unsigned used = 0;

    words->n = 0;
    for (size_t i = 0; i < length; i++) {
        if (kind_of(name[i]) == OTHER)
            continue;
        if (begins_word(name, length, i)) {
            if (words->n == WORDS_MAX)
                break;
            words->begin[words->n++] = used;
        }
        words->text[used++] = (char)(kind_of(name[i]) == UPPER ? name[i] + 'a' - 'A' : name[i]);
    }
    words->begin[words->n] = used;
}

static int compare(const char *text, size_t length, const char *word)
{
    int order = strncmp(text, word, length);

    return order != 0 ? order : word[length] == '\0' ? 0 : -1;
}

static bool is_listed(const char *text, size_t length)
{
    size_t low = 0, high = sizeof listed / sizeof listed[0];

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = compare(text, length, listed[middle]);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static bool has_end(const char *text, size_t length)
{
    for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t n = strlen(ends[i]);
        if (n <= length && memcmp(text + length - n, ends[i], n) == 0)
            return true;
    }
    return false;
}

/* Letters in lower case, everything else as it is. */
static bool has_part(const char *name, size_t length)
{
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t n = strlen(parts[i]);
        for (size_t at = 0; at + n <= length; at++)
            if (strncasecmp(name + at, parts[i], n) == 0)
                return true;
    }
    return false;
}

/* Numbers behind it do not count. */
static bool ends_with_last_word(const struct words *words)
{
    unsigned last = words->n;

    while (last > 0 && kind_of(words->text[words->begin[last - 1]]) == DIGIT)
        last--;
    for (unsigned i = 0; last > 0 && i < sizeof last_words / sizeof last_words[0]; i++)
        if (compare(words->text + words->begin[last - 1],
                    words->begin[last] - words->begin[last - 1], last_words[i]) == 0)
            return true;
    return false;
}

/* The plural, too. */
static bool is_with_plural(bool (*is)(const char *, size_t), const char *text, size_t length)
{
    return is(text, length) || (length > 1 && text[length - 1] == 's' && is(text, length - 1));
}

bool pyusdt_is_secret_name(const char *name, size_t length)
{
    struct words words;

    length = length < NAME_MAX ? length : NAME_MAX;
    split_words(name, length, &words);
    if (has_part(name, length) || ends_with_last_word(&words))
        return true;
    for (unsigned first = 0; first < words.n; first++) {
        const char *text = words.text + words.begin[first];
        for (unsigned last = first + 1; last <= words.n && last <= first + ADJACENT; last++)
            if (is_with_plural(is_listed, text, words.begin[last] - words.begin[first]))
                return true;
        if (is_with_plural(has_end, text, words.begin[first + 1] - words.begin[first]))
            return true;
    }
    return false;
}

/* ---- keys ---- */

/* An atom is an immediate term and is never taken back, so an answer once found stays true. */
static bool is_secret_atom(ErlNifEnv *env, ERL_NIF_TERM atom)
{
    static _Thread_local struct {
        ERL_NIF_TERM atom;
        bool is_secret;
    } all[CACHED];
    typeof(*all) *cached = &all[atom / 64 % CACHED];
    char name[NAME_MAX + 1];
    int size;

    if (cached->atom == atom)
        return cached->is_secret;
    size = enif_get_atom(env, atom, name, sizeof name, ERL_NIF_LATIN1);
    cached->atom = atom;
    cached->is_secret = size > 1 && pyusdt_is_secret_name(name, (size_t)size - 1);
    return cached->is_secret;
}

bool pyusdt_is_secret_key(ErlNifEnv *env, ERL_NIF_TERM key)
{
    char name[NAME_MAX + 1];
    ErlNifBinary binary;
    int size;

    if (enif_is_atom(env, key))
        return is_secret_atom(env, key);
    if (enif_is_binary(env, key) && enif_inspect_binary(env, key, &binary))
        return pyusdt_is_secret_name((const char *)binary.data, binary.size);
    if (!enif_is_list(env, key) || enif_is_empty_list(env, key))
        return false;
    size = enif_get_string(env, key, name, sizeof name, ERL_NIF_LATIN1);
    return size > 1 && pyusdt_is_secret_name(name, (size_t)size - 1);
}

/* ---- records ---- */

#define RECORDS 512u /* slots; at most half of them are used */
#define ELEMENTS 64u /* of a record, that can be secrets */

/* Written by one process, and never changed behind that. */
static struct {
    _Atomic ERL_NIF_TERM name; /* 0: free */
    int size;
    uint64_t elements;
} records[RECORDS];
static unsigned records_used;

static unsigned find_slot(ERL_NIF_TERM name, int size)
{
    unsigned at = (unsigned)(name / 64 * 31 + (unsigned)size) % RECORDS;

    for (;; at = (at + 1) % RECORDS) {
        ERL_NIF_TERM there = atomic_load_explicit(&records[at].name, memory_order_acquire);
        if (there == 0 || (there == name && records[at].size == size))
            return at;
    }
}

uint64_t pyusdt_secret_elements(ERL_NIF_TERM name, int size)
{
    unsigned at = find_slot(name, size);

    if (atomic_load_explicit(&records[at].name, memory_order_acquire) == 0)
        return 0;
    return __atomic_load_n(&records[at].elements, __ATOMIC_RELAXED);
}

ERL_NIF_TERM pyusdt_nif_secret_record(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM head, list = argv[2];
    uint64_t elements = 0;
    unsigned at, position;
    int size;

    (void)argc;
    if (!enif_is_atom(env, argv[0]) || !enif_get_int(env, argv[1], &size))
        return enif_make_badarg(env);
    while (enif_get_list_cell(env, list, &head, &list))
        if (enif_get_uint(env, head, &position) && position > 0 && position <= ELEMENTS)
            elements |= UINT64_C(1) << (position - 1);
    at = find_slot(argv[0], size);
    if (atomic_load(&records[at].name) != 0) { /* another module's record of that name */
        __atomic_fetch_or(&records[at].elements, elements, __ATOMIC_RELAXED);
        return pyusdt_atoms.yes;
    }
    if (records_used == RECORDS / 2)
        return pyusdt_atoms.no;
    records_used++;
    records[at].size = size;
    records[at].elements = elements;
    atomic_store_explicit(&records[at].name, argv[0], memory_order_release);
    return pyusdt_atoms.yes;
}
