/* Puts an entry into the pending calls of a CPython: pid minor runtime function slot text. The child that does it is killed or stopped at a
 * place, or waits there for 5 ms: HOOK=place, HOOK_SIGNAL=stop, wait. For test_attach_kills.py. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/attach_hook.h"
#include "attach/inject.h"

void pyusdt_attach_hook(int place)
{
    const char *at = getenv("HOOK"), *how = getenv("HOOK_SIGNAL");

    if (at == NULL || atoi(at) != place)
        return;
    if (how != NULL && strcmp(how, "wait") == 0)
        usleep(5000);
    else
        kill(getpid(), how != NULL && strcmp(how, "stop") == 0 ? SIGSTOP : SIGKILL);
}

static int read_layout(struct pyusdt_ring_target *target, unsigned minor)
{
    uint64_t words[PYUSDT_PYTHON_WORDS];

    if (minor < PYUSDT_PYTHON_TELLS)
        return pyusdt_python_layout(minor, &target->layout);
    if (pyusdt_memory_read(&target->memory, target->runtime, words, sizeof words) != 0)
        return -EFAULT;
    return pyusdt_python_layout_told(words, &target->layout);
}

int main(int argc, char **argv)
{
    static struct pyusdt_ring_target target;
    struct pyusdt_injected injected = {0};
    struct pyusdt_image image;
    int r, withdraws = argc > 7;

    if (argc < 7 || pyusdt_memory_open(atoi(argv[1]), &target.memory) != 0 ||
        pyusdt_image_read(atoi(argv[1]), &image) != 0)
        return 2;
    target.runtime = strtoull(argv[3], NULL, 10);
    target.function = strtoull(argv[4], NULL, 10);
    target.slot[0] = strtoull(argv[5], NULL, 10);
    target.slots = 1;
    target.size = (uint32_t)strlen(argv[6]);
    snprintf(target.text, sizeof target.text, "%s", argv[6]);
    if (read_layout(&target, (unsigned)atoi(argv[2])) != 0)
        return 2;
    r = pyusdt_inject(PYUSDT_INJECT_PUT, 100, &target, &image, &injected);
    if (r == 0 && withdraws)
        r = pyusdt_inject(PYUSDT_INJECT_WITHDRAW, 100, &target, &image, &injected);
    printf("%d %d %d\n", r, injected.error, injected.result);
    return 0;
}
