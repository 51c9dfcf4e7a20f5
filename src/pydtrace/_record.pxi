# Recordings of events, c/recording/recording.h: writing and reading them.


cdef class Recorder:
    """Writes the delivered events of a session to a file.

    fd: owned from now on; begun: ns; wall: ns, realtime minus monotonic clock; target: pid that is $target, or 0;
    paths: of the values in the events (dlang/types/value_paths.py).
    """

    cdef pyusdt_recorder *recorder
    cdef Session session

    def __cinit__(self, int fd, Session session, uint64_t begun, uint64_t wall, uint32_t target, str host,
                  bytes paths):
        cdef pyusdt_record_header header
        memset(&header, 0, sizeof(header))
        header.begun, header.wall, header.target = begun, wall, target
        header.pid, header.uid, header.gid = os.getpid(), os.getuid(), os.getgid()
        put(header.host, sizeof(header.host), host[:60])
        self.session = session
        cdef int code = pyusdt_recorder_new(fd, session.session, &header, <const char *>paths, len(paths),
                                            &self.recorder)
        if code < 0:
            raise failure(code, NULL)

    def __dealloc__(self):
        if self.recorder is not NULL and self.session.session is not NULL:
            pyusdt_recorder_close(self.recorder, 0)

    def close(self, uint64_t time):
        """End the recording, at that time (ns); not while a Consumer records to it."""
        cdef int code = 0
        if self.recorder is not NULL:
            code = pyusdt_recorder_close(self.recorder, time)
            self.recorder = NULL
        if code < 0:
            raise failure(code, NULL)


cdef class Replay(Feed):
    """A recording, as a feed.  fd: owned from now on."""

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
        """The header: a dict of begun, wall (ns), target, pid, uid, gid, host; and end (ns)."""
        cdef const pyusdt_record_header *header = pyusdt_replay_header(self.replay)
        return {"begun": header.begun, "wall": header.wall, "target": header.target, "pid": header.pid,
                "uid": header.uid, "gid": header.gid, "host": header.host.decode("utf-8", "replace"),
                "end": pyusdt_replay_end(self.replay)}

    def probes(self):
        """(pid, provider, module, function, name, …) of all probes, as list_probes() has them."""
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
    """Recordings of many hosts, each of which arrives in portions (c/recording/merged_replay.h).

    A Consumer gets events of the recording that choose() names.  share: how many processes of one host
    have names for their frames.
    """

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
        """target: its number in words of frames."""
        return Feed.place(self, pyusdt_merged_target(self.many, target), place)

    def add(self, uint32_t host):
        """Add a recording, of host 1, 2, …; its number."""
        cdef int code = pyusdt_merged_add(self.many, host)
        if code < 0:
            raise failure(code, NULL)
        self.sources += 1
        return code

    def put(self, uint32_t source, bytes data, int64_t shift):
        """Add the next portion; shift: ns to be added to its times from now on."""
        cdef int code = pyusdt_merged_put(self.many, self.check_source(source), <const char *>data, len(data), shift)
        if code < 0:
            raise failure(code, NULL)

    def unread_bytes(self, uint32_t source):
        """Bytes that are not read yet."""
        return pyusdt_merged_unread(self.many, self.check_source(source))

    def retained_bytes(self, uint32_t source):
        """Bytes of memory, about, for its probes and code locations, which stay as long as this object."""
        return pyusdt_merged_memory(self.many, self.check_source(source))

    def finish(self, uint32_t source):
        """End the recording: unread data are dropped."""
        pyusdt_merged_finish(self.many, self.check_source(source))

    def target(self, uint32_t source):
        """Its $target, or 0."""
        return pyusdt_merged_main_target(self.many, self.check_source(source))

    def next_time(self, uint32_t source):
        """The time (ns, by this host's clock) of the next event that has arrived, or None."""
        cdef uint64_t time
        return time if pyusdt_merged_next(self.many, self.check_source(source), &time) else None

    def last_time(self, uint32_t source):
        """The time of the event that was delivered last."""
        return pyusdt_merged_last(self.many, self.check_source(source))

    def choose(self, uint32_t source):
        pyusdt_merged_select(self.many, self.check_source(source))

    def damage(self, uint32_t source):
        """Why the rest of it is not read, or None."""
        cdef const char *why = pyusdt_merged_damage(self.many, self.check_source(source))
        return None if why is NULL else why.decode()
