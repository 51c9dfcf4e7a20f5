# The parts of the API that must be atomic when a signal handler raises between any two steps.  Part of _tracer.pyx.

from libc.stdlib cimport calloc, free

import warnings


def fork_gated(list argv, tuple child, tuple parent, bint dies_alone):
    """Start a child that becomes the command argv (bytes) when the gate opens (c/session/gated_child.h); its pid.  OSError."""
    cdef pyusdt_gate gate
    gate.child[0], gate.child[1] = child
    gate.parent[0], gate.parent[1] = parent
    gate.dies_alone = dies_alone
    if not argv or any(b"\0" in word for word in argv):
        raise ValueError("a command has words, without NUL")
    cdef char **words = <char **>calloc(len(argv) + 1, sizeof(char *))
    if words is NULL:
        raise MemoryError
    for i, word in enumerate(argv):
        words[i] = <bytes>word
    cdef pid_t pid = pyusdt_gated_fork(words, &gate)
    free(words)
    if pid < 0:
        raise failure(pid, NULL)
    return pid


class Block:
    """A `with` block, of which a thread of its own does the work, so that it ends whatever happens here.

    _pump: None before the block, then a consumer.record_queue.DriverThread, or what has its `stopping`, is_mine(), is_running() and stop(), and a `queue`.  _enter() makes
    it and begins the work, _leave() waits for its end, _has_more() for a record.  Compiled, since a signal's handler may raise between any two steps of byte code,
    even before a function's first: what is on is asked to stop before anything of Python's runs.
    """

    _pump = None
    _was_left = False

    def __enter__(self):
        if self._pump is not None:
            raise RuntimeError("a tracing can be entered once")
        try:
            self._enter()
        except BaseException:
            self._was_left = True
            if self._pump is not None:
                self._pump.stopping = True
                self._pump.stop(_A_MOMENT)
            raise
        return self

    def __exit__(self, *exception):
        self._was_left = True
        if self._pump is None:
            raise RuntimeError("tracing has not begun: enter the `with` block first")
        self._pump.stopping = True
        try:
            self._leave(exception[0] if exception else None)
        except BaseException:
            self._pump.stop(_A_MOMENT)
            raise

    def __iter__(self):
        return self

    def __next__(self):
        """The next record; waits for it.  Ends with exit(), with the targets, and after the block.  One that was taken is given."""
        while True:
            if self._pump is not None and self._pump.queue.waiting:
                try:
                    return self._pump.queue.waiting.popleft()
                except IndexError:  # another thread was faster
                    continue
            if not self._has_more():
                raise StopIteration

    def __del__(self):
        if self._was_left or self._pump is None or not self._pump.is_mine():
            return
        self._pump.stopping = True
        warnings.warn(f"{self!r} was never left: begin it with `with`, or end it with stop()", ResourceWarning, source=self)


_A_MOMENT = 2.0  # s that a block which an exception interrupts waits for its end; then it comes by itself
