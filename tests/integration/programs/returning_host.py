"""A host that goes and comes back: `returning_host.py FILE NAME`.  Each incarnation adds a byte to FILE, counts two whole epochs, of 1,000
and of 200, and sends a part of a third.  The fourth ends as a host does; with `refuse` in FILE the second one refuses to trace."""

import sys

from hostile_host import answered, delta, say


def main(path):
    with open(path, "a+") as file:
        file.write(".")
        file.seek(0)
        text = file.read()
    sys.stdin.readline()
    if text == "refuse..":
        say("refused", why="it is not yet there")
        return
    say("opened", matched=[1, 1])
    while "go" not in (line := sys.stdin.readline()) and line:
        answered(line)
    say("hello", schema=2, aggregations=[{"name": "_"}])
    answered(sys.stdin.readline())
    for number, count in enumerate((1000, 200)):
        delta([[[], [count]]], epoch=number)
        say("heartbeat", epoch=number, time=1)
    if text == "....":
        say("exit", epochs=2, status=0)
    else:
        delta([[[], [7]]], epoch=2)


if __name__ == "__main__":
    main(sys.argv[1])
