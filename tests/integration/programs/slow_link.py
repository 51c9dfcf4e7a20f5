"""A line that is slow: `slow_link.py MS BYTES COMMAND …` runs a command, whose input and output take MS each way, and no more than BYTES
a second."""

import os
import subprocess
import sys
import threading
import time
from queue import Queue


def carry(source, target, delay, rate):
    """From one descriptor to the other; a reader of its own, so that what waits does not hold up what comes."""
    queue = Queue(1000)

    def read():
        while text := os.read(source, 1 << 14):
            queue.put((time.monotonic() + delay, text))
        queue.put((time.monotonic() + delay, b""))

    threading.Thread(target=read, daemon=True).start()
    while True:
        due, text = queue.get()
        time.sleep(max(0, due - time.monotonic()) + len(text) / rate)
        if not text:
            return os.close(target)
        while text:
            text = text[os.write(target, text) :]


def main():
    delay, rate = int(sys.argv[1]) / 1000, int(sys.argv[2])
    process = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    there = threading.Thread(
        target=carry, args=(0, process.stdin.fileno(), delay, rate), daemon=True
    )
    there.start()
    carry(process.stdout.fileno(), 1, delay, rate)
    process.wait()
    os._exit(process.returncode)


main()
