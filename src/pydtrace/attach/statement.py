"""The statement that an attached process runs.

- Whoever runs it is interrupted at an arbitrary point, so it does next to nothing: it starts a thread, which does the rest.
- It swallows every exception, leaves no name in __main__, and runs only in the process that it was written for: a child
  forked meanwhile has the same entry.
- The thread reports to its slot, through /proc/self/mem: a state, and a text if it failed. It prints nothing.
"""

from __future__ import annotations

from pydtrace import _tracer

_START = """\
try:
 if __import__("posix").getpid()=={pid}:__import__("_thread").start_new_thread(exec,({body},{{}}))
except:pass
"""

MARK = _START[: _tracer.SLOT_MARK].encode()  # that all texts begin with

_REPORT = """\
import posix as p
def r(t):
 f=p.open("/proc/self/mem",524289)
 p.pwrite(f,t,{report})
 p.close(f)
try:
 r(b"1")
{act} r(b"2")
except BaseException as e:
 try:r(b"3"+ascii(e).encode()[:{length}])
 except:pass
"""

_RUN_FILE = """\
 n={{"__file__":{path}}}
 f=p.open(n["__file__"],524288)
 s=p.read(f,99999)
 p.close(f)
 exec(s,n)
 n[{function}](r{arguments})
"""

_CALL = """\
 import sys
 sys.modules[{module}].{function}(r{arguments})
"""

WAITS, BEGUN, DONE, FAILED = b"\0", b"1", b"2", b"3"  # the first byte of the report
_REPORT_LENGTH = _tracer.SLOT_SIZE - _tracer.SLOT_REPORT - 2


class Statement:
    """What is to be done: a function of a file, or of a module that is loaded, is called with a function that reports."""

    def __init__(self, act: str) -> None:
        self._act = act

    @classmethod
    def run_file(cls, path: str, function: str, *arguments: object) -> Statement:
        return cls(
            _RUN_FILE.format(path=ascii(path), function=ascii(function), arguments=_join(arguments))
        )

    @classmethod
    def call(cls, module: str, function: str, *arguments: object) -> Statement:
        return cls(
            _CALL.format(module=ascii(module), function=function, arguments=_join(arguments))
        )

    def make_text(self, inner_pid: int, slot: int) -> bytes:
        """inner_pid: the process's number in its own namespace.  ValueError: it is too long for a slot."""
        body = _REPORT.format(
            report=slot + _tracer.SLOT_REPORT, act=self._act, length=_REPORT_LENGTH
        )
        text = _START.format(pid=inner_pid, body=ascii(body)).encode("ascii")
        if len(text) >= _tracer.SLOT_REPORT:
            raise ValueError(f"{len(text)} bytes")
        return text


def _join(arguments: tuple[object, ...]) -> str:
    return "".join(f",{each!a}" for each in arguments)


def parse_report(report: bytes) -> tuple[bytes, str]:
    """(one of WAITS …, the text of a failure).  It is untrusted."""
    return report[:1], report[1:].partition(b"\0")[0].decode("ascii", "replace")
