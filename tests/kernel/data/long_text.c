/* Fires long:::text with a text of so many bytes. */
#include <stdlib.h>
#include <string.h>
#include <sys/sdt.h>

int main(int argc, char **argv)
{
    size_t length = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    char *text = malloc(length + 1);

    if (!text)
        return 1;
    memset(text, 'x', length);
    text[length] = '\0';
    DTRACE_PROBE1(long, text, text);
    return 0;
}
