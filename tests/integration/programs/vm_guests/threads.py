"""A thousand threads at once."""

import threading

from counting import in_threads, step, total

threading.stack_size(256 * 1024)
in_threads(1000, lambda: [step() for _ in range(10)])
total()
