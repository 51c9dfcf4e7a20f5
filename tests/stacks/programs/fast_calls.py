"""Calls functions as fast as it can, in few stacks that are all known: says the thread's callers and, by name, who may call whom from
which lines.  argv: none.
"""


def leaf_a():
    return 1


def leaf_b():
    return leaf_a()


def one(n):
    for _ in range(n):
        leaf_a()
        leaf_b()


def two(n):
    for _ in range(n):
        leaf_b()


def deep(n):
    if n:
        return deep(n - 1)
    return leaf_b()


def main():
    while True:
        one(20)
        two(20)
        deep(10)


print("ready")
main()
