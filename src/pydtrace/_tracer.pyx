# cython: language_level=3, binding=True, embedsignature=True, freethreading_compatible=True
"""The tracer's binding to the C core: sessions, the interpreter, the consumer.

Converts, calls and maps errors, nothing else.  Errors of the core are OSError with the core's own
message; -ENODATA (no pyusdt in a process) and -ESRCH and -EPERM tell the reasons of attach() apart.
Text goes in as str and comes out as str (file system encoding); names of probes are ASCII.
An object, and what it was given, is used by one thread at a time, with or without a GIL (poll() goes without):
the API's are the pump's.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memcmp, memcpy, memset

import errno
import os
import struct


BUILD = (<bytes>pyusdt_build_text()).decode()  # which one of pyusdt this is, for people
SHORTEST_SLEEP, LONGEST_SLEEP = PYUSDT_POLL_SHORTEST, PYUSDT_POLL_LONGEST  # ns, between two looks at the rings
HAS_PLACES, AT_PLACE = PYUSDT_PLACES_OPEN, PYUSDT_PLACES_KNOWN  # of the rows of list_probes()


cdef object failure(int code, pyusdt_error *err):
    """The exception for a core error: the one place where codes become exceptions."""
    message = text(err.message) if err is not NULL and err.message[0] else os.strerror(-code)
    return OSError(-code, message)


cdef int put(char *to, size_t size, text) except -1:
    data = text.encode()
    if len(data) >= size or b"\0" in data:
        raise ValueError(f"a probe name or pattern has at most {size - 1} bytes and no NUL: {text!r}")
    memset(to, 0, size)
    memcpy(to, <const char *>data, len(data))
    return 0


cdef object text(const char *name):
    """A name that may come from an untrusted process."""
    return name.decode("utf-8", "replace")


def glob(str pattern, str text):
    """True where DTrace's glob `pattern` matches the whole of `text`; an empty pattern matches all."""
    return bool(pyusdt_glob(os.fsencode(pattern), os.fsencode(text)))  # a file's name may be no UTF-8


