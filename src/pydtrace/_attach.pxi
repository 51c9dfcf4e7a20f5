# The binding of c/attach/: an entry in the pending calls of a CPython in another process; part of _tracer.pyx.

cdef extern from "attach/ring_entry.h" nogil:
    enum:
        PYUSDT_SLOT_SIZE
        PYUSDT_SLOT_REPORT
        PYUSDT_SLOT_MARK
        PYUSDT_SLOTS
        PYUSDT_RING_DONE
        PYUSDT_RING_LOCKED
        PYUSDT_RING_FULL
        PYUSDT_RING_NO_SLOT
        PYUSDT_RING_STARTING
        PYUSDT_RING_FINALIZING
        PYUSDT_RING_MISFIT
        PYUSDT_RING_GONE
        PYUSDT_RING_FAILED
        PYUSDT_STEP_NONE
        PYUSDT_STEP_TEXT
        PYUSDT_STEP_ENTERED

    ctypedef struct pyusdt_ring_target "struct pyusdt_ring_target":
        pyusdt_memory memory
        pyusdt_python_layout_numbers layout
        uint64_t runtime
        uint64_t function
        uint64_t slot[PYUSDT_SLOTS]
        uint32_t slots
        uint32_t choice
        uint32_t size
        bint takes_abandoned
        char text[PYUSDT_SLOT_REPORT]
        uint64_t used
        int step

    const char *const pyusdt_misfit_texts[]
    int pyusdt_ring_waits(const pyusdt_ring_target *target)


cdef extern from "attach/inject.h" nogil:
    enum:
        PYUSDT_INJECT_LIMIT
        PYUSDT_INJECT_PUT
        PYUSDT_INJECT_MEND
        PYUSDT_INJECT_WITHDRAW

    ctypedef struct pyusdt_image "struct pyusdt_image":
        uint64_t start_code, start_stack, start_brk

    ctypedef struct pyusdt_injected "struct pyusdt_injected":
        int error
        int result
        int misfit
        uint64_t used
        pid_t late
        char late_state
        uint32_t threads
        int64_t stood

    int pyusdt_image_read(pid_t pid, pyusdt_image *image)
    int pyusdt_inject(int what, int limit, pyusdt_ring_target *target, const pyusdt_image *image, pyusdt_injected *injected)


SLOT_SIZE, SLOT_REPORT, SLOT_MARK, MOST_SLOTS = PYUSDT_SLOT_SIZE, PYUSDT_SLOT_REPORT, PYUSDT_SLOT_MARK, PYUSDT_SLOTS
RING_DONE, RING_LOCKED, RING_FULL = PYUSDT_RING_DONE, PYUSDT_RING_LOCKED, PYUSDT_RING_FULL
RING_NO_SLOT, RING_STARTING = PYUSDT_RING_NO_SLOT, PYUSDT_RING_STARTING
RING_FINALIZING = PYUSDT_RING_FINALIZING
STEP_TEXT, STEP_ENTERED = PYUSDT_STEP_TEXT, PYUSDT_STEP_ENTERED
RING_MISFIT, RING_GONE, RING_FAILED = PYUSDT_RING_MISFIT, PYUSDT_RING_GONE, PYUSDT_RING_FAILED


def read_image(pid_t pid):
    """What tells the program of a process from another that it becomes by exec().  Raises OSError."""
    cdef pyusdt_image image
    cdef int code = pyusdt_image_read(pid, &image)
    if code < 0:
        raise failure(code, NULL)
    return (image.start_code, image.start_stack, image.start_brk)


