"""The table of the probes of frameworks, in Python and in Erlang: provider, probe, names and types
of the arguments.

docs/make_names.py makes Erlang's table (erlang_nif/src/pyusdt_framework_probes.hrl) and that of
docs/reference/frameworks.md of it.

- The probes are the same in every process that has them, so a script knows their arguments before
  a program runs (engine/probe_signatures.py).
- A duration is in nanoseconds. An unknown text is "", an unknown number -1.
"""

from __future__ import annotations

FRAMEWORK_PROBES: dict[str, dict[str, dict[str, type]]] = {
    "http": {  # requests that the program answers
        "request-start": {"method": str, "route": str, "path": str, "traceparent": str},
        "request-done": {
            "route": str,
            "status": int,
            "bytes": int,
            "duration": int,
            "method": str,
            "path": str,
            "traceparent": str,
        },
    },
    "request": {  # where the time of an HTTP request, a task or a gRPC call went: fired at its end
        "span": {
            "id": str,
            "kind": str,
            "name": str,
            "line": str,
            "began": int,
            "duration": int,
        },
        "done": {
            "id": str,
            "kind": str,
            "route": str,
            "status": str,
            "duration": int,
            "cpu": int,
            "spans": int,
            "left_out": int,
        },
    },
    "rpc": {  # calls by gRPC that the program answers, and sends
        "request-start": {"method": str},
        "request-done": {"method": str, "status": str, "duration": int},
        "call-start": {"method": str, "target": str},
        "call-done": {"method": str, "status": str, "duration": int, "target": str},
    },
    "db": {
        "query-start": {"statement": str},
        "query-done": {"statement": str, "rows": int, "duration": int, "error": str},
    },
    "cache": {
        "command-start": {"command": str, "key": str},
        "command-done": {"command": str, "key": str, "hit": int, "duration": int, "error": str},
    },
    "task": {  # what a queue of tasks has its workers do
        "start": {"name": str, "id": str, "arguments": str},
        "done": {"name": str, "state": str, "duration": int, "id": str},
    },
    "pool": {  # calls of functions by workers of the same program
        "call-start": {"function": str, "waited": int},
        "call-done": {"function": str, "duration": int, "waited": int, "error": str},
    },
    "process": {  # that the program starts to do a part of it
        "start": {"name": str, "function": str},
        "done": {"name": str, "status": int, "duration": int, "function": str},
    },
    "loop": {  # callbacks of an event loop: what it does without giving way
        "callback-done": {"function": str, "duration": int},
        "slow-callback": {"function": str, "duration": int},
    },
    "otel": {  # spans of OpenTelemetry
        "span-start": {
            "name": str,
            "scope": str,
            "kind": str,
            "trace_id": str,
            "span_id": str,
            "parent_id": str,
        },
        "span-end": {
            "name": str,
            "scope": str,
            "duration": int,
            "status": str,
            "trace_id": str,
            "span_id": str,
            "attributes": str,
        },
    },
    "client": {  # requests that the program sends
        "request-start": {"method": str, "url": str},
        "request-done": {"url": str, "status": int, "duration": int, "method": str, "error": str},
    },
    "log": {
        "record": {"level": int, "logger": str, "message": str},
    },
}
# Probes that fire in Erlang alone; a term is anything.
ERLANG_PROBES: dict[str, dict[str, dict[str, type | str]]] = {
    "telemetry": {
        "event": {"name": str, "measurements": "term", "metadata": "term"},
    },
}
