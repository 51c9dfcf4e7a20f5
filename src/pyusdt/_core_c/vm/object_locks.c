/* See object_locks.h. */
#include "_core_c/vm/object_locks.h"

#ifdef Py_GIL_DISABLED

#include <stdint.h>

enum { LOCKS = 64, TRIES = 32 };
enum { IS_LOCKED = 1 }; /* the bit of a PyMutex; another one says that threads wait */

static __thread struct {
    unsigned n;
    int is_busy;
    PyMutex *lock[LOCKS];
} mine;

static int try_lock(PyMutex *mutex)
{
    uint8_t bits = __atomic_load_n(&mutex->_bits, __ATOMIC_RELAXED);

    return (bits & IS_LOCKED) == 0 &&
           __atomic_compare_exchange_n(&mutex->_bits, &bits, (uint8_t)(bits | IS_LOCKED), 0,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static int is_mine(const PyMutex *mutex)
{
    for (unsigned i = mine.n; i > 0; i--)
        if (mine.lock[i - 1] == mutex)
            return 1;
    return 0;
}

static void relax(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#else
    __asm__ volatile("yield");
#endif
}

static int try_some_times(PyMutex *mutex)
{
    for (int i = 0; i < TRIES; i++) {
        if (try_lock(mutex))
            return 1;
        relax();
    }
    return 0;
}

unsigned pyusdt_locked(void)
{
    return mine.n;
}

int pyusdt_lock(PyObject *object)
{
    PyMutex *mutex = &object->ob_mutex;

    if (is_mine(mutex))
        return 1;
    if (mine.n == LOCKS || !try_some_times(mutex)) {
        mine.is_busy = 1;
        return 0;
    }
    mine.lock[mine.n++] = mutex;
    return 1;
}

void pyusdt_unlock_to(unsigned locked)
{
    while (mine.n > locked)
        PyMutex_Unlock(mine.lock[--mine.n]);
}

int pyusdt_is_busy(void)
{
    return mine.is_busy;
}

void pyusdt_set_busy(void)
{
    mine.is_busy = 1;
}

int pyusdt_take_busy(void)
{
    int was = mine.is_busy;

    mine.is_busy = 0;
    return was;
}

#else
typedef int pyusdt_no_object_locks; /* a file has to have something in it */
#endif
