/* Lines "glob\tPATTERN\tSTRING", "d\tNOTE", "note\tNAME" from stdin; one answer a line. */
#include <stdio.h>
#include <string.h>

#include "hook_kill.h"
#include "pyusdt.h"

int main(void)
{
    char line[4096], answer[64];

    while (fgets(line, sizeof line, stdin)) {
        char *what = line, *first = strchr(line, '\t'), *second;
        int n;
        line[strcspn(line, "\n")] = '\0';
        if (!first)
            return 2;
        *first++ = '\0';
        second = strchr(first, '\t');
        if (strcmp(what, "glob") == 0 && second) {
            *second++ = '\0';
            printf("%d\n", pyusdt_glob(first, second));
            continue;
        }
        n = strcmp(what, "d") == 0 ? pyusdt_probe_name(first, answer, sizeof answer)
                                   : pyusdt_note_name(first, answer, sizeof answer);
        printf("%d %s\n", n, n < 0 ? "" : answer);
    }
    return 0;
}
