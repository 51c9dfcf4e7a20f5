/*
 * The run directory and the files of a fuzzer's harness: PYUSDT_RUNDIR is set, and the directory is gone when the program ends.
 *
 * - An error of the harness itself (fuzz_require) ends the program as a sanitizer does.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../c/session/session_state.h"
#include "fuzz_reader.h"

char fuzz_rundir[] = "/dev/shm/pyusdt-fuzz-XXXXXX";

void fuzz_require(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz: %s\n", what);
        abort();
    }
}

int fuzz_open_file(const char *ending)
{
    DIR *dir = opendir(fuzz_rundir);
    struct dirent *entry;
    int fd = -1;

    fuzz_require(dir != NULL, "no run directory");
    while (fd < 0 && (entry = readdir(dir)) != NULL) {
        size_t n = strlen(entry->d_name), m = strlen(ending);
        if (n > m && strcmp(entry->d_name + n - m, ending) == 0 && !strstr(entry->d_name, "-9."))
            fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_NOFOLLOW);
    }
    closedir(dir);
    return fd;
}

void fuzz_remove_files(void)
{
    DIR *dir = opendir(fuzz_rundir);
    struct dirent *entry;

    fuzz_require(dir != NULL, "no run directory");
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

static void end(void)
{
    pyusdt_unpublish();
    fuzz_remove_files();
    rmdir(fuzz_rundir);
}

void fuzz_begin(void)
{
    fuzz_require(mkdtemp(fuzz_rundir) != NULL, "mkdtemp");
    setenv("PYUSDT_RUNDIR", fuzz_rundir, 1);
    atexit(end);
}
