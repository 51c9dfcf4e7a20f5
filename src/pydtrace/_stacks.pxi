# The binding of c/pystack/: the memory of other processes, and the stacks of the CPythons in them; part of _tracer.pyx.

from libc.stdlib cimport free, malloc
from libcpp cimport bool as cbool

cdef extern from "pystack/remote_memory.h" nogil:
    ctypedef struct pyusdt_memory "struct pyusdt_memory":
        pid_t pid
        int pidfd

    int pyusdt_memory_open(pid_t pid, pyusdt_memory *memory)
    void pyusdt_memory_close(pyusdt_memory *memory)
    bint pyusdt_memory_is_same_process(const pyusdt_memory *memory)
    ctypedef struct pyusdt_memory_part "struct pyusdt_memory_part":
        uint64_t address
        void *to
        size_t size

    int pyusdt_memory_read(const pyusdt_memory *memory, uint64_t address, void *to, size_t size)
    void pyusdt_memory_read_each(const pyusdt_memory *memory, const pyusdt_memory_part *parts, size_t n, cbool *read)


cdef extern from "pystack/cpython_offsets.h" nogil:
    enum:
        PYUSDT_PYTHON_NUMBERS
        PYUSDT_PYTHON_WORDS

    ctypedef struct pyusdt_python_layout_numbers "struct pyusdt_python_layout":
        uint32_t minor

    const char *const pyusdt_python_names[]
    int pyusdt_python_layout(uint32_t minor, pyusdt_python_layout_numbers *out)
    int pyusdt_python_layout_told(const uint64_t *words, pyusdt_python_layout_numbers *out)


cdef extern from "pystack/python_walk.h" nogil:
    enum:
        PYUSDT_STACK_GIL
        PYUSDT_STACK_MOVED
        PYUSDT_STACK_TORN
        PYUSDT_STACK_CUT
        PYUSDT_STACK_LOST
        PYUSDT_STACK_RAN
        PYUSDT_FRAME_FIRST
        PYUSDT_FRAME_ADDRESS

    ctypedef struct pyusdt_walker "struct pyusdt_walker":
        pass

    pyusdt_walker *pyusdt_walker_new(const pyusdt_memory *memory, const pyusdt_python_layout_numbers *layout, uint64_t runtime,
                                     uint32_t frames, uint32_t tries, bint entries, bint addresses)
    void pyusdt_walker_free(pyusdt_walker *walker)
    int pyusdt_walk(pyusdt_walker *walker, const uint64_t *skip, size_t nskip, const uint64_t **words, size_t *n)
    uint32_t pyusdt_walker_threads(const pyusdt_walker *walker)


cdef extern from "pystack/thread_states.h" nogil:
    ctypedef struct pyusdt_thread_states "struct pyusdt_thread_states":
        pass

    pyusdt_thread_states *pyusdt_thread_states_new(pid_t pid, size_t limit)
    void pyusdt_thread_states_free(pyusdt_thread_states *states)
    void pyusdt_thread_states_read(pyusdt_thread_states *states, const pid_t *tids, size_t n, char *letters)


cdef extern from "pystack/code_identities.h" nogil:
    ctypedef struct pyusdt_code_identity "struct pyusdt_code_identity":
        uint16_t size
        uint8_t *bytes

    ctypedef struct pyusdt_identities "struct pyusdt_identities":
        pass

    int pyusdt_identities_read(pyusdt_identities *ids, const uint64_t *codes, size_t n, pyusdt_code_identity *found)
    int pyusdt_identities_confirm(pyusdt_identities *ids, uint64_t code, const uint8_t *bytes, size_t size)
    void pyusdt_identities_forget(pyusdt_identities *ids, uint64_t code)
    void pyusdt_identities_forget_all(pyusdt_identities *ids)


cdef extern from "pystack/stack_counts.h" nogil:
    enum:
        PYUSDT_STACK_COUNTS_HEAD

    ctypedef struct pyusdt_stack_counts "struct pyusdt_stack_counts":
        uint64_t *words
        size_t *begins
        uint32_t nstacks
        uint64_t *samples
        double *times
        uint32_t nsamples

    bint pyusdt_stack_counts_is_full(const pyusdt_stack_counts *counts)
    void pyusdt_stack_counts_clear(pyusdt_stack_counts *counts)


