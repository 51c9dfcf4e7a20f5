"""DTrace-style tracing: fire probes from Python, trace them with D scripts.

    import pyusdt

    pyusdt.put_tag("request 17")
    pyusdt.p(200, 5120, "/index.html")

Trace it with `pydtrace -n 'pyusdt*:::user_trace-i4s4 { @[copyinstr(arg6)] = count(); }'`, or with any
tracer that knows USDT probes (docs/probes.md).  Importing this makes the process traceable: one small
control file, no thread.  While no tracer listens a probe costs about as much as calling an empty function.

The consumer API (trace, atrace, watch …; docs/api.md) and providers of your own (Provider, load; docs/providers.md)
are imported when they are first used.
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

TYPE_CHECKING = False  # type checkers take it for True; typing itself need not be imported
if TYPE_CHECKING:
    from pyusdt.consumer.atracing import atrace
    from pyusdt.consumer.tracing import CompileError, EngineError, TraceWarning, Tracing, trace, watch
    from pyusdt.providers import Provider, load

_LATER = dict.fromkeys(
    ("CompileError", "EngineError", "TraceWarning", "Tracing", "trace", "watch"), "pyusdt.consumer.tracing"
)
_LATER["atrace"] = "pyusdt.consumer.atracing"
_LATER["Provider"] = _LATER["load"] = "pyusdt.providers"

__all__ = [
    "CompileError",
    "EngineError",
    "Probe",
    "Provider",
    "TraceWarning",
    "Tracing",
    "atrace",
    "available",
    "get_tag",
    "get_tag_data",
    "load",
    "p",
    "pn",
    "probe",
    "put_tag",
    "restore_tag",
    "spread_tag",
    "strict",
    "tag",
    "trace",
    "user_trace_i4s4",
    "user_trace_n",
    "user_trace_s1",
    "watch",
]


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_LATER[name]), name)
    return value
