"""vm_threads.py ROUNDS: threads meet new functions for the first time at the same moment, and code goes meanwhile.

Prints as JSON how often the functions were called, by name."""

import json
import sys
import threading

ROUNDS = int(sys.argv[1])
THREADS, FUNCTIONS = 8, 10
SOURCE = "\n".join(f"def made{i}(): pass" for i in range(FUNCTIONS))


class Round:
    """The functions of one round, which are gone with it."""

    def __init__(self):
        self.functions = {}
        exec(compile(SOURCE, "made.py", "exec"), self.functions)  # noqa: S102
        self.barrier = threading.Barrier(THREADS)

    def run(self):
        made = [self.functions[f"made{i}"] for i in range(FUNCTIONS)]
        self.barrier.wait()
        for function in made:
            function()


def main():
    for _ in range(ROUNDS):
        threads = [threading.Thread(target=Round.run, args=(each,)) for each in [Round()] * THREADS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(json.dumps({f"made{i}": ROUNDS * THREADS for i in range(FUNCTIONS)}), flush=True)


main()
