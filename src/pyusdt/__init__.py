"""DTrace-style tracing: fire probes from Python, trace them with D scripts.

    import pyusdt

    pyusdt.put_tag("request 17")
    pyusdt.p(200, 5120, "/index.html")

Trace it with `pydtrace -n 'pyusdt*:::user_trace-i4s4 { @[copyinstr(arg6)] = count(); }'`, or with any
tracer that knows USDT probes (docs/probes.md).  Importing this makes the process traceable: one small
control file, no thread.  While no tracer listens a probe costs about as much as calling an empty function.
"""

from pyusdt.api import (
    Probe,
    available,
    p,
    pn,
    probe,
    strict,
    user_trace_i4s4,
    user_trace_n,
    user_trace_s1,
)
from pyusdt.tags import get_tag, get_tag_data, put_tag, restore_tag, spread_tag, tag

__all__ = [
    "Probe",
    "available",
    "get_tag",
    "get_tag_data",
    "p",
    "pn",
    "probe",
    "put_tag",
    "restore_tag",
    "spread_tag",
    "strict",
    "tag",
    "user_trace_i4s4",
    "user_trace_n",
    "user_trace_s1",
]
