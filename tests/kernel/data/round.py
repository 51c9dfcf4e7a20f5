"""Says "ready", waits for a line, fires user_trace-i4s4 N times in two threads each (1, 2 …, "text"), says how often the
answer was True, waits for another line.  Arguments: N, the text."""

import sys
import threading

import pyusdt

n, text = int(sys.argv[1]), sys.argv[2]
offered = [0, 0]


def fire(thread):
    for i in range(n):
        offered[thread] += pyusdt.p(i, text)


print("ready", flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=fire, args=(number,)) for number in (0, 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(offered), flush=True)
sys.stdin.readline()
