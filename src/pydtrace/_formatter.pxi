# The binding of c/format/formatter.h; part of _tracer.pyx.

cdef extern from "format/formatter.h":
    enum:
        PYUSDT_FORMAT_QUIET
        PYUSDT_FORMAT_TESTING
        PYUSDT_FORMAT_RAWBYTES
        PYUSDT_FORMAT_FLOW
        PYUSDT_FORMAT_DONE
        PYUSDT_FORMAT_FULL
        PYUSDT_FORMAT_PROBE
        PYUSDT_FORMAT_ACTION
        PYUSDT_FORMAT_FAULT

    ctypedef struct pyusdt_text "struct pyusdt_text":
        char *data
        size_t size

    ctypedef struct pyusdt_format_place "struct pyusdt_format_place":
        size_t offset
        uint32_t action

    int pyusdt_formatter_new(const void *table, size_t size, unsigned flags, pyusdt_formatter **out, pyusdt_error *err)
    void pyusdt_formatter_free(pyusdt_formatter *f)
    void pyusdt_formatter_flags(pyusdt_formatter *f, unsigned flags)
    int pyusdt_format_probe(pyusdt_formatter *f, uint32_t id, const char *provider, const char *function,
                            const char *name)
    int pyusdt_format(pyusdt_formatter *f, const uint8_t *records, size_t size, pyusdt_format_place *place,
                      pyusdt_text *text)
    void pyusdt_text_free(pyusdt_text *text)


cdef class Formatter:
    """Turns records into dtrace's text.  table: of program/formatter_table.py; see c/format/formatter.h.

    feed() a buffer, then call next() until it says DONE.
    """

    DONE, FULL, PROBE, ACTION, FAULT = (PYUSDT_FORMAT_DONE, PYUSDT_FORMAT_FULL, PYUSDT_FORMAT_PROBE,
                                        PYUSDT_FORMAT_ACTION, PYUSDT_FORMAT_FAULT)
    QUIET, TESTING, RAWBYTES = PYUSDT_FORMAT_QUIET, PYUSDT_FORMAT_TESTING, PYUSDT_FORMAT_RAWBYTES

    cdef pyusdt_formatter *formatter
    cdef unsigned bits
    cdef pyusdt_text text
    cdef pyusdt_format_place place
    cdef bytes records

    def __cinit__(self, bytes table, unsigned flags):
        cdef pyusdt_error err
        cdef int code = pyusdt_formatter_new(<const char *>table, len(table), flags, &self.formatter, &err)
        if code < 0:
            raise failure(code, &err)
        self.records = b""
        self.bits = flags

    def __dealloc__(self):
        pyusdt_formatter_free(self.formatter)
        pyusdt_text_free(&self.text)

    def probe(self, uint32_t id, str provider, str function, str name):
        """Set the names of a probe."""
        p, f, n = provider.encode(), function.encode(), name.encode()
        cdef int code = pyusdt_format_probe(self.formatter, id, p, f, n)
        if code < 0:
            raise failure(code, NULL)

    def flags(self, bint quiet, bint rawbytes, bint flow):
        """Change how later records are printed."""
        self.bits &= ~<unsigned>(PYUSDT_FORMAT_QUIET | PYUSDT_FORMAT_RAWBYTES | PYUSDT_FORMAT_FLOW)
        self.bits |= (PYUSDT_FORMAT_QUIET if quiet else 0) | (PYUSDT_FORMAT_RAWBYTES if rawbytes else 0)
        self.bits |= PYUSDT_FORMAT_FLOW if flow else 0
        pyusdt_formatter_flags(self.formatter, self.bits)

    @staticmethod
    def text_only(bytes table):
        """A formatter of text only, without columns."""
        return Formatter(table, PYUSDT_FORMAT_QUIET)

    def feed(self, bytes records):
        """The records that next() goes through."""
        self.records = records
        memset(&self.place, 0, sizeof(self.place))

    def next(self):
        """(why it stopped, text, offset of the record it stopped at, index of the action); OSError if
        the records are damaged."""
        cdef const uint8_t *records = <const uint8_t *><const char *>self.records
        self.text.size = 0
        cdef int code = pyusdt_format(self.formatter, records, len(self.records), &self.place, &self.text)
        if code < 0:
            raise failure(code, NULL)
        text = self.text.data[:self.text.size] if self.text.size else b""
        return code, text, self.place.offset, self.place.action
