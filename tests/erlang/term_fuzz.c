/* Terms that nobody would write: term_fuzz SEED ROUNDS < terms, each with its length as a byte in front.
 *
 * Input: whole terms to start from.  Output: nothing; a sanitizer speaks up, or an assertion.
 * - The term is in memory of exactly its length, so is the text, whose rest is zeros. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/helpers/term.h"

static unsigned long long state;

static unsigned any(unsigned below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

static void mutate(unsigned char *term, unsigned *size)
{
    for (unsigned n = any(6); n > 0; n--)
        switch (any(4)) {
        case 0:
            term[any(*size)] = (unsigned char)any(256);
            break;
        case 1:
            term[any(*size)] = (unsigned char)(any(2) ? 97 + any(23) : any(2) ? 255 : 0);
            break;
        case 2:
            *size = 1 + any(*size);
            break;
        default:
            term[any(*size)] ^= (unsigned char)(1u << any(8));
        }
}

static void show(const unsigned char *bytes, unsigned size)
{
    static const char *const keys[] = {"name", "a", ""};
    unsigned room = 1 + any(300), steps = any(4);
    unsigned char *term = malloc(size), *path = calloc(steps + 1, 24), *at = path;
    char *text = malloc(room);
    int length;

    memcpy(term, bytes, size);
    term[0] = any(50) ? 131 : term[0];
    for (unsigned i = 0; i < steps; i++) {
        unsigned long long tag = any(3) ? 0 : 16, number = any(5);
        memcpy(at, &tag, 8);
        if (tag)
            strcpy((char *)at + 8, keys[any(3)]);
        else
            memcpy(at + 8, &number, 8);
        at += tag ? 24 : 16;
    }
    if (steps && !any(20))
        at -= any(16); /* a path that ends in a step */
    length = pyusdt_term_text(term, size, path, (unsigned)(at - path), text, room);
    for (int i = length; i > 0 && i < (int)room; i++)
        assert(text[i] == '\0');
    assert(length < 0 ||
           (length <= (int)room && text[length - 1] == '\0' && strlen(text) == (size_t)length - 1));
    free(term);
    free(path);
    free(text);
}

int main(int argc, char **argv)
{
    static unsigned char all[1 << 16];
    unsigned starts[256], n = 0, end = (unsigned)fread(all, 1, sizeof all, stdin);

    assert(argc == 3);
    state = strtoull(argv[1], NULL, 10);
    for (unsigned at = 0; at < end && n < 256; at += all[at] + 1u)
        starts[n++] = at;
    for (long rounds = atol(argv[2]); rounds > 0; rounds--) {
        unsigned char term[256];
        unsigned start = starts[any(n)], size = all[start];
        memcpy(term, all + start + 1, size);
        mutate(term, &size);
        show(term, size);
    }
    return 0;
}
