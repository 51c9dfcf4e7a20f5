# Words of distributions in lines of JSON (aggregation/merge_values.py): the first words, then the number
# of each bucket that is not empty, and its count.  Part of _tracer.pyx.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.long cimport PyLong_CheckExact
from libc.stdlib cimport calloc, free


cdef class Sparse:
    """The words of one aggregating function.  head: words before the buckets; size: words in all."""

    cdef Py_ssize_t head, buckets
    cdef uint64_t *counts

    def __cinit__(self, Py_ssize_t head, Py_ssize_t size):
        if not 0 < head < size:
            raise ValueError("no words of a distribution")
        self.head, self.buckets = head, size - head
        self.counts = <uint64_t *>calloc(self.buckets, sizeof(uint64_t))
        if self.counts is NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.counts)

    cdef object read(self, words):
        """The words as bytes; None: they are invalid for this function."""
        cdef Py_ssize_t i, n
        cdef int64_t value
        cdef int64_t *to
        if type(words) is not list:
            return None
        n = len(<list>words)
        if n < self.head or (n - self.head) % 2 or n - self.head > 2 * self.buckets:
            return None
        made = PyBytes_FromStringAndSize(NULL, n * sizeof(int64_t))
        to = <int64_t *>PyBytes_AS_STRING(made)
        for i in range(n):
            each = (<list>words)[i]
            if not PyLong_CheckExact(each):
                return None
            try:
                value = each
            except OverflowError:
                return None
            if i == 0 and value < 0 or i >= self.head and (i - self.head) % 2 == 0 and not 0 <= value < self.buckets:
                return None
            to[i] = value
        return made

    def check(self, words):
        """The bytes of untrusted words, which the garbage collector does not track.  ValueError: they are invalid for this function."""
        made = self.read(words)
        if made is None:
            raise ValueError(f"{self.head} words are wanted, and pairs of the number of a bucket and its count")
        return made

    def add(self, list several, head):
        """The sum of several values of check(), as bytes.  head: the first words; counts wrap at 64 bits."""
        cdef Py_ssize_t i, bucket, low = self.buckets, high = -1, used = 0
        cdef const int64_t *words
        cdef int64_t *to
        for each in several:
            words = <const int64_t *>PyBytes_AS_STRING(each)
            for i in range(self.head, len(<bytes>each) // <Py_ssize_t>sizeof(int64_t), 2):
                bucket = words[i]
                self.counts[bucket] += <uint64_t>words[i + 1]
                low, high = min(low, bucket), max(high, bucket)
        for bucket in range(low, high + 1):
            used += self.counts[bucket] != 0
        made = PyBytes_FromStringAndSize(NULL, (self.head + 2 * used) * sizeof(int64_t))
        to = <int64_t *>PyBytes_AS_STRING(made)
        for i in range(self.head):
            to[i] = head[i]
        to += self.head
        for bucket in range(low, high + 1):
            if self.counts[bucket]:
                to[0], to[1] = bucket, <int64_t>self.counts[bucket]
                self.counts[bucket] = 0
                to += 2
        return made

    def dense(self, bytes sparse):
        """All words, including those of empty buckets, as an engine has them."""
        cdef Py_ssize_t i
        cdef const uint64_t *words = <const uint64_t *>PyBytes_AS_STRING(sparse)
        made = PyBytes_FromStringAndSize(NULL, (self.head + self.buckets) * sizeof(int64_t))
        cdef uint64_t *to = <uint64_t *>PyBytes_AS_STRING(made)
        memset(to, 0, (self.head + self.buckets) * sizeof(int64_t))
        memcpy(to, words, self.head * sizeof(int64_t))
        for i in range(self.head, len(sparse) // <Py_ssize_t>sizeof(int64_t), 2):
            to[self.head + <Py_ssize_t>words[i]] += words[i + 1]  # an untrusted process may name one twice
        return made
