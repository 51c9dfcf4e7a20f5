/* The rules for names of providers and probes (see provider_names.h). */
#include "target/provider_names.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "shared/error.h"

#define NAME_IN_MESSAGE 64 /* bytes of a wrong name in a message */

static const char digits[] = "0123456789";

static bool is_word(const char *text, size_t most, const char *more)
{
    const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    size_t n = strlen(text);

    if (n == 0 || n > most || !strchr(letters, text[0]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!strchr(letters, text[i]) && !strchr(digits, text[i]) && !strchr(more, text[i]))
            return false;
    return true;
}

/* A wrong name for a message: whole characters of UTF-8, and nothing that a terminal obeys. */
static const char *escape_name(const char *name, char text[NAME_IN_MESSAGE + 4])
{
    size_t n = strlen(name);
    bool cut = n > NAME_IN_MESSAGE;

    if (cut)
        for (n = NAME_IN_MESSAGE; n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80; n--)
            ;
    for (size_t i = 0; i < n; i++)
        text[i] = (unsigned char)name[i] < ' ' || name[i] == 0x7f ? '?' : name[i];
    strcpy(text + n, cut ? "..." : "");
    return text;
}

int pyusdt_provider_check(const char *provider, struct pyusdt_error *why)
{
    char text[NAME_IN_MESSAGE + 4];

    if (is_word(provider, PYUSDT_PROVIDER_MAX, "") &&
        !strchr(digits, provider[strlen(provider) - 1]))
        return 0;
    return pyusdt_error_set(
        why, -EINVAL,
        "provider '%s': its name is a letter or _, then letters, digits and _, at most %d in all, and "
        "no digit at the end, where D puts the process id",
        escape_name(provider, text), PYUSDT_PROVIDER_MAX);
}

/* ---- types ---- */

/* C's name of a type, or NULL if there is no type of that kind and size. */
static const char *type_name(unsigned type)
{
    static const char *const names[] = {
        [PYUSDT_UINT | 1] = "uint8_t",  [PYUSDT_UINT | 2] = "uint16_t",
        [PYUSDT_UINT | 4] = "uint32_t", [PYUSDT_UINT | 8] = "uint64_t",
        [PYUSDT_INT | 1] = "int8_t",    [PYUSDT_INT | 2] = "int16_t",
        [PYUSDT_INT | 4] = "int32_t",   [PYUSDT_INT | 8] = "int64_t",
        [PYUSDT_FLOAT | 4] = "float",   [PYUSDT_FLOAT | 8] = "double",
        [PYUSDT_STRING] = "string",     [PYUSDT_TERM] = "term",
    };

    return type < sizeof names / sizeof names[0] ? names[type] : NULL;
}

const char *pyusdt_signature(const struct pyusdt_probe_def *probe, char text[PYUSDT_SIGNATURE_SIZE])
{
    size_t at = 0;

    text[0] = '(';
    text[1] = '\0';
    for (unsigned i = 0; i < probe->nargs; i++)
        at += (size_t)snprintf(text + 1 + at, PYUSDT_SIGNATURE_SIZE - 1 - at, "%s%s%s%s",
                               i ? ", " : "", probe->argument[i] ? probe->argument[i] : "",
                               probe->argument[i] ? ": " : "", type_name(probe->type[i]));
    strcpy(text + 1 + at, ")");
    return text;
}

/* The first argument whose name is invalid or equal to an earlier one; -1: all are valid. */
static int find_wrong_argument(const struct pyusdt_probe_def *probe)
{
    for (unsigned i = 0; i < probe->nargs; i++) {
        const char *name = probe->argument[i];
        if (!name)
            continue;
        if (!is_word(name, PYUSDT_ARGUMENT_MAX, ""))
            return (int)i;
        for (unsigned k = 0; k < i; k++)
            if (probe->argument[k] && strcmp(name, probe->argument[k]) == 0)
                return (int)i;
    }
    return -1;
}

int pyusdt_probe_check(const char *provider, const struct pyusdt_probe_def *probe,
                       struct pyusdt_error *why)
{
    char text[NAME_IN_MESSAGE + 4];
    int wrong;

    if (!is_word(probe->name, PYUSDT_NAME_MAX, "-"))
        return pyusdt_error_set(
            why, -EINVAL,
            "provider %s, probe '%s': its name is a letter or _, then letters, digits, _ and -, "
            "at most %d in all",
            provider, escape_name(probe->name, text), PYUSDT_NAME_MAX);
    if (probe->nargs > PYUSDT_MAX_ARGS)
        return pyusdt_error_set(why, -EINVAL,
                                "provider %s, probe %s: a probe has at most %d arguments, not %u",
                                provider, probe->name, PYUSDT_MAX_ARGS, probe->nargs);
    for (unsigned i = 0; i < probe->nargs; i++)
        if (!type_name(probe->type[i]))
            return pyusdt_error_set(why, -EINVAL,
                                    "provider %s, probe %s: argument %u has no type that there is",
                                    provider, probe->name, i + 1);
    wrong = find_wrong_argument(probe);
    if (wrong >= 0)
        return pyusdt_error_set(
            why, -EINVAL,
            "provider %s, probe %s, argument '%s': its name is a letter or _, then letters, digits "
            "and _, at most %d in all, and no other argument's",
            provider, probe->name, escape_name(probe->argument[wrong], text), PYUSDT_ARGUMENT_MAX);
    return 0;
}
