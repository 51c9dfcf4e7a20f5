# The binding of c/kernel/ringbuf.h, uprobe_trial.h and btf.h; part of _tracer.pyx.

cdef extern from "kernel/ringbuf.h" nogil:
    ctypedef struct pyusdt_kernel_ring "struct pyusdt_kernel_ring":
        pass

    ctypedef struct pyusdt_trimmed_string "struct pyusdt_trimmed_string":
        uint32_t clause, whole, offset, size

    ctypedef struct pyusdt_trimmed_strings "struct pyusdt_trimmed_strings":
        const pyusdt_trimmed_string *each
        size_t count

    int pyusdt_kernel_ring_open(int fd, uint64_t size, const pyusdt_trimmed_strings *cuts, pyusdt_kernel_ring **out,
                                pyusdt_error *err)
    void pyusdt_kernel_ring_close(pyusdt_kernel_ring *ring)
    const uint8_t *pyusdt_kernel_ring_read(pyusdt_kernel_ring *ring, size_t *size)


cdef extern from "kernel/btf.h" nogil:
    int64_t pyusdt_btf_function(const uint8_t *btf, size_t size, const char *name)
    int64_t pyusdt_btf_find(const uint8_t *btf, size_t size, uint32_t kind, const char *name)
    int64_t pyusdt_btf_type_offsets(const uint8_t *btf, size_t size, uint32_t *places, size_t room)
    int64_t pyusdt_btf_member(const uint8_t *btf, size_t size, const char *structure, const char *member)
    int64_t pyusdt_btf_size(const uint8_t *btf, size_t size, const char *structure)
    int pyusdt_btf_enumerator(const uint8_t *btf, size_t size, const char *name, int64_t *value)


cdef extern from "kernel/uprobe_trial.h" nogil:
    int pyusdt_uprobe_trial(int fd, size_t size, int *child)
    int pyusdt_uprobe_trial_is_over(int child)


cdef class KernelRing:
    """A ring buffer map of the kernel.  fd: of the map; size: its bytes; cuts: ascending (clause, bytes of its whole
    records, offset, size) of the strings that are truncated in it."""

    cdef pyusdt_kernel_ring *ring

    def __cinit__(self, int fd, uint64_t size, cuts=()):
        cdef pyusdt_error err
        cdef bytes packed = struct.pack(f"={4 * len(cuts)}I", *[number for cut in cuts for number in cut])
        cdef pyusdt_trimmed_strings given
        given.each, given.count = <const pyusdt_trimmed_string *><const char *>packed, len(cuts)
        cdef int code = pyusdt_kernel_ring_open(fd, size, &given, &self.ring, &err)
        if code < 0:
            raise failure(code, &err)

    def __dealloc__(self):
        pyusdt_kernel_ring_close(self.ring)

    def read_records(self):
        """The complete records, as bytes, in time order."""
        cdef size_t size
        cdef const uint8_t *records
        with nogil:
            records = pyusdt_kernel_ring_read(self.ring, &size)
        return (<const char *>records)[:size] if size else b""


def btf_function(bytes btf, str name):
    """The type id of a function in BTF, or None."""
    text = name.encode()
    cdef int64_t found = pyusdt_btf_function(<const uint8_t *><const char *>btf, len(btf), text)
    return found if found > 0 else None


def btf_find(bytes btf, uint32_t kind, str name):
    """The id of the type of this kind and name in BTF, or None."""
    text = name.encode()
    cdef int64_t found = pyusdt_btf_find(<const uint8_t *><const char *>btf, len(btf), kind, text)
    return found if found > 0 else None


def btf_places(bytes btf):
    """The offsets of the types in BTF, by their ids from 1 on: bytes, 4 for each; None if it is malformed."""
    cdef const uint8_t *data = btf
    cdef int64_t count = pyusdt_btf_type_offsets(data, len(btf), NULL, 0)
    if count < 0:
        return None
    cdef bytes places = bytes(4 * count)
    pyusdt_btf_type_offsets(data, len(btf), <uint32_t *><char *>places, count)
    return places


def btf_member(bytes btf, str structure, str member):
    """The offset in bytes of a struct's member in BTF, or None."""
    texts = structure.encode(), member.encode()
    cdef int64_t found = pyusdt_btf_member(<const uint8_t *><const char *>btf, len(btf), texts[0], texts[1])
    return found if found >= 0 else None


def btf_size(bytes btf, str structure):
    """How many bytes a struct in BTF takes, or None."""
    name = structure.encode()
    cdef int64_t found = pyusdt_btf_size(<const uint8_t *><const char *>btf, len(btf), name)
    return found if found >= 0 else None


def btf_enumerator(bytes btf, str name):
    """The value of an enumerator in BTF; None if there is none, or several of different values."""
    text = name.encode()
    cdef int64_t value = 0
    cdef int code = pyusdt_btf_enumerator(<const uint8_t *><const char *>btf, len(btf), text, &value)
    return value if code == 0 else None


