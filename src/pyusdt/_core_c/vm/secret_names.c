/* See secret_names.h. */
#define _GNU_SOURCE
#include "_core_c/vm/secret_names.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 32u
#define ADJACENT 3u

static const char listed[] =
    " accesskey accountkey apikey apisecret appkey appsecret auth authcode authheader authkey"
    " authorization bearer cardnumber clientsecret connectionstring consumerkey cookie credential"
    " creditcard csrf cvc cvv cvv2 databaseurl dburl dsn encryptionkey hmackey iban idtoken jwt"
    " masterkey mnemonic nonce oauth otp passcode passphrase passwd password pgpkey pin postgresurl"
    " privatekey pwd redisurl refreshtoken salt secret secretkey securitycode seed sessionid"
    " sessionkey setcookie signature signingkey socialsecurity ssh sshkey ssn token totp xsrf ";
static const char *const ends[] = {"secret", "token", "privatekey", "secretkey"};
static const char *const parts[] = {"password", "passwd", "passphrase", "apikey"};

/* ---- the program's own ---- */

__attribute__((visibility("default"))) char pyusdt_redacted_names[PYUSDT_REDACTED_SIZE];
static uint32_t redactions;

/* The comma before them comes last: until then they are behind the end. */
static int add_patterns(const char *patterns, size_t length)
{
    size_t size = strlen(pyusdt_redacted_names);

    if (length + 2 > sizeof pyusdt_redacted_names - size)
        return -ENOSPC;
    memcpy(pyusdt_redacted_names + size + 1, patterns, length);
    __atomic_store_n(&pyusdt_redacted_names[size], ',', __ATOMIC_RELEASE);
    __atomic_add_fetch(&redactions, 1, __ATOMIC_RELEASE);
    return 0;
}

int pyusdt_redact(const char *patterns, size_t length)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    int r;

    pthread_mutex_lock(&mutex);
    r = add_patterns(patterns, length);
    pthread_mutex_unlock(&mutex);
    return r;
}

uint32_t pyusdt_redactions(void)
{
    return __atomic_load_n(&redactions, __ATOMIC_ACQUIRE);
}

static int has_pattern(const char *at, const char *name)
{
    char pattern[PYUSDT_SECRET_NAME + 1];

    while (*(at += strspn(at, ", \t\n")) != '\0') {
        size_t size = strcspn(at, ", \t\n");

        if (size >= sizeof pattern)
            return 1; /* in doubt */
        memcpy(pattern, at, size);
        pattern[size] = '\0';
        if (fnmatch(pattern, name, FNM_CASEFOLD) == 0)
            return 1;
        at += size;
    }
    return 0;
}

int pyusdt_has_forbidden(void)
{
    return getenv("PYUSDT_REDACT") != NULL || pyusdt_redactions() != 0;
}

int pyusdt_is_forbidden(const char *name, size_t length)
{
    const char *at_start = getenv("PYUSDT_REDACT");
    char text[PYUSDT_SECRET_NAME + 1];

    if (at_start == NULL && pyusdt_redactions() == 0)
        return 0;
    length = length < sizeof text ? length : sizeof text - 1;
    memcpy(text, name, length);
    text[length] = '\0';
    return (at_start != NULL && has_pattern(at_start, text)) ||
           has_pattern(pyusdt_redacted_names, text);
}

/* ---- words ---- */

/* Of a name in lower case: where each word begins, and how long it is. */
struct words {
    char lower[PYUSDT_SECRET_NAME + 1];
    size_t n, at[WORDS], length[WORDS];
};

enum kind { OTHER, UPPER, LOWER, DIGIT, FOREIGN };

static enum kind kind_of(char c)
{
    unsigned char byte = (unsigned char)c;

    return byte >= 0x80    ? FOREIGN
           : isupper(byte) ? UPPER
           : islower(byte) ? LOWER
           : isdigit(byte) ? DIGIT
                           : OTHER;
}

static size_t run_length(const char *name, size_t at, size_t length, enum kind kind)
{
    size_t end = at;

    while (end < length && kind_of(name[end]) == kind)
        end++;
    return end - at;
}

/* "HTTPServer" is HTTP and Server, "dbPassword" db and Password. */
static size_t word_length(const char *name, size_t at, size_t length)
{
    enum kind kind = kind_of(name[at]);
    size_t n = run_length(name, at, length, kind), small;

    if (kind != UPPER)
        return n;
    small = run_length(name, at + n, length, LOWER);
    if (small == 0)
        return n;
    return n > 1 ? n - 1 : 1 + small;
}

static void split_words(const char *name, size_t length, struct words *words)
{
    words->n = 0;
    for (size_t i = 0; i < length; i++)
        words->lower[i] = (char)tolower((unsigned char)name[i]);
    words->lower[length] = '\0';
    for (size_t at = 0; at < length && words->n < WORDS;) {
        size_t size = word_length(name, at, length);

        if (kind_of(name[at]) != OTHER) {
            words->at[words->n] = at;
            words->length[words->n++] = size;
        }
        at += size;
    }
}

static int is_listed(const char *word, size_t length)
{
    char with_blanks[PYUSDT_SECRET_NAME + 3];

    with_blanks[0] = ' ';
    memcpy(with_blanks + 1, word, length);
    memcpy(with_blanks + 1 + length, " ", 2);
    return strstr(listed, with_blanks) != NULL;
}

/* A plural has an s more. */
static int is_listed_word(const char *word, size_t length)
{
    return length != 0 && (is_listed(word, length) ||
                           (word[length - 1] == 's' && length > 1 && is_listed(word, length - 1)));
}

static int has_listed_words(const struct words *words, size_t first)
{
    char joined[PYUSDT_SECRET_NAME + 1];
    size_t size = 0;

    for (size_t last = first; last < words->n && last < first + ADJACENT; last++) {
        memcpy(joined + size, words->lower + words->at[last], words->length[last]);
        size += words->length[last];
        if (is_listed_word(joined, size))
            return 1;
    }
    return 0;
}

static int ends_as_secret(const char *word, size_t length)
{
    if (length > 0 && word[length - 1] == 's')
        length--;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t size = strlen(ends[i]);

        if (length >= size && memcmp(word + length - size, ends[i], size) == 0)
            return 1;
    }
    return 0;
}

/* DB_PASS is a secret, pass_count is none. */
static int last_is_pass(const struct words *words)
{
    for (size_t i = words->n; i-- > 0;) {
        const char *word = words->lower + words->at[i];

        if (kind_of(*word) == DIGIT)
            continue;
        return (words->length[i] == 4 && memcmp(word, "pass", 4) == 0) ||
               (words->length[i] == 2 && memcmp(word, "pw", 2) == 0);
    }
    return 0;
}

int pyusdt_is_secret(const char *name, size_t length)
{
    struct words words;

    split_words(name, length < PYUSDT_SECRET_NAME ? length : PYUSDT_SECRET_NAME, &words);
    for (size_t i = 0; i < words.n; i++)
        if (has_listed_words(&words, i) ||
            ends_as_secret(words.lower + words.at[i], words.length[i]))
            return 1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(words.lower, parts[i]) != NULL)
            return 1;
    return last_is_pass(&words);
}
