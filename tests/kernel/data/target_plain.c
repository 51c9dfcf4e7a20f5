/* The probe without a semaphore: systemtap's header gives all probes of a file one, or none. */
#include <sys/sdt.h>

void fire_plain(long i, const char *word)
{
    STAP_PROBE2(target, plain__two, i, word);
}
