# Recordings of events, c/recording/recording.h: writing and reading them.


cdef class Recorder:
    """Writes what a session delivers to a file.

    fd: taken over; begun: ns; wall: ns, realtime minus monotonic clock; target: pid that is $target, or 0.
    """

    cdef pyusdt_recorder *recorder
    cdef Session session

    def __cinit__(self, int fd, Session session, uint64_t begun, uint64_t wall, uint32_t target, str host):
        cdef pyusdt_record_header header
        memset(&header, 0, sizeof(header))
        header.begun, header.wall, header.target = begun, wall, target
        header.pid, header.uid, header.gid = os.getpid(), os.getuid(), os.getgid()
        put(header.host, sizeof(header.host), host[:60])
        self.session = session
        cdef int code = pyusdt_recorder_new(fd, session.session, &header, &self.recorder)
        if code < 0:
            raise failure(code, NULL)

    def __dealloc__(self):
        if self.recorder is not NULL and self.session.session is not NULL:
            pyusdt_recorder_close(self.recorder, 0)

    def close(self, uint64_t time):
        """The end of the recording, at that time (ns); not while a Consumer records to it."""
        cdef int code = 0
        if self.recorder is not NULL:
            code = pyusdt_recorder_close(self.recorder, time)
            self.recorder = NULL
        if code < 0:
            raise failure(code, NULL)


cdef class Replay(Feed):
    """A recording, as a feed.  fd: taken over."""

    cdef pyusdt_replay *replay

    def __cinit__(self, int fd):
        cdef pyusdt_error err
        cdef int code = pyusdt_replay_open(fd, &self.replay, &err)
        if code < 0:
            raise failure(code, &err)
        self.feed = pyusdt_event_source(&pyusdt_replay_source_ops, self.replay)

    def __dealloc__(self):
        pyusdt_replay_close(self.replay)

    def read_header(self):
        """What the header says: a dict of begun, wall (ns), target, pid, uid, gid, host; and end (ns)."""
        cdef const pyusdt_record_header *header = pyusdt_replay_header(self.replay)
        return {"begun": header.begun, "wall": header.wall, "target": header.target, "pid": header.pid,
                "uid": header.uid, "gid": header.gid, "host": header.host.decode("utf-8", "replace"),
                "end": pyusdt_replay_end(self.replay)}

    def probes(self):
        """(pid, provider, module, function, name, …) of all probes, as list_probes() gives them."""
        out = []
        pyusdt_replay_list(self.replay, add_probe_row, <void *>out)
        return out

    def read_drops(self):
        """(events dropped, events out of order) so far."""
        cdef pyusdt_drops_block loss
        pyusdt_replay_drops(self.replay, &loss)
        return loss.dropped, loss.out_of_order

    def next_time(self):
        """The time (ns) of the next event, or None."""
        cdef uint64_t time
        return time if pyusdt_replay_next(self.replay, &time) else None

    @property
    def is_over(self):
        """All events have been delivered."""
        return bool(pyusdt_replay_is_over(self.replay))

    @property
    def damage(self):
        """Why the rest of the file is not read, or None."""
        cdef const char *why = pyusdt_replay_damage(self.replay)
        return None if why is NULL else why.decode()


FRAME_TARGETS = PYUSDT_FRAME_TARGETS


cdef class MergedReplay(Feed):
    """Recordings of many hosts, each of which comes in portions (c/recording/merged_replay.h); a Consumer takes events of the one that was chosen.
    share: how many processes of one host have names for their frames."""

    cdef pyusdt_merged *many
    cdef uint32_t sources

    def __cinit__(self, uint32_t share):
        cdef int code = pyusdt_merged_new(share, &self.many)
        if code < 0:
            raise failure(code, NULL)
        self.feed = pyusdt_event_source(&pyusdt_merged_source_ops, self.many)

    def __dealloc__(self):
        pyusdt_merged_free(self.many)

    cdef uint32_t check_source(self, uint32_t source) except? 0xFFFFFFFF:
        if source >= self.sources:
            raise LookupError(f"no recording {source}")
        return source

    def place(self, uint32_t target, uint32_t place):
        """target: the number that it has in words of frames."""
        return Feed.place(self, pyusdt_merged_target(self.many, target), place)

    def add(self, uint32_t host):
        """One more recording, of host 1, 2, …; its number."""
        cdef int code = pyusdt_merged_add(self.many, host)
        if code < 0:
            raise failure(code, NULL)
        self.sources += 1
        return code

    def put(self, uint32_t source, bytes data, int64_t shift):
        """The next portion; shift: ns to be added to its times from now on."""
        cdef int code = pyusdt_merged_put(self.many, self.check_source(source), <const char *>data, len(data), shift)
        if code < 0:
            raise failure(code, NULL)

    def unread_bytes(self, uint32_t source):
        """Bytes that were not read yet."""
        return pyusdt_merged_unread(self.many, self.check_source(source))

    def retained_bytes(self, uint32_t source):
        """Bytes of memory, about, that stay as long as this object: what it has told of probes and places."""
        return pyusdt_merged_memory(self.many, self.check_source(source))

    def finish(self, uint32_t source):
        """No portion comes any more; what was not read is dropped."""
        pyusdt_merged_finish(self.many, self.check_source(source))

    def target(self, uint32_t source):
        """The $target of there, or 0."""
        return pyusdt_merged_main_target(self.many, self.check_source(source))

    def next_time(self, uint32_t source):
        """The time (ns, by our clock) of the next event that has come, or None."""
        cdef uint64_t time
        return time if pyusdt_merged_next(self.many, self.check_source(source), &time) else None

    def last_time(self, uint32_t source):
        """The time of the event that was taken last."""
        return pyusdt_merged_last(self.many, self.check_source(source))

    def choose(self, uint32_t source):
        pyusdt_merged_select(self.many, self.check_source(source))

    def damage(self, uint32_t source):
        """Why the rest of it is not read, or None."""
        cdef const char *why = pyusdt_merged_damage(self.many, self.check_source(source))
        return None if why is NULL else why.decode()
