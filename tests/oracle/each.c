/*
 * Preloaded into the real dtrace: a script that begins with the line "each" is a list of scripts, a path a line, each of which is
 * compiled in a process of its own as if it alone had been named.  So dtrace reads the kernel's types and its own library once, which
 * takes most of the time of a short script.
 *
 *   LD_PRELOAD=each.so dtrace -e -C -s LIST
 *
 * Of each is told: its path in a line, what dtrace says (with the name of LIST where the script's would be), and a line "exit N".
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void *compile(void *tracer, FILE *script, unsigned flags, int argc, char *const argv[]);

// dtrace does so when the first script is compiled: with one that declares nothing, before there are others.
static void read_library(compile *real, void *tracer, unsigned flags, int argc, char *const argv[])
{
    FILE *script = tmpfile();

    if (script == NULL || fputs("BEGIN { exit(0); }\n", script) < 0)
        exit(3);
    rewind(script);
    if (real(tracer, script, flags, argc, argv) == NULL)
        exit(3);
    fclose(script);
}

void *dtrace_program_fcompile(void *tracer, FILE *list, unsigned flags, int argc,
                              char *const argv[])
{
    compile *real = (compile *)dlsym(RTLD_NEXT, "dtrace_program_fcompile");
    static char text[1 << 20];
    char *path, *rest = text, first[6] = "";

    if (fgets(first, sizeof first, list) == NULL ||
        strcmp(first, "each\n") != 0) { // dtrace's own library, say
        rewind(list);
        return real(tracer, list, flags, argc, argv);
    }
    text[fread(text, 1, sizeof text - 1, list)] = 0;
    unsetenv("LD_PRELOAD"); // what dtrace starts is not preloaded
    read_library(real, tracer, flags, argc, argv);
    while ((path = strsep(&rest, "\n")) != NULL && *path != 0) {
        int status;
        pid_t child;

        printf("%s\n", path);
        fflush(stdout);
        child = fork();
        if (child < 0)
            exit(3);
        if (child == 0)
            return real(tracer, fopen(path, "r"), flags, argc,
                        argv); // and the command goes on with it
        waitpid(child, &status, 0);
        printf("exit %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    fflush(stdout);
    _exit(0);
}