cdef extern from "pystack/stack_looks.h" nogil:
    enum:
        PYUSDT_LOOK_RUNNING
        PYUSDT_LOOK_GIL
        PYUSDT_LOOK_ALL
        PYUSDT_LOOK_DONE
        PYUSDT_LOOK_THREADS
        PYUSDT_LOOK_STACKS

    ctypedef struct pyusdt_look_options "struct pyusdt_look_options":
        int which
        cbool threads, stop, is_child, lines, counts
        uint32_t tries

    ctypedef struct pyusdt_look_thread "struct pyusdt_look_thread":
        uint64_t thread, id, native
        pid_t tid

    ctypedef struct pyusdt_looker "struct pyusdt_looker":
        pass

    pyusdt_looker *pyusdt_looker_new(const pyusdt_memory *memory, const pyusdt_python_layout_numbers *layout, pyusdt_walker *walker,
                                     pyusdt_thread_states *states, const pyusdt_look_options *options)
    void pyusdt_looker_free(pyusdt_looker *looker)
    int pyusdt_looker_set_threads(pyusdt_looker *looker, const pyusdt_look_thread *threads, size_t n)
    int pyusdt_look(pyusdt_looker *looker, bint go_on, const uint64_t **words, size_t *n)
    const char *pyusdt_looker_letters(const pyusdt_looker *looker, size_t *n)
    size_t pyusdt_looker_stopped(const pyusdt_looker *looker, pid_t *tids, size_t most)
    pyusdt_identities *pyusdt_looker_identities(pyusdt_looker *looker)
    pyusdt_stack_counts *pyusdt_looker_counts(pyusdt_looker *looker)


cdef extern from "pystack/look_rounds.h" nogil:
    ctypedef struct pyusdt_look_rounds_state "struct pyusdt_look_rounds":
        int64_t next, period
        uint64_t rounds, missed
        size_t at

    int64_t pyusdt_look_now()
    int pyusdt_look_rounds(pyusdt_look_rounds_state *rounds, pyusdt_looker **lookers, size_t n, int64_t until,
                           const uint64_t **words, size_t *nwords)


cdef extern from "pystack/ptrace_stop.h" nogil:
    enum:
        PYUSDT_STOP_REGISTERS
        PYUSDT_STOP_MAX

    ctypedef struct pyusdt_stopped "struct pyusdt_stopped":
        pid_t tid
        int result
        uint64_t registers[PYUSDT_STOP_REGISTERS]

    int pyusdt_stop_threads(const pyusdt_memory *memory, bint is_child, pyusdt_stopped *threads, size_t n)
    void pyusdt_resume_threads(pyusdt_stopped *threads, size_t n)
    pid_t pyusdt_stop_holder()


cdef extern from "pystack/ptrace_holder.h" nogil:
    enum:
        PYUSDT_HOLDER_LIMIT

    void pyusdt_holder_stand_apart()


STACK_GIL, STACK_MOVED, STACK_TORN = PYUSDT_STACK_GIL, PYUSDT_STACK_MOVED, PYUSDT_STACK_TORN
STACK_CUT, STACK_LOST, STACK_RAN = PYUSDT_STACK_CUT, PYUSDT_STACK_LOST, PYUSDT_STACK_RAN
FRAME_FIRST = PYUSDT_FRAME_FIRST
FRAME_ADDRESS = PYUSDT_FRAME_ADDRESS
LOOK_RUNNING, LOOK_GIL, LOOK_ALL = PYUSDT_LOOK_RUNNING, PYUSDT_LOOK_GIL, PYUSDT_LOOK_ALL
LOOK_DONE, LOOK_THREADS, LOOK_STACKS = PYUSDT_LOOK_DONE, PYUSDT_LOOK_THREADS, PYUSDT_LOOK_STACKS
MOST_STOPPED = PYUSDT_STOP_MAX
HOLD_LIMIT = PYUSDT_HOLDER_LIMIT / 1000.0  # seconds
LAYOUT_SIZE = 8 * PYUSDT_PYTHON_WORDS