cdef class RingEntry:
    """One call of ours in the pending calls of the CPython in a process.

    function: the address of PyRun_SimpleString; slots: addresses of SLOT_SIZE bytes each that a text may lie in, free or
    not.
    put(), mend() and withdraw() stop the threads of the process for a moment, which they have limit milliseconds to do.  They
    return (errno of stopping them or 0, RING_…, what does not fit or "", number of the threads, seconds that they stood,
    (the thread that did not stop in time, its state)), and raise OSError if no child process could do it; EINTR: the child
    was killed, and what it has done is not known.
    """

    cdef pyusdt_ring_target target
    cdef pyusdt_image image

    def __cinit__(self, Memory memory, dict layout, uint64_t runtime, uint64_t function, slots):
        memset(&self.target, 0, sizeof(self.target))
        self.target.memory = memory.memory
        self.target.memory.pidfd = -1
        if len(slots) > PYUSDT_SLOTS:
            raise ValueError(f"at most {PYUSDT_SLOTS} slots")
        for i in range(PYUSDT_PYTHON_NUMBERS):
            (<uint32_t *>&self.target.layout)[i] = layout[pyusdt_python_names[i].decode()]
        self.target.runtime, self.target.function = runtime, function
        for i, address in enumerate(slots):
            self.target.slot[i] = address
        self.target.slots = <uint32_t>len(slots)
        cdef int code = pyusdt_memory_open(memory.memory.pid, &self.target.memory)
        if code == 0:
            code = pyusdt_image_read(memory.memory.pid, &self.image)
        if code < 0:
            raise failure(code, NULL)
        if not memory.is_same_process():
            raise failure(-errno.ESRCH, NULL)

    def __dealloc__(self):
        if self.target.memory.pid:
            pyusdt_memory_close(&self.target.memory)

    @property
    def slot(self):
        """The address of the slot that has the text, 0: none yet."""
        return self.target.used

    @property
    def step(self):
        """How far the last put() has got: STEP_TEXT, STEP_ENTERED, or another number, if that is not known."""
        return self.target.step

    @property
    def slots(self):
        return [self.target.slot[i] for i in range(self.target.slots)]

    def put(self, int limit, uint32_t slot, bytes text, bint takes_abandoned=False):
        """The text goes into the slot of this number, if that is free.  takes_abandoned: also if a text is there that has
        run, or that no entry is for and that has not begun."""
        if not 0 < len(text) < PYUSDT_SLOT_REPORT or b"\0" in text or slot >= self.target.slots:
            raise ValueError("no such slot, or a text that does not fit into one")
        cdef pyusdt_ring_target target = self.target
        target.choice, target.used, target.step = slot, 0, PYUSDT_STEP_NONE
        target.takes_abandoned = takes_abandoned
        memset(target.text, 0, sizeof(target.text))
        memcpy(target.text, <const char *>text, len(text))
        target.size = <uint32_t>len(text)
        try:
            return self.change(PYUSDT_INJECT_PUT, limit, &target)
        finally:
            self.target.used, self.target.step = target.used, target.step

    def mend(self, int limit):
        """Sets the flags again, if the entry waits."""
        return self.change(PYUSDT_INJECT_MEND, limit, &self.target)

    def withdraw(self, int limit):
        """Takes the entry back, if it waits."""
        return self.change(PYUSDT_INJECT_WITHDRAW, limit, &self.target)

    def waits(self):
        """Whether the entry is in the ring; None: it cannot be read now."""
        cdef int code
        with nogil:
            code = pyusdt_ring_waits(&self.target)
        return None if code < 0 else bool(code)

    cdef change(self, int what, int limit, pyusdt_ring_target *target):
        cdef pyusdt_injected injected
        cdef int code
        with nogil:
            code = pyusdt_inject(what, limit, target, &self.image, &injected)
        if code < 0:
            raise failure(code, NULL)
        misfit = pyusdt_misfit_texts[injected.misfit].decode()
        late = (injected.late, chr(injected.late_state)) if injected.late else (0, "")
        return (-injected.error, injected.result, misfit, injected.threads, injected.stood / 1e9, late)


cdef extern from "shared/fsuid.h" nogil:
    ctypedef struct pyusdt_saved_fsuid "struct pyusdt_saved_fsuid":
        bint is_switched

    int pyusdt_fsuid_switch(uint32_t uid, uint32_t gid, pyusdt_saved_fsuid *saved)
    void pyusdt_fsuid_restore(const pyusdt_saved_fsuid *saved)


cdef class UserRights:
    """`with UserRights(uid, gid):` the thread has only this user's rights in file systems.  Raises OSError."""

    cdef uint32_t uid, gid
    cdef pyusdt_saved_fsuid saved

    def __cinit__(self, uint32_t uid, uint32_t gid):
        self.uid, self.gid = uid, gid

    def __enter__(self):
        cdef int code = pyusdt_fsuid_switch(self.uid, self.gid, &self.saved)
        if code < 0:
            raise failure(code, NULL)

    def __exit__(self, *_):
        pyusdt_fsuid_restore(&self.saved)


cdef extern from "attach/wake_socket.h" nogil:
    int pyusdt_wake_socket(pid_t pid, int fd, uint32_t uid, uint32_t gid)


def wake_socket(pid_t pid, int fd, uint32_t uid, uint32_t gid):
    """A NUL byte into a socket pair of a process's own, with a user's rights.  Raises OSError, if it is none."""
    cdef int code
    with nogil:
        code = pyusdt_wake_socket(pid, fd, uid, gid)
    if code < 0:
        raise failure(code, NULL)
