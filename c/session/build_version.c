/* See build_version.h. */
#include "session/build_version.h"

#include <errno.h>
#include <stdio.h>

#include "generated/build.h"
#include "shared/error.h"

#define STRING_(text) #text
#define STRING(text) STRING_(text)
#define BUILD_SINCE 9 /* the first layout that has the text */

const char *pyusdt_build_text(void)
{
    return PYUSDT_BUILD " (layout " STRING(PYUSDT_LAYOUT_VERSION) ")";
}

/* Untrusted text: only printable ASCII is copied. */
static void copy_text(char *to, size_t size, const char *from)
{
    size_t n = 0;

    for (; n + 1 < size && from[n] >= ' ' && from[n] <= '~'; n++)
        to[n] = from[n];
    to[n] = '\0';
}

int pyusdt_build_set_error(const char *what, const struct pyusdt_ctl_header *header,
                           struct pyusdt_error *error)
{
    char theirs[PYUSDT_BUILD_SIZE] = "";

    if (header->version >= BUILD_SINCE)
        copy_text(theirs, sizeof theirs, header->build);
    return pyusdt_error_set(
        error, -EPROTONOSUPPORT,
        "%s has pyusdt %s (layout %u), and this is pyusdt %s: they do not understand each other; install the "
        "same build for both",
        what, theirs[0] ? theirs : "of an unknown commit", header->version, pyusdt_build_text());
}