def python_layout(uint32_t minor):
    """{name: offset} of CPython 3.`minor`, and "minor" itself: c/pystack/cpython_offsets.h.  OSError if it is unknown."""
    cdef pyusdt_python_layout_numbers layout
    cdef int code = pyusdt_python_layout(minor, &layout)
    if code < 0:
        raise failure(code, NULL)
    return layout_names(&layout)


def python_layout_from_words(bytes words):
    """The same by the first LAYOUT_SIZE bytes of the _PyRuntime of 3.13 and later."""
    cdef pyusdt_python_layout_numbers layout
    if len(words) != LAYOUT_SIZE:
        raise ValueError(f"{LAYOUT_SIZE} bytes are needed")
    cdef int code = pyusdt_python_layout_told(<const uint64_t *><const char *>words, &layout)
    if code < 0:
        raise failure(code, NULL)
    return layout_names(&layout)


cdef layout_names(const pyusdt_python_layout_numbers *layout):
    return {pyusdt_python_names[i].decode(): (<const uint32_t *>layout)[i] for i in range(PYUSDT_PYTHON_NUMBERS)}


cdef int set_layout(pyusdt_python_layout_numbers *numbers, dict layout) except -1:
    for i in range(PYUSDT_PYTHON_NUMBERS):
        (<uint32_t *>numbers)[i] = layout[pyusdt_python_names[i].decode()]
    return 0


cdef class Memory:
    """The memory of the process that has this id at the moment.  Raises OSError."""

    cdef pyusdt_memory memory

    def __cinit__(self, pid_t pid):
        self.memory.pidfd = -1
        cdef int code = pyusdt_memory_open(pid, &self.memory)
        if code < 0:
            raise failure(code, NULL)

    def __dealloc__(self):
        pyusdt_memory_close(&self.memory)

    @property
    def pid(self):
        return self.memory.pid

    def is_same_process(self):
        """Whether the process still lives, so that everything that was read is its memory."""
        return bool(pyusdt_memory_is_same_process(&self.memory))

    def read(self, address, size_t size):
        """All of the bytes; OSError if they do not exist, or may not be read.  An address may be untrusted."""
        cdef uint64_t where = address & 0xFFFFFFFFFFFFFFFF
        cdef char *buffer = <char *>malloc(size + 1)
        cdef int code
        if buffer is NULL:
            raise MemoryError
        try:
            with nogil:
                code = pyusdt_memory_read(&self.memory, where, buffer, size)
            if code < 0:
                raise failure(code, NULL)
            return buffer[:size]
        finally:
            free(buffer)


    def read_each(self, addresses, size_t size):
        """[so many bytes at each address, or None if not all of them exist], by few system calls."""
        cdef size_t n = len(addresses)
        cdef char *buffer = <char *>malloc(n * size + 1)
        cdef pyusdt_memory_part *parts = <pyusdt_memory_part *>malloc((n + 1) * sizeof(pyusdt_memory_part))
        cdef cbool *read = <cbool *>malloc(n + 1)
        cdef size_t i
        try:
            if buffer is NULL or parts is NULL or read is NULL:
                raise MemoryError
            for i, address in enumerate(addresses):
                parts[i].address, parts[i].to, parts[i].size = address & 0xFFFFFFFFFFFFFFFF, buffer + i * size, size
            with nogil:
                pyusdt_memory_read_each(&self.memory, parts, n, read)
            return [buffer[i * size : (i + 1) * size] if read[i] else None for i in range(n)]
        finally:
            free(buffer)
            free(parts)
            free(read)

    def has_same(self, reads):
        """Whether the memory has these bytes now, by few system calls: [(address, bytes)]."""
        cdef size_t n = len(reads), size = 0, i
        cdef char *buffer = NULL
        cdef pyusdt_memory_part *parts = <pyusdt_memory_part *>malloc((n + 1) * sizeof(pyusdt_memory_part))
        cdef cbool *read = <cbool *>malloc(n + 1)
        cdef bytes data
        try:
            for _, data in reads:
                size += len(data)
            buffer = <char *>malloc(size + 1)
            if buffer is NULL or parts is NULL or read is NULL:
                raise MemoryError
            size = 0
            for i, (address, data) in enumerate(reads):
                parts[i].address, parts[i].to, parts[i].size = address & 0xFFFFFFFFFFFFFFFF, buffer + size, len(data)
                size += len(data)
            with nogil:
                pyusdt_memory_read_each(&self.memory, parts, n, read)
            for i, (_, data) in enumerate(reads):
                if len(data) and (not read[i] or memcmp(parts[i].to, <const char *>data, len(data)) != 0):
                    return False
            return True
        finally:
            free(buffer)
            free(parts)
            free(read)


