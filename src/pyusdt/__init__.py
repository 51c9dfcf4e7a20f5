"""DTrace-style tracing: fire probes from Python, trace them with D scripts.

    import pyusdt

    pyusdt.put_tag("request 17")
    pyusdt.p(200, 5120, "/index.html")

Trace it with `pydtrace -n 'pyusdt*:::user_trace-i4s4 { @[copyinstr(arg6)] = count(); }'`, or with any
tracer that knows USDT probes (docs/reference/probes.md).  Importing this makes the process traceable: one small
control file, no thread.  While no tracer listens a probe costs about as much as calling an empty function.

What is not a probe is imported when it is first used, so that an application which nobody traces starts as fast as it
can: `tag`, `spread_tag` (tags.py), providers of your own (Provider, load; docs/reference/providers.md), the consumer API (trace,
atrace, watch …; docs/reference/api.md).

(PYTEST_DONT_REWRITE: pytest would do that to all packages of a distribution that brings a plugin, and warn of those that are imported.)
"""

import os
import sys

try:
    from ._core import (
        MARK,  # noqa: F401 - whose package this is: pydtrace/__init__.py, vm/start/load_provider.py
        Probe,
        available,
        flight,
        get_tag,
        p,
        pn,
        probe,
        put_tag,
        redact,
        strict,
        user_trace_i4s4,
        user_trace_n,
        user_trace_s1,
    )
except ModuleNotFoundError as error:
    if error.name != "pyusdt._core":
        raise
    raise ImportError(
        "pyusdt's C extension is not built for this Python; "
        "run `make build` in pyusdt's sources, or `pip install .` there for this interpreter",
        name=error.name,
    ) from None
except ImportError as error:
    raise ImportError(
        f"{error}: pyusdt/__init__.py is of another version, or of another project: "
        "`pip uninstall pyusdt pydtrace`, then install pydtrace",
        name=error.name,
    ) from error

TYPE_CHECKING = False  # type checkers take it for True; typing itself need not be imported
if TYPE_CHECKING:
    from pydtrace.consumer.atracing import AsyncTracing, atrace, awatch
    from pydtrace.consumer.tracing import (
        CompileError,
        EngineError,
        TraceWarning,
        Tracing,
        trace,
        watch,
    )
    from pydtrace.results.aggregation_values import (
        Bucket,
        FloatNumber,
        Histogram,
        Number,
        Percentiles,
    )
    from pydtrace.results.aggregations import Aggregation
    from pydtrace.results.records import Record

    from .providers import Provider, get_include, load
    from .tags import get_tag_data, restore_tag, spread_tag, tag

_LATER = {
    **dict.fromkeys(("get_tag_data", "restore_tag", "spread_tag", "tag"), "pyusdt.tags"),
    **dict.fromkeys(("Provider", "get_include", "load"), "pyusdt.providers"),
    **dict.fromkeys(
        ("CompileError", "EngineError", "TraceWarning", "Tracing", "trace", "watch"),
        "pydtrace.consumer.tracing",
    ),
    **dict.fromkeys(("AsyncTracing", "atrace", "awatch"), "pydtrace.consumer.atracing"),
    **dict.fromkeys(
        ("Bucket", "FloatNumber", "Histogram", "Number", "Percentiles"),
        "pydtrace.results.aggregation_values",
    ),
    "load_ipython_extension": "pydtrace.consumer.notebook_magic",  # %load_ext pyusdt
    "Aggregation": "pydtrace.results.aggregations",
    "Record": "pydtrace.results.records",
}

__all__ = [
    "Aggregation",
    "AsyncTracing",
    "Bucket",
    "CompileError",
    "EngineError",
    "FloatNumber",
    "Histogram",
    "Number",
    "Percentiles",
    "Probe",
    "Provider",
    "Record",
    "TraceWarning",
    "Tracing",
    "atrace",
    "awatch",
    "available",
    "get_include",
    "get_tag",
    "get_tag_data",
    "load",
    "p",
    "pn",
    "probe",
    "put_tag",
    "redact",
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


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if os.environ.get("PYUSDT_STRICT", "0") not in ("", "0"):
    strict(True)


def _flight_reason(error: OSError) -> str:
    import errno

    if error.errno == errno.EINVAL:
        return f"{os.environ['PYUSDT_FLIGHT']!r} is not a size (64k, 4m), nor exceptions, nor 64k,exceptions"
    if error.errno in (errno.ENOTSUP, errno.EOPNOTSUPP):
        return (
            "the run directory is not on a tmpfs; set PYUSDT_RUNDIR to one that is, below /dev/shm"
        )
    return str(error.strerror)


def _warn_of_open_rundir(path: str) -> None:
    """The core does not publish this process in a directory that others can read; tracers then do not find it."""
    try:
        mode = os.stat(path).st_mode & 0o777
    except OSError:
        return  # the core makes it
    if mode & 0o077:
        from .warn_without_raising import warn_without_raising

        warn_without_raising(
            f"tracers cannot find this process: PYUSDT_RUNDIR={path} has mode {mode:04o}; run: chmod 700 {path}",
            4,
        )


if os.environ.get("PYUSDT_RUNDIR") and "pydtrace" not in sys.modules:
    _warn_of_open_rundir(os.environ["PYUSDT_RUNDIR"])
# a tracer, and `python -m pyusdt`, which becomes the program at once, keep nothing of their own
_keeps_own = "pydtrace" not in sys.modules and not (
    sys.argv[:1] == ["-m"] and {"pyusdt", "-mpyusdt"} & {*sys.orig_argv}
)
if os.environ.get("PYUSDT_FLIGHT") and _keeps_own:
    try:
        flight()
    except OSError as error:
        from .warn_without_raising import warn_without_raising

        warn_without_raising(
            f"no flight recorder (PYUSDT_FLIGHT): {_flight_reason(error)}; see `pyusdt help recording`",
            3,
        )
if os.environ.get("PYUSDT_VM", "0") not in ("", "0"):
    from .vm import enable_as_asked

    enable_as_asked(os.environ["PYUSDT_VM"])
if os.environ.get("PYUSDT_INSTRUMENT", "0") not in ("", "0"):
    from . import instrument

    instrument.enable_as_asked(os.environ["PYUSDT_INSTRUMENT"])
if "exceptions" in os.environ.get("PYUSDT_FLIGHT", "").split(",") and _keeps_own:
    from .vm import keep_exceptions

    keep_exceptions()
