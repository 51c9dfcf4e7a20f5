/* Functions that end in every way there is. */
#include <stdio.h>
#include <stdlib.h>
#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

volatile int sink;
int (*volatile pointer)(int);

APART int plain(int a)
{
    sink = a;
    return a + 1;
}
APART int tails(int a)
{
    sink = a;
    return plain(a + 5);
}
APART int tails_twice(int a)
{
    sink = a;
    return a > 2 ? tails(a * 2) : plain(a);
}
APART int by_pointer(int a)
{
    sink = a;
    return pointer(a);
}
APART int recursive(int a)
{
    return a ? recursive(a - 1) + sink * 0 + 2 : 0;
}
APART void never(int a)
{
    if (a)
        exit(0);
    abort();
}
APART int framed(int a)
{
    char room[100];
    sprintf(room, "%d", a);
    if (__builtin_expect(a < 0, 0)) {
        sink = puts(room);
        return atoi(room);
    }
    sink = a;
    return room[0];
}

APART int leaf_switch(int a)
{
    switch (a) {
    case 0:
        sink = 1;
        return 10;
    case 1:
        sink = 2;
        return 21;
    case 2:
        sink = 4;
        return 32;
    case 3:
        sink = 8;
        return 43;
    case 4:
        sink = 1;
        return 54;
    case 5:
        sink = 2;
        return 65;
    default:
        return 7;
    }
}

int conditional(int), repeated(int), taking(int), entered(int), enters(int), jumps_anywhere(int);

int main(int argc, char **argv)
{
    (void)argv;
    pointer = plain;
    if (argc > 1)
        getchar();
    for (int i = 0; i < 4; i++) {
        plain(i), tails(i), tails_twice(i), by_pointer(i), leaf_switch(i), framed(i),
            conditional(i), repeated(i), entered(i), enters(i);
        jumps_anywhere(i);
    }
    recursive(5);
    if (argc > 1)
        getchar();
    never(1);
}