def stop_threads(Memory memory, tids, is_child):
    """Stop at most MOST_STOPPED threads, until continue_threads() or for HOLD_LIMIT (c/pystack/ptrace_stop.h).

    ({thread: its registers, by their numbers in DWARF, the position last}, {thread: errno}); EAGAIN: the
    thread will stop later, for as long.  Raises OSError.  Only one thread may call this and
    continue_threads().  is_child: this process has started the other one.
    """
    cdef bint child = is_child
    cdef size_t n = len(tids)
    cdef pyusdt_stopped *threads = stopped_of(tids)
    cdef int code
    try:
        with nogil:
            code = pyusdt_stop_threads(&memory.memory, child, threads, n)
        if code < 0:
            raise failure(code, NULL)
        found = [(threads[i].tid, threads[i].result, [threads[i].registers[k] for k in range(threads[i].result)]) for i in range(n)]
    finally:
        free(threads)
    return ({tid: registers for tid, result, registers in found if result > 0}, {tid: -result for tid, result, _ in found if result < 0})


def continue_threads(tids):
    """Let the threads run; {threads that were stopped all the time since stop_threads()}."""
    cdef size_t n = len(tids)
    cdef pyusdt_stopped *threads = stopped_of(tids)
    try:
        with nogil:
            pyusdt_resume_threads(threads, n)
        return {threads[i].tid for i in range(n) if threads[i].result}
    finally:
        free(threads)


def find_holder():
    """The id of the process that holds the threads; 0: none."""
    return pyusdt_stop_holder()


def leave_control_groups():
    """Leave the control groups of this process and raise its priority, as far as its rights permit."""
    pyusdt_holder_stand_apart()


cdef pyusdt_stopped *stopped_of(tids) except NULL:
    cdef pyusdt_stopped *threads = <pyusdt_stopped *>malloc((len(tids) + 1) * sizeof(pyusdt_stopped))
    if threads is NULL:
        raise MemoryError
    for i, tid in enumerate(tids):
        threads[i].tid, threads[i].result = tid, 0
    return threads


cdef class Walker:
    """The Python stacks of a process.

    layout: of python_layout(); runtime: the address of _PyRuntime; frames: of a thread, at most; tries:
    how often a stack is read until it does not change; entries: with the C data of each call of the
    interpreter; addresses: with the address of each frame.
    """

    cdef pyusdt_walker *walker
    cdef Memory memory

    def __cinit__(self, Memory memory, dict layout, uint64_t runtime, uint32_t frames, uint32_t tries, bint entries=False,
                  bint addresses=False):
        cdef pyusdt_python_layout_numbers numbers
        set_layout(&numbers, layout)
        self.memory = memory
        self.walker = pyusdt_walker_new(&memory.memory, &numbers, runtime, frames, tries, entries, addresses)
        if self.walker is NULL:
            raise ValueError("no memory, or offsets that cannot be")

    def __dealloc__(self):
        pyusdt_walker_free(self.walker)

    def walk(self, skip=()):
        """The words of struct pyusdt_walked and behind it two words a frame, for each thread, as bytes.  skip: addresses of
        PyThreadStates that are left out, sorted.  Raises OSError."""
        cdef const uint64_t *words
        cdef size_t n, nskip = len(skip)
        cdef uint64_t *skipped = <uint64_t *>malloc((nskip + 1) * sizeof(uint64_t))
        cdef int code
        if skipped is NULL:
            raise MemoryError
        try:
            for i in range(nskip):
                skipped[i] = skip[i]
            with nogil:
                code = pyusdt_walk(self.walker, skipped, nskip, &words, &n)
        finally:
            free(skipped)
        if code < 0:
            raise failure(code, NULL)
        return (<const char *>words)[:8 * n] if n else b""

    @property
    def thread_count(self):
        """How many threads the last walk met, skipped ones among them."""
        return pyusdt_walker_threads(self.walker)


