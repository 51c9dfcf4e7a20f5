/* Finding the control file of a process on Linux: its own mappings tell, wherever its run directory is. See process.h. */
#if defined(__linux__) && !defined(PYUSDT_FIND_PORTABLE)
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/process.h"

#define PROC_SIZE 48 /* of "/proc/PID/task/TID" */

/* What follows a word at the beginning of a line of the file `status` there. */
static bool status_in(const char *proc, const char *word, char *rest, size_t size)
{
    char path[PROC_SIZE + 8], line[256];
    bool found = false;
    FILE *file;

    snprintf(path, sizeof path, "%s/status", proc);
    file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        found = strncmp(line, word, strlen(word)) == 0;
        if (found)
            snprintf(rest, size, "%s", line + strlen(word));
    }
    if (file)
        fclose(file);
    return found;
}

static bool status_of(pid_t pid, const char *word, char *rest, size_t size)
{
    char proc[PROC_SIZE];

    snprintf(proc, sizeof proc, "/proc/%d", (int)pid);
    return status_in(proc, word, rest, size);
}

static bool has_ended(const char *proc)
{
    char state[32];
    return status_in(proc, "State:", state, sizeof state) && strncmp(state, "\tZ", 2) == 0;
}

/* /proc/PID; where the process's first thread has ended, which has no memory any more, that of another. */
static void choose_thread(pid_t pid, char *proc)
{
    char path[PROC_SIZE];
    const struct dirent *task;
    DIR *tasks;

    snprintf(proc, PROC_SIZE, "/proc/%d", (int)pid);
    if (!has_ended(proc))
        return;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    while (tasks && has_ended(proc) && (task = readdir(tasks)) != NULL)
        if (task->d_name[0] != '.')
            snprintf(proc, PROC_SIZE, "/proc/%d/task/%.10s", (int)pid, task->d_name);
    if (tasks)
        closedir(tasks);
}

/* The process's pid in its own pid namespace: the last of NSpid. */
static uint32_t inner_pid(pid_t pid)
{
    uint32_t inner = (uint32_t)pid;
    char pids[256];

    if (status_of(pid, "NSpid:", pids, sizeof pids))
        for (char *at = pids, *end; (inner = (uint32_t)strtoul(at, &end, 10), *end == '\t'); at = end)
            ;
    return inner;
}

int64_t pyusdt_process_uid(uint32_t pid)
{
    unsigned long real, effective;
    char uids[256];

    return status_of((pid_t)pid, "Uid:", uids, sizeof uids) && sscanf(uids, "%lu %lu", &real, &effective) == 2
               ? (int64_t)effective : -1;
}

/* What it has mapped where, it may have arranged as it likes (bind mounts), unless it sees what we see. */
static bool same_mounts(pid_t pid)
{
    struct stat ours, theirs;
    char path[32];

    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
    return geteuid() != 0 ||
           (stat("/proc/self/ns/mnt", &ours) == 0 && stat(path, &theirs) == 0 && ours.st_ino == theirs.st_ino);
}

static int why_not(pid_t pid, struct pyusdt_error *error)
{
    char path[32];
    struct stat st;

    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (stat(path, &st) == 0 && st.st_uid != geteuid())
        return pyusdt_error_set(error, -EPERM, "process %d belongs to another user (uid %u)", (int)pid,
                                (unsigned)st.st_uid);
    return pyusdt_error_set(error, -EPERM, "process %d may not be looked at: %s", (int)pid, strerror(errno));
}

/* Takes "directory/name.ctl" of one line of /proc/PID/maps apart, and what follows where the file is gone. */
static bool parse_mapping(char *line, struct pyusdt_name *name, char **directory, bool *removed)
{
    static const char mark[] = " (deleted)";
    char *path = strchr(line, '/'), *base, *end;

    line[strcspn(line, "\n")] = '\0';
    base = path ? strrchr(path, '/') : NULL;
    if (!base || base == path)
        return false;
    end = strstr(base, mark);
    *removed = end && end[sizeof mark - 1] == '\0';
    if (*removed)
        *end = '\0';
    pyusdt_name_parse(base + 1, name);
    *base = '\0';
    *directory = path;
    return name->kind == PYUSDT_FILE_CTL;
}

int pyusdt_process_find(pid_t pid, struct pyusdt_process_file *found, struct pyusdt_error *error)
{
    char proc[PROC_SIZE], path[PROC_SIZE + 8], line[PYUSDT_PATH_SIZE + 256], *directory;
    bool parent = false, removed, lost = false;
    struct pyusdt_name name;
    FILE *maps;

    memset(found, 0, sizeof *found);
    if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH))
        return pyusdt_error_set(error, -ESRCH, "no such process: %d", (int)pid);
    choose_thread(pid, proc);
    snprintf(path, sizeof path, "%s/maps", proc);
    maps = fopen(path, "re");
    if (!maps)
        return why_not(pid, error);
    found->inner = inner_pid(pid);
    found->owner = same_mounts(pid) ? -1 : pyusdt_process_uid((uint32_t)pid);
    errno = 0;
    while (fgets(line, sizeof line, maps)) {
        if (!parse_mapping(line, &name, &directory, &removed))
            continue;
        if (removed && name.who.pid == found->inner) {
            lost = true;
            continue;
        }
        parent |= name.who.pid != found->inner; /* which may have ended, and its file with it */
        if (found->directory[0] == '\0' || name.who.pid == found->inner)
            snprintf(found->directory, sizeof found->directory, "%s/root%.*s", proc, PYUSDT_PATH_SIZE - PROC_SIZE - 8,
                     directory);
        if (name.who.pid == found->inner) {
            found->who = name.who;
            found->published = true;
        }
    }
    if (ferror(maps) && errno == EACCES) {
        fclose(maps);
        return why_not(pid, error);
    }
    fclose(maps);
    if (!found->published && lost)
        return pyusdt_error_set(error, -ENODATA, "process %d can not be traced: its control file was removed", (int)pid);
    if (!found->published && !parent)
        return pyusdt_error_set(error, -ENODATA, "process %d has no pyusdt in it", (int)pid);
    return 0;
}

#endif
