"""Makes what is told of the probes in frameworks from their one table, src/pyusdt/framework_probes.py.

    python docs/make_names.py            writes the table in docs/reference/frameworks.md, and erlang_nif/src/pyusdt_framework_probes.hrl
    python docs/make_names.py --print    shows them

Input: the table; below, when each probe fires, and which part of pyusdt_instrument fires it in
Erlang and Elixir.

- A name or type of an argument stands in that file alone.
"""

import os
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)
PAGE = os.path.join(TOP, "docs", "reference", "frameworks.md")
HEADER = os.path.join(TOP, "erlang_nif", "src", "pyusdt_framework_probes.hrl")
BEGIN, END = "<!-- names: docs/make_names.py -->\n", "<!-- end of names -->\n"
TYPES = {int: "int", str: "string", "term": "term"}

# Probe: when it fires; in Erlang and Elixir.
FIRES = {
    "http:::request-start": (
        'a request arrives; in Python, route is still ""',
        "cowboy, phoenix; route: only with cowboy's stream handler",
    ),
    "http:::request-done": (
        "the application has passed on the last byte of the answer",
        "cowboy; phoenix without cowboy: before the answer is sent",
    ),
    "request:::span": (
        "a request has ended: once for each span; began: ns from request to span",
        "",
    ),
    "request:::done": (
        "after the last span; kind: `http`, `task`, `rpc`, `tag`; cpu: ns, or -1",
        "",
    ),
    "rpc:::request-start": ("a gRPC server begins to answer a call", ""),
    "rpc:::request-done": (
        'the server has passed on the answer; status: `OK`, `NOT_FOUND` … or ""',
        "",
    ),
    "rpc:::call-start": ("the program sends a gRPC call; target: the target of the channel", ""),
    "rpc:::call-done": ("the gRPC call has ended; for a stream, after the last message", ""),
    "db:::query-start": ("before a statement is executed", "no: Ecto reports only the end"),
    "db:::query-done": (
        'after the statement; rows: of the cursor, or -1; error: type of exception, or ""',
        "ecto",
    ),
    "cache:::command-start": (
        'before a command goes to a cache; key: the first argument, or ""',
        "",
    ),
    "cache:::command-done": (
        "after the answer; hit: 1 or 0 (`GET`, `GETEX`, `GETDEL`, `HGET`), else -1",
        "",
    ),
    "task:::start": (
        "a worker of a task queue begins a task",
        'broadway: a message, a batch; id: ""',
    ),
    "task:::done": (
        "the task has ended; state: Celery's `SUCCESS`, `FAILURE` …",
        "broadway: `SUCCESS` or `FAILURE`",
    ),
    "pool:::call-start": (
        "a worker thread or process begins a call; waited: ns in the queue",
        "",
    ),
    "pool:::call-done": ('the call of the pool has ended; error: type of the exception, or ""', ""),
    "process:::start": ("a new process begins that the program started to call the function", ""),
    "process:::done": ("the new process is about to exit with this status", ""),
    "loop:::callback-done": (
        "an event loop has run a callback, or one step of a coroutine",
        "",
    ),
    "loop:::slow-callback": (
        "a callback or step took longer than the loop's `slow_callback_duration` (0.1 s)",
        "",
    ),
    "otel:::span-start": ("a span of OpenTelemetry begins", ""),
    "otel:::span-end": ("a span of OpenTelemetry ends; attributes: a JSON object", ""),
    "client:::request-start": (
        "the program sends a request; url: without user, password and query",
        "",
    ),
    "client:::request-done": (
        "the answer's head has arrived; if there is none, status: -1, error: a type",
        "",
    ),
    "log:::record": (
        "a logger accepts a record, by its level",
        "logger: Python's numbers, `notice` 25, `alert` 60, `emergency` 70; logger: the module",
    ),
    "telemetry:::event": (
        "",
        "telemetry: an event with this name (`phoenix.endpoint.stop`); data: terms",
    ),
}


def rows():
    """(probe, its arguments) of both tables."""
    from pyusdt.framework_probes import ERLANG_PROBES, FRAMEWORK_PROBES

    return [
        (f"{provider}:::{name}", arguments)
        for provider, probes in (FRAMEWORK_PROBES | ERLANG_PROBES).items()
        for name, arguments in probes.items()
    ]


def page():
    """The table for readers."""
    lines = [
        "| probe | arguments, from `arg0` on | fires | in Erlang and Elixir |",
        "| --- | --- | --- | --- |",
    ]
    for name, arguments in rows():
        python, erlang = FIRES[name]
        lines.append(
            f"| `{name}` | {', '.join(arguments)} | {python or 'not in Python'} | {erlang} |"
        )
    return "\n".join(lines) + "\n"


def header():
    """Erlang's table: of the providers that Erlang's parts fire."""
    fired = {name.partition(":")[0] for name, (_, erlang) in FIRES.items() if erlang}
    providers = []
    for provider in dict.fromkeys(name.partition(":")[0] for name, _ in rows()):
        if provider in fired:
            probes = [
                f"{{'{name.rpartition(':')[2]}', [{', '.join(f'{{{each}, {TYPES[type]}}}' for each, type in arguments.items())}]}}"
                for name, arguments in rows()
                if name.startswith(f"{provider}:")
            ]
            providers.append(
                f"    {provider} => [" + (",\n" + " " * (9 + len(provider))).join(probes) + "]"
            )
    return (
        "%% Made by docs/make_names.py of src/pyusdt/framework_probes.py: the probes of each provider.\n"
        "-define(PROBES, #{\n" + ",\n".join(providers) + "\n}).\n"
    )


def with_table(text):
    """The page with the table as it is now."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + page() + END + rest.split(END)[1]


def main():
    if sys.argv[1:] == ["--print"]:
        sys.stdout.write(page() + "\n" + header())
        return
    with open(PAGE, encoding="utf-8") as file:
        text = with_table(file.read())
    for path, made in ((PAGE, text), (HEADER, header())):
        with open(path, "w", encoding="utf-8") as file:
            file.write(made)


if __name__ == "__main__":
    main()