cdef class ThreadStates:
    """What the threads of a process do: letters of /proc/PID/task/TID/stat.  limit: files that stay open."""

    cdef pyusdt_thread_states *states

    def __cinit__(self, pid_t pid, size_t limit):
        self.states = pyusdt_thread_states_new(pid, limit)
        if self.states is NULL:
            raise MemoryError

    def __dealloc__(self):
        pyusdt_thread_states_free(self.states)

    def read(self, tids):
        """The letters of these threads in their order, as bytes; 0: it is not there."""
        cdef size_t n = len(tids)
        cdef pid_t *ids = <pid_t *>malloc((n + 1) * sizeof(pid_t))
        cdef char *letters = <char *>malloc(n + 1)
        try:
            if ids is NULL or letters is NULL:
                raise MemoryError
            for i, tid in enumerate(tids):
                ids[i] = tid
            with nogil:
                pyusdt_thread_states_read(self.states, ids, n, letters)
            return letters[:n]
        finally:
            free(ids)
            free(letters)


cdef class Looker:
    """Looks at the stacks of a process (c/pystack/stack_looks.h).

    which: LOOK_RUNNING, …; threads: set_threads() is needed; stop: threads that run are stopped while they are read; is_child:
    this process has started that one; lines: positions tell stacks apart; counts: stacks whose code is confirmed are counted.
    """

    cdef pyusdt_looker *looker
    cdef Memory memory
    cdef Walker walker
    cdef ThreadStates states
    cdef uint32_t taken  # stacks

    def __cinit__(self, Memory memory, dict layout, Walker walker, ThreadStates states, int which, bint threads, bint stop,
                  bint is_child, bint lines, bint counts, uint32_t tries):
        cdef pyusdt_python_layout_numbers numbers
        cdef pyusdt_look_options options = pyusdt_look_options(which, threads, stop, is_child, lines, counts, tries)
        set_layout(&numbers, layout)
        self.memory, self.walker, self.states = memory, walker, states
        self.looker = pyusdt_looker_new(&memory.memory, &numbers, walker.walker, states.states, &options)
        if self.looker is NULL:
            raise ValueError("no memory, or offsets that cannot be")

    def __dealloc__(self):
        pyusdt_looker_free(self.looker)

    def close(self):
        """Threads that were late go on; the object is of no use any more."""
        pyusdt_looker_free(self.looker)
        self.looker = NULL

    def set_threads(self, threads):
        """threads: sorted (address, id, native, thread of the kernel); take_counts() has to be called before."""
        cdef size_t n = len(threads)
        cdef pyusdt_look_thread *rows = <pyusdt_look_thread *>malloc((n + 1) * sizeof(pyusdt_look_thread))
        cdef int code
        if rows is NULL:
            raise MemoryError
        try:
            for i, (address, ident, native, tid) in enumerate(threads):
                rows[i] = pyusdt_look_thread(address, ident, native, tid)
            code = pyusdt_looker_set_threads(self.looker, rows, n)
        finally:
            free(rows)
        if code < 0:
            raise MemoryError

    def look(self, bint go_on):
        """(LOOK_DONE or what is to be done, words as those of Walker.walk()).  go_on: threads that are not known stay so.  Raises OSError."""
        cdef const uint64_t *words
        cdef size_t n
        cdef int code
        with nogil:
            code = pyusdt_look(self.looker, go_on, &words, &n)
        if code < 0:
            raise failure(code, NULL)
        return code, (<const char *>words)[:8 * n] if n else b""

    @property
    def letters(self):
        """What the threads did at the beginning of the last look, in the order of set_threads()."""
        cdef size_t n
        cdef const char *letters = pyusdt_looker_letters(self.looker, &n)
        return letters[:n]

    @property
    def stopped(self):
        """The threads that were stopped all the time while they were read."""
        cdef pid_t tids[PYUSDT_STOP_MAX]
        cdef size_t n = pyusdt_looker_stopped(self.looker, tids, PYUSDT_STOP_MAX)
        return [tids[i] for i in range(n)]

    def read_identities(self, codes):
        """[the identity of each code object now, or None if there is none]."""
        cdef size_t n = len(codes)
        cdef uint64_t *addresses = <uint64_t *>malloc((n + 1) * sizeof(uint64_t))
        cdef pyusdt_code_identity *found = <pyusdt_code_identity *>malloc((n + 1) * sizeof(pyusdt_code_identity))
        cdef int code
        try:
            if addresses is NULL or found is NULL:
                raise MemoryError
            for i, address in enumerate(codes):
                addresses[i] = address
            with nogil:
                code = pyusdt_identities_read(pyusdt_looker_identities(self.looker), addresses, n, found)
            if code < 0:
                raise MemoryError
            return [(<const char *>found[i].bytes)[:found[i].size] if found[i].size else None for i in range(n)]
        finally:
            free(addresses)
            free(found)

    def confirm_code(self, uint64_t code, bytes identity):
        """Stacks with this code object are counted while it has this identity."""
        pyusdt_identities_confirm(pyusdt_looker_identities(self.looker), code, identity, len(identity))

    def forget_code(self, uint64_t code):
        pyusdt_identities_forget(pyusdt_looker_identities(self.looker), code)

    def forget_all(self):
        """No code object is confirmed any more."""
        pyusdt_identities_forget_all(pyusdt_looker_identities(self.looker))

    def take_counts(self):
        """([(flags, words of frames) of each stack that is new], samples, times): each sample is a word, number of the thread << 32 |
        number of the stack since clear_counts()."""
        cdef pyusdt_stack_counts *counts = pyusdt_looker_counts(self.looker)
        cdef const uint64_t *words
        stacks = []
        while self.taken < counts.nstacks:
            words = counts.words + counts.begins[self.taken]
            stacks.append((words[0], (<const char *>(words + PYUSDT_STACK_COUNTS_HEAD))[: 16 * words[1]]))
            self.taken += 1
        samples = (<const char *>counts.samples)[: 8 * counts.nsamples]
        times = (<const char *>counts.times)[: 8 * counts.nsamples]
        counts.nsamples = 0
        return stacks, samples, times

    @property
    def is_full(self):
        """Whether clear_counts() is due."""
        return bool(pyusdt_stack_counts_is_full(pyusdt_looker_counts(self.looker)))

    def clear_counts(self):
        """Numbers of stacks begin anew."""
        pyusdt_stack_counts_clear(pyusdt_looker_counts(self.looker))
        self.taken = 0


