// Throws five exceptions and catches them: libstdc++'s own probes.
#include <cstdio>
#include <stdexcept>

__attribute__((noinline)) static void fail(int i)
{
    if (i >= 0)
        throw std::runtime_error("wanted");
}

int main()
{
    int caught = 0;
    for (int i = 0; i < 5; i++) {
        try {
            fail(i);
        } catch (const std::runtime_error &) {
            caught++;
        }
    }
    std::printf("caught %d\n", caught);
}