def kernel_trial(int fd, size_t size):
    """Find where in a site the kernel puts a call that a forked child survives.

    The file begins with the site of `size` bytes.  (offset, 0: nowhere; a process for
    kernel_trial_ended()).  Close the descriptors that keep uprobes on the file in between.
    """
    cdef int found, child
    with nogil:
        found = pyusdt_uprobe_trial(fd, size, &child)
    return max(found, 0), child


def kernel_trial_ended(int child):
    """Whether that process has ended; to be called until it has, so that no zombie remains."""
    return bool(pyusdt_uprobe_trial_is_over(child))


cdef extern from "kernel/instructions.h" nogil:
    int PYUSDT_ALWAYS

    ctypedef struct pyusdt_range "struct pyusdt_range":
        uint64_t address, size

    int pyusdt_can_take_uprobe(int machine, const uint8_t *code, size_t left)
    size_t pyusdt_find_instructions(int machine, const uint8_t *code, size_t size, uint32_t *offsets, size_t room)

    size_t pyusdt_find_entered_functions(int machine, const uint8_t *code, size_t size, uint64_t address, const pyusdt_range *functions, size_t count,
                          pyusdt_range *found, size_t room)


cdef extern from "kernel/function_exits.h" nogil:
    int PYUSDT_EXIT_RETURN, PYUSDT_EXIT_JUMP, PYUSDT_EXIT_POINTER, PYUSDT_EXIT_TABLE, PYUSDT_EXIT_UNCLEAR

    ctypedef struct pyusdt_exit "struct pyusdt_exit":
        uint64_t target
        uint32_t offset
        int depth
        uint8_t kind, condition, entry

    int64_t pyusdt_find_function_exits(int machine, const uint8_t *code, size_t size, uint64_t address, int depth, int whole, pyusdt_exit *exits,
                         size_t room)


EXIT_RETURN, EXIT_JUMP, EXIT_POINTER, EXIT_TABLE, EXIT_UNCLEAR = (
    PYUSDT_EXIT_RETURN, PYUSDT_EXIT_JUMP, PYUSDT_EXIT_POINTER, PYUSDT_EXIT_TABLE, PYUSDT_EXIT_UNCLEAR)
EXIT_ALWAYS = PYUSDT_ALWAYS


def instruction_offsets(bytes code, int machine):
    """The offsets of the instructions, as bytes of array("I")."""
    cdef const uint8_t *data = code
    cdef size_t count, size = len(code)
    cdef bytes offsets = bytes(4 * size)
    cdef uint32_t *found = <uint32_t *><char *>offsets
    with nogil:
        count = pyusdt_find_instructions(machine, data, size, found, size)
    return offsets[: 4 * count]


def takes_uprobe(bytes code, int machine):
    """Whether a uprobe on the first instruction of the code leaves its effect unchanged; True if unknown."""
    return bool(pyusdt_can_take_uprobe(machine, code, len(code)))


def function_exits(bytes code, int machine, uint64_t address, int depth=0, bint whole=True):
    """[(offset, kind, condition, target, bytes of a table's entries, depth)] as in struct pyusdt_exit; None if an instruction
    is unknown."""
    cdef pyusdt_exit few[64]
    cdef pyusdt_exit *exits = few
    cdef const uint8_t *data = code
    cdef int64_t count
    cdef size_t size = len(code), room = 64
    cdef bytes more = b""
    while True:
        with nogil:
            count = pyusdt_find_function_exits(machine, data, size, address, depth, whole, exits, room)
        if count == -12:
            raise MemoryError
        if count < 0:
            return None
        if <size_t>count <= room:
            break
        more, room = bytes(count * sizeof(pyusdt_exit)), count
        exits = <pyusdt_exit *><char *>more
    return [(exits[i].offset, exits[i].kind, exits[i].condition, exits[i].target, exits[i].entry, exits[i].depth) for i in range(count)]


def entered_functions(bytes code, int machine, uint64_t address, bytes functions):
    """[(address inside of a function, number of the function that jumps there)]; functions: (address, size) of each, 8 bytes a number,
    ascending."""
    cdef const uint8_t *data = code
    cdef const pyusdt_range *ranges = <const pyusdt_range *><const char *>functions
    cdef size_t count = len(functions) // sizeof(pyusdt_range), found, room = 1024, size = len(code)
    cdef bytes places
    cdef pyusdt_range *into
    while True:
        places = bytes(room * sizeof(pyusdt_range))
        into = <pyusdt_range *><char *>places
        with nogil:
            found = pyusdt_find_entered_functions(machine, data, size, address, ranges, count, into, room)
        if found <= room:
            return [(into[i].address, into[i].size) for i in range(found)]
        room = found