cdef class LookRounds:
    """Rounds of looks, `hz` times a second, whatever a round takes (c/pystack/look_rounds.h)."""

    cdef pyusdt_look_rounds_state state

    def __cinit__(self, double hz):
        self.state.period = <int64_t>(1e9 / hz)
        self.state.next = pyusdt_look_now()

    def run(self, list lookers, double seconds):
        """Waits for the next round, and does those of the next `seconds` by the lookers.

        (LOOK_DONE, 0, b""): a round of the caller's is due.  (step, number of the looker, words): as Looker.look(), or a negative errno
        as the step: the rest of this round is the caller's.
        """
        cdef const uint64_t *words = NULL
        cdef size_t nwords = 0, n = len(lookers)
        cdef int64_t until = pyusdt_look_now() + <int64_t>(seconds * 1e9)
        cdef pyusdt_looker **all = <pyusdt_looker **>malloc((n + 1) * sizeof(pyusdt_looker *))
        cdef int code
        if all is NULL:
            raise MemoryError
        try:
            for i, looker in enumerate(lookers):
                all[i] = (<Looker?>looker).looker
            while True:
                with nogil:
                    code = pyusdt_look_rounds(&self.state, all, n, until, &words, &nwords)
                if code != -errno.EINTR:
                    break
                PyErr_CheckSignals()
                until = 0  # the caller hears of it
            return code, self.state.at, (<const char *>words)[:8 * nwords] if nwords else b""
        finally:
            free(all)

    def take_rounds(self):
        """(rounds of the lookers, rounds for which there was no time) since the last call."""
        found = self.state.rounds, self.state.missed
        self.state.rounds = self.state.missed = 0
        return found