cdef class VM:
    """The eBPF interpreter with its maps.

    maps: sequence of (kind number, key size, value size, entries), sizes in bytes.
    """

    cdef pyusdt_vm *vm
    cdef tuple sizes

    def __cinit__(self, maps):
        cdef pyusdt_error err
        room = bytearray(max(1, len(maps)) * sizeof(pyusdt_map_def))
        cdef pyusdt_map_def *defs = <pyusdt_map_def *><char *>room
        for i, (kind, key, value, entries) in enumerate(maps):
            defs[i] = pyusdt_map_def(kind, key, value, entries)
        self.sizes = tuple((m[1], m[2]) for m in maps)
        self.vm = pyusdt_vm_new(defs, <unsigned>len(maps), &err)
        if self.vm is NULL:
            raise failure(err.code, &err)

    def __dealloc__(self):
        pyusdt_vm_free(self.vm)

    def load(self, bytes code):
        """Check and load a program (8 bytes an instruction); its id."""
        cdef pyusdt_error err
        cdef int program = pyusdt_vm_load(self.vm, <const pyusdt_insn *><const char *>code,
                                          <unsigned>(len(code) // 8), &err)
        if program < 0:
            raise failure(program, &err)
        return program

    def items(self, unsigned map):
        """[(key, value)] of a hash map, as bytes."""
        cdef uint32_t cursor = 0
        cdef const void *key
        cdef void *value
        key_size, value_size = self.sizes[map]
        out = []
        while pyusdt_vm_map_next(self.vm, map, &cursor, &key, &value):
            out.append(((<const char *>key)[:key_size], (<const char *>value)[:value_size]))
        return out

    def value(self, unsigned map, uint32_t index):
        """The value of one element of an array map, as bytes."""
        cdef const char *value = <const char *>pyusdt_vm_map_value(self.vm, map, index)
        if value is NULL:
            raise IndexError(f"map {map} has no element {index}")
        return value[:self.sizes[map][1]]

    def update(self, unsigned map, bytes key, bytes value):
        """Set an element of a hash map; OSError where there is no room."""
        cdef int code = pyusdt_vm_map_update(self.vm, map, <const char *>key, <const char *>value, 0)
        if code < 0:
            raise failure(code, NULL)

    def put(self, unsigned map, uint32_t index, size_t offset, bytes value):
        """Write a part of one element of an array map."""
        cdef char *to = <char *>pyusdt_vm_map_value(self.vm, map, index)
        if to is NULL or offset + len(value) > self.sizes[map][1]:
            raise IndexError(f"map {map} has no such part of element {index}")
        memcpy(to + offset, <const char *>value, len(value))

    def delete(self, unsigned map, bytes key):
        """Take an element out of a hash map, if it is there."""
        pyusdt_vm_map_delete(self.vm, map, <const char *>key)

    def clear(self, unsigned map):
        """Empty a hash map, zero an array map."""
        pyusdt_vm_map_clear(self.vm, map)


cdef str foreign_name(bint visible, const char *comm):
    """The command of a process without a pid here; "" for all others, whose names the system knows."""
    return "" if visible else text(comm) or "?"


cdef int add_probe_row(void *arg, const pyusdt_target_info *target, const pyusdt_probe_info *probe) noexcept with gil:
    (<list>arg).append((target.pid, text(probe.provider), text(probe.module), text(probe.function),
                        text(probe.name), probe.nargs, probe.strings, probe.places, text(probe.signature), probe.sessions,
                        foreign_name(target.visible, target.comm)))
    return 0


cdef class Feed:
    """A source of events for a Consumer: a Session, a Replay, a MergedReplay."""

    cdef pyusdt_event_source feed

    def place(self, uint32_t target, uint32_t place):
        """(module, function, file, line) of a code location of a target; LookupError if there is none."""
        cdef pyusdt_place_info info
        if self.feed.of is NULL or self.feed.kind.place(self.feed.of, target, place, &info) != 0:
            raise LookupError(f"no place {place}")
        return text(info.module), text(info.function), text(info.file), info.line


cdef class Session(Feed):
    """One consumer's tracing of processes, through the run directory `rundir`, or that of process `home` (the user's own).

    bufsize: bytes of one ring; orderlag: ns to wait for an unfinished firing; 0: the defaults.
    comm: only processes of this name join.  children: the descendants of named processes join, too.
    keep: (name, ns, bytes) of a kept session, which continues without its tracer.
    """

    cdef pyusdt_session *session

    def __cinit__(self, rundir=None, uint64_t bufsize=0, uint64_t orderlag=0, comm="", keep=None, pid_t home=0, bint children=False):
        cdef pyusdt_session_config config
        cdef pyusdt_error err
        memset(&config, 0, sizeof(config))
        config.bufsize = bufsize
        config.orderlag_ns = orderlag
        config.home = home
        config.children = children
        encoded = os.fsencode(comm), os.fsencode(keep[0] if keep else "")
        config.comm, config.keep = encoded[0], encoded[1]
        if keep:
            config.keep_ns, config.keep_bytes = keep[1], keep[2]
        path = os.fsencode(rundir) if rundir is not None else None
        cdef const char *where = NULL if path is None else <const char *>path
        cdef int code = pyusdt_session_open(where, &config, &self.session, &err)
        if code < 0:
            raise failure(code, &err)
        self.feed = pyusdt_event_source(&pyusdt_session_source_ops, self.session)

    def __dealloc__(self):
        self.close()

    def want(self, str provider, str module, str function, str name, dict demand, uint32_t pid=0, bint counts=False,
             uint32_t frames=0, bint natives=False):
        """Add a description, before start(): matching probes are enabled.

        demand: {argument: bytes of its string to capture, 0: the value only}; other arguments are not
        read.  counts: only the number of firings at each code location is wanted (Consumer.run_counts()).
        frames: of the stack; natives: also as many native ones.
        """
        cdef pyusdt_want want
        memset(&want, 0, sizeof(want))
        want.pid, want.counts, want.frames = pid, counts, frames | (<uint32_t>natives << 31)
        put(want.provider, sizeof(want.provider), provider)
        put(want.module, sizeof(want.module), module)
        put(want.function, sizeof(want.function), function)
        put(want.name, sizeof(want.name), name)
        for argument, size in demand.items():
            want.args |= 1u << <int>argument
            want.bytes[<int>argument] = size
        cdef int code = pyusdt_session_want(self.session, &want)
        if code < 0:
            raise failure(code, NULL)

    def add_path(self, bytes path):
        """The number of the argument that is the value of a path at probes of code, before start()."""
        cdef int code = pyusdt_session_add_path(self.session, <const char *>path, len(path))
        if code < 0:
            raise failure(code, NULL)
        return code

    def attach(self, pid_t pid):
        """Let a running process join."""
        cdef pyusdt_error err
        cdef int code = pyusdt_session_attach_pid(self.session, pid, &err)
        if code < 0:
            raise failure(code, &err)

    def expect(self, pid_t pid):
        """Let a process join that is about to start, when it publishes itself."""
        cdef pyusdt_error err
        cdef int code = pyusdt_session_expect_pid(self.session, pid, &err)
        if code < 0:
            raise failure(code, &err)

    def attach_all(self):
        """Let every process of the run directory join, now and later."""
        cdef pyusdt_error err
        cdef int code = pyusdt_session_attach_all(self.session, &err)
        if code < 0:
            raise failure(code, &err)

    def start(self):
        cdef pyusdt_error err
        cdef int code = pyusdt_session_start(self.session, &err)
        if code < 0:
            raise failure(code, &err)

    def target(self, uint32_t index):
        """(pid, command, probes enabled, alive) of one target."""
        cdef pyusdt_target_info info
        cdef int code = pyusdt_session_target(self.session, index, &info)
        if code < 0:
            raise failure(code, NULL)
        return info.pid, info.comm.decode("utf-8", "replace"), info.wanted, bool(info.alive)

    def has_process(self, uint32_t pid):
        """Whether the process with this id is one of the targets, including those whose tracing has ended."""
        return pyusdt_session_has_process(self.session, pid)

    def stats(self):
        """Counters: delivered, dropped, out_of_order, again (events; the last: perhaps shown before by a
        kept session's former tracer), corrupt (rings), failures to read (processes, rings, directories),
        refusals (of processes to fire what is wanted), bytes of rings, targets (all so far), alive, others (processes with another build of pyusdt)."""
        cdef pyusdt_session_stats s
        pyusdt_session_stats_get(self.session, &s)
        return {"delivered": s.delivered, "dropped": s.dropped, "out_of_order": s.out_of_order, "again": s.again, "corrupt": s.corrupt,
                "failures": s.failures, "refusals": s.refusals, "bytes": s.bytes, "targets": s.targets, "alive": s.alive, "others": s.others}

    def read_user_work(self):
        """{uid: (work of the reader for the user's events, in units that compare users; processor time for the user's processes, s)} so far."""
        cdef pyusdt_user_work user
        cdef uint32_t n = 0
        found = {}
        while pyusdt_session_user_work(self.session, n, &user) == 0:
            work, seconds = found.get(user.uid, (0, 0.0))
            found[user.uid] = work + user.work, seconds + user.ns / 1e9
            n += 1
        return found

    def drop_user(self, uint32_t uid):
        """End the tracing of all processes of a user; their unread events are counted as drops."""
        pyusdt_session_stop_user(self.session, uid)

    def stop(self):
        """Disable the probes; earlier events stay readable."""
        pyusdt_session_stop(self.session)

    def close(self):
        pyusdt_session_close(self.session)
        self.session = self.feed.of = NULL

    def close_kept(self):
        """Close it, and let it continue: for sessions with `keep`."""
        pyusdt_session_leave(self.session)
        self.session = self.feed.of = NULL

    def mark_shown(self):
        """Mark the delivered events as shown to the user: for sessions with `keep`."""
        pyusdt_session_mark_shown(self.session)

    def read_warnings(self):
        """All warnings so far about processes that are not traced."""
        texts, n = [], 0
        while (text := pyusdt_session_warning(self.session, n)) != NULL:
            texts.append(text.decode("utf-8", "replace"))
            n += 1
        return texts

    def read_other_users_warnings(self):
        """(the first warnings about processes of other users and of containers that are not traced, the number of all)."""
        cdef uint32_t count = 0
        texts = []
        while (text := pyusdt_session_untrusted_warning(self.session, len(texts), &count)) != NULL:
            texts.append(text.decode("utf-8", "replace"))
        return texts, count

    def read_hints(self):
        """All remarks so far of processes about the wanted probes: (hints if none of these fired, texts
        for scripts that have self-> variables)."""
        cdef pyusdt_remark kind
        cdef uint32_t n = 0
        silent, shared = [], []
        while (text := pyusdt_session_hint(self.session, n, &kind)) != NULL:
            (silent if kind == PYUSDT_REMARK_HINT else shared).append(text.decode("utf-8", "replace"))
            n += 1
        return silent, shared

    @property
    def resumed(self):
        """Whether it is a kept session that continues."""
        return bool(pyusdt_session_is_resumed(self.session))

    def list_dead_probes(self):
        """The probes of processes that joined a kept session and have ended; as list_probes() has them."""
        out = []
        cdef int code = pyusdt_session_list_dead(self.session, add_probe_row, <void *>out)
        if code < 0:
            raise failure(code, NULL)
        return out


cdef class Pace:
    """How long a session's consumer sleeps between two polls of its rings."""

    cdef pyusdt_poll_pacing pace

    def __cinit__(self):
        self.pace = PYUSDT_POLL_BEGIN

    def next(self, int n, uint64_t now, bint crowded):
        """The sleep (ns) after a poll at `now` (ns) that found n events; crowded: and a ring that was more than half full."""
        return pyusdt_poll_next_sleep(&self.pace, n, now, crowded)


cdef class Formatter


cdef class Consumer:
    """Runs a program's clauses on events.

    clauses: how many; uses: set of "execname", "names", "wall"; this_area: (offset, size); stacks: (offset, frames, whether it
    is without native ones) of each.
    """

    cdef pyusdt_consumer *consumer
    cdef bint uses_ancestors
    cdef VM vm
    cdef Formatter formatter  # which the consumer uses

    def __cinit__(self, VM vm, uint32_t clauses, uses, this_area, stacks=()):
        cdef pyusdt_consumer_config config
        cdef pyusdt_error err
        bits = {"execname": PYUSDT_USES_EXECNAME, "names": PYUSDT_USES_NAMES, "wall": PYUSDT_USES_WALL,
                "ppid": PYUSDT_USES_PPID, "ancestors": PYUSDT_USES_ANCESTORS}
        config.clauses = clauses
        config.uses = sum(bits[use] for use in uses)
        config.this_offset, config.this_size = this_area
        memset(config.stack, 0, sizeof(config.stack))
        for i, (offset, frames, language) in enumerate(stacks):
            assert i < PYUSDT_STACKS
            config.stack[<int>i] = pyusdt_stack_area(offset, frames, language)
        self.uses_ancestors = "ancestors" in uses
        self.vm = vm
        cdef int code = pyusdt_consumer_new(vm.vm, &config, &self.consumer, &err)
        if code < 0:
            raise failure(code, &err)

    def __dealloc__(self):
        pyusdt_consumer_free(self.consumer)

    def set_clause(self, uint32_t index, int program, bint exits, bint pauses=False):
        """Clause `index` is this program of the vm; exits: it calls exit(); pauses: its records are to be
        seen before the next event."""
        cdef uint32_t flags = (PYUSDT_CLAUSE_EXITS if exits else 0) | (PYUSDT_CLAUSE_PAUSES if pauses else 0)
        cdef int code = pyusdt_consumer_set_clause(self.consumer, index, program, flags)
        if code < 0:
            raise failure(code, NULL)

    def set_count_program(self, uint32_t index, int program):
        """Clause `index` can be counted: this program has the effect of arg0 firings at once."""
        cdef int code = pyusdt_consumer_set_counting(self.consumer, index, program)
        if code < 0:
            raise failure(code, NULL)

    def add_description(self, uint32_t clause, str provider, str module, str function, str name):
        """Add a probe description of a clause, before any probe is added."""
        p, m, f, n = provider.encode(), module.encode(), function.encode(), name.encode()
        cdef pyusdt_probe_names names = pyusdt_probe_names(p, m, f, n)
        cdef int code = pyusdt_registry_describe(pyusdt_consumer_registry(self.consumer), clause, &names)
        if code < 0:
            raise failure(code, NULL)

    def add_probe(self, str provider, str module, str function, str name):
        """Register a probe; its id."""
        p, m, f, n = provider.encode(), module.encode(), function.encode(), name.encode()
        cdef pyusdt_probe_names names = pyusdt_probe_names(p, m, f, n)
        cdef int64_t probe = pyusdt_registry_add(pyusdt_consumer_registry(self.consumer), &names)
        if probe < 0:
            raise failure(<int>probe, NULL)
        return probe

    def add_targets(self, Feed feed):
        """Register the probes of the feed's targets."""
        cdef int code = pyusdt_consumer_add_targets(self.consumer, &feed.feed)
        if code < 0:
            raise failure(code, NULL)

    def probe(self, uint32_t probe):
        """(provider, module, function, name) of a probe id; LookupError if there is none."""
        cdef pyusdt_probe_names names
        if not pyusdt_registry_names(pyusdt_consumer_registry(self.consumer), probe, &names):
            raise LookupError(f"no probe {probe}")
        return text(names.provider), text(names.module), text(names.function), text(names.name)

    def probes(self):
        """How many probes are known; their ids are 1 to this."""
        return pyusdt_registry_count(pyusdt_consumer_registry(self.consumer))

    def fire(self, uint32_t probe, uint64_t time, uint32_t pid, uint32_t tid, uint32_t uid, uint32_t gid,
             uint32_t cpu, str comm, args=(), stack=(), uint32_t host=0):
        """Run the clauses of a probe on an event that is made here (BEGIN, END, tick); time in ns; args: numbers, and bytes that are the
        address of a text; stack: frames, as the clauses see them; host: as MergedReplay.add() has it."""
        cdef pyusdt_process who
        cdef pyusdt_event event
        memset(&who, 0, sizeof(who))
        memset(&event, 0, sizeof(event))
        who.pid, who.ppid, who.uid, who.gid, who.host = pid, os.getppid(), uid, gid, host
        if self.uses_ancestors:
            pyusdt_find_ancestors(&who)
        name = comm.encode("utf-8", "surrogateescape")[:15]
        memcpy(who.comm, <const char *>name, len(name))
        event.time, event.tid, event.cpu = time, tid, cpu
        event.args = (1u << <int>len(args)) - 1
        for i, value in enumerate(args):
            if isinstance(value, bytes):
                event.arg[<int>i] = <uint64_t><size_t><const char *>value
                event.capture[event.ncaptures].address, event.capture[event.ncaptures].data = event.arg[<int>i], <const char *>value
                event.capture[event.ncaptures].length, event.capture[event.ncaptures].index = <uint32_t>len(value), <uint32_t>i
                event.ncaptures += 1
            else:
                event.arg[<int>i] = <uint64_t>(value & 0xFFFFFFFFFFFFFFFF)
        frames = struct.pack(f"={len(stack)}Q", *stack)
        pyusdt_consumer_set_stack(self.consumer, <const uint64_t *><const char *>frames, <uint32_t>len(stack))
        pyusdt_consumer_fire(self.consumer, probe, &who, &event)

    def poll(self, Feed feed, uint64_t until, int max_events):
        """Run the clauses of at most max_events events that are ripe and not later than `until` (ns); the
        number of them."""
        cdef int n
        with nogil:
            n = pyusdt_consumer_poll(self.consumer, &feed.feed, until, max_events)
        if n < 0:
            raise failure(n, NULL)
        return n

    def run_counts(self, Feed feed):
        """Run the clauses on the counts that traced processes keep (counting in the target)."""
        pyusdt_consumer_run_counts(self.consumer, &feed.feed)

    def watch(self, Session session, Pace pace, uint64_t until, int max_events, uint64_t deadline):
        """Poll a session's rings until there are records, a clause calls exit(), or it is `deadline`: False.

        Or until it is `until` and all events before that were read: True.  (All ns, of the events' clock.)
        """
        cdef int code = PYUSDT_POLL_AGAIN
        while code == PYUSDT_POLL_AGAIN:
            PyErr_CheckSignals()
            with nogil:
                code = pyusdt_consumer_poll_paced(self.consumer, session.session, &pace.pace, until, max_events, deadline)
        if code < 0:
            raise failure(code, NULL)
        return code == PYUSDT_POLL_DUE

    def record(self, Recorder recorder):
        """Send every event to the recorder, too; None: to none."""
        pyusdt_consumer_set_recorder(self.consumer, NULL if recorder is None else recorder.recorder)

    def set_wall(self, uint64_t offset):
        """Set the difference between wall-clock time and the time of events (ns)."""
        pyusdt_consumer_set_wall(self.consumer, offset)

    def set_formatter(self, Formatter formatter):
        """Print records by this formatter immediately, if it can (c/consumer/record_buffer.h)."""
        self.formatter = formatter
        pyusdt_consumer_set_formatter(self.consumer, formatter.formatter)

    def take_records(self):
        """The records since the last call, as bytes."""
        cdef size_t size
        cdef const uint8_t *records = pyusdt_consumer_records(self.consumer, &size)
        out = (<const char *>records)[:size] if size else b""
        pyusdt_consumer_clear(self.consumer)
        return out

    @property
    def exiting(self):
        """A clause called exit()."""
        return bool(pyusdt_consumer_is_exiting(self.consumer))

    @property
    def truncated_stacks(self):
        """The number of events whose stack had more frames than were wanted."""
        return pyusdt_consumer_truncated_stacks(self.consumer)

    @property
    def dropped_records(self):
        """The number of records that did not fit."""
        return pyusdt_consumer_dropped(self.consumer)

    def stopped(self):
        """(n, reason): programs that the interpreter had to stop, which is a bug of the compiler."""
        cdef pyusdt_error err
        cdef uint64_t n = pyusdt_consumer_faults(self.consumer, &err)
        return n, err.message.decode("utf-8", "replace") if n else ""


@cython.no_gc_clear  # it needs the consumers until it is freed
cdef class ParallelConsumers:
    """Several consumers that share a session's events, a thread each (c/consumer/parallel_consumers.h), from now until close().

    consumers: the first has the descriptions and probes, the others have only their clauses; the session is not started yet."""

    cdef pyusdt_parallel *crew
    cdef object references

    def __cinit__(self, Session session, consumers):
        cdef pyusdt_consumer *each[PYUSDT_PARALLEL_MAX]
        cdef pyusdt_error err
        cdef int n = min(len(consumers), PYUSDT_PARALLEL_MAX + 1)
        for i, consumer in enumerate(consumers[:PYUSDT_PARALLEL_MAX]):
            each[<int>i] = (<Consumer?>consumer).consumer
        self.references = session, consumers
        cdef int code = pyusdt_parallel_new(session.session, each, n, &self.crew, &err)
        if code < 0:
            raise failure(code, &err)

    def close(self):
        """End the threads; the first consumer polls by itself."""
        pyusdt_parallel_free(self.crew)
        self.crew = NULL

    def __dealloc__(self):
        pyusdt_parallel_free(self.crew)


def list_probes(rundir=None, pid_t pid=0, bint beside=False):
    """The probes of the live processes of a run directory, or of one process.

    beside: and of the processes in the same directory.  A list of (pid, provider, module, function, name, number of
    arguments, bits of those that are strings, 1: it has code locations, 2: it is one of its locations, its signature
    (engine/probe_signatures.py), number of sessions that want it, "" or the process's command if its pid belongs to
    another pid namespace).
    """
    cdef pyusdt_error err
    out = []
    path = os.fsencode(rundir) if rundir is not None else None
    cdef const char *where = NULL if path is None else <const char *>path
    cdef int code = pyusdt_list_probes(where, pid, beside, add_probe_row, <void *>out, &err)
    if code < 0:
        raise failure(code, &err)
    return out


cdef void add_other_build(void *arg, uint32_t pid, const char *sentence) noexcept with gil:
    (<list>arg).append((pid, text(sentence)))


def other_builds():
    """Processes with a build of pyusdt that this one does not understand: a list of (their own pid, message)."""
    cdef pyusdt_error err
    out = []
    cdef int code = pyusdt_list_other_builds(add_other_build, <void *>out, &err)
    if code < 0:
        raise failure(code, &err)
    return out


cdef int add_usage(void *arg, const pyusdt_ring_usage *l) noexcept with gil:
    (<list>arg).append((l.pid, l.tracer, l.published, l.unread, l.room, l.lost, foreign_name(l.visible, l.comm)))
    return 0


def list_ring_usage():
    """The rings of all traced processes: a list of (pid, the tracer's own pid, bytes published, bytes of
    these that are unread, bytes of rings, drops, as the last of list_probes())."""
    cdef pyusdt_error err
    out = []
    cdef int code = pyusdt_read_ring_usage(add_usage, <void *>out, &err)
    if code < 0:
        raise failure(code, &err)
    return out


cdef int read_exceptions_file(void *arg, const pyusdt_exceptions_found *found) noexcept with gil:
    read, errors = <tuple>arg
    try:
        return bool(read(found.pid, found.starttime, found.is_alive != 0, os.fsdecode(found.name), found.fd))
    except BaseException as error:
        errors.append(error)
        return 1


def read_exceptions_files(pid_t pid, read):
    """Call read(pid, start time, whether it is alive, the file's name, a descriptor) for each process that keeps exceptions, or for
    this one (0: all), until it returns true."""
    cdef pyusdt_error err
    given = (read, [])
    cdef int code = pyusdt_each_exceptions_file(pid, read_exceptions_file, <void *>given, &err)
    if given[1]:
        raise given[1][0]
    if code < 0:
        raise failure(code, &err)


def find_published(pid_t pid):
    """(run directory, whether it has published itself) of a process with pyusdt.

    A forked child publishes itself with its first probe.  The path is only for people to read: the
    directory is opened by a descriptor.
    """
    cdef char path[512]
    cdef pyusdt_error err
    cdef int code = pyusdt_find_rundir(pid, path, sizeof(path), &err)
    if code < 0:
        raise failure(code, &err)
    return os.fsdecode(<bytes>path), code == 0


def find_rundir(pid_t pid):
    """The run directory of find_published()."""
    return find_published(pid)[0]


include "_record.pxi"
include "_formatter.pxi"
include "_kernel.pxi"
include "_stacks.pxi"
include "_attach.pxi"
include "_sparse.pxi"
include "_block.pxi"
