"""A host that lies: `hostile_host.py NAME`.  One that is called honest… is pydtrace --serve itself; of the others the name says how it
lies, once it has been told to go."""

import base64
import json
import os
import struct
import sys
import time

PYDTRACE = os.path.join(os.path.dirname(sys.executable), "pydtrace")
HUGE = 9 << 20


def say(type, **what):
    sys.stdout.write(json.dumps({"type": type, **what}) + "\n")
    sys.stdout.flush()


def delta(rows, epoch=1, **other):
    say(
        "delta",
        **{"epoch": epoch, "name": "_", "function": "count", "params": [], "rows": rows, **other},
    )


def record(**other):
    say(
        "record",
        **{
            "clause": 1,
            "probe": 1,
            "time": time.monotonic_ns(),
            "pid": 1,
            "tid": 1,
            "cpu": 0,
            "values": ["lie"],
            **other,
        },
    )


def events(data):
    say("events", data=base64.b64encode(data).decode())


HEADER = b"pyusdtR1" + struct.pack("=II", 3, 0x01020304) + bytes(112)
LIES = {  # what the coordinator says of each
    "epoch-again": (
        "of epoch 0, where 1 is open",
        lambda: (delta([[["lie"], [1]]], epoch=0), say("heartbeat", epoch=0, time=1)),
    ),
    "epoch-to-come": ("of epoch 7, where 1 is open", lambda: delta([[["lie"], [1]]], epoch=7)),
    "heartbeat-again": ("of epoch 0, where 1 is open", lambda: say("heartbeat", epoch=0, time=1)),
    "exit-too-soon": ("epochs are missing", lambda: say("exit", epochs=99, status=0)),
    "hello-again": (
        "out of place, or of another schema",
        lambda: say("hello", schema=2, aggregations=[{"name": "_"}]),
    ),
    "deep": ("a line that is no JSON, or too deep", lambda: print("[" * 200_000, flush=True)),
    "deep-object": (
        "a line that is no JSON, or too deep",
        lambda: print(
            '{"type":"record","values":' + '{"a":' * 100_000 + "1" + "}" * 100_001, flush=True
        ),
    ),
    "huge-line": (
        "a line of more than 8388608 bytes",
        lambda: (sys.stdout.write("x" * HUGE), sys.stdout.flush()),
    ),
    "many-parts": (
        "a line of more parts than there is room for",
        lambda: (delta([[[]] * 300_000]), say("heartbeat", epoch=1, time=1)),
    ),
    "huge-number": (
        "1 words of 64 bits are wanted",
        lambda: delta([[["lie"], [1 << 70]]]) or say("heartbeat", epoch=1, time=1),
    ),
    "negative": (
        "1 words of 64 bits are wanted",
        lambda: delta([[["lie"], [-5]]]) or say("heartbeat", epoch=1, time=1),
    ),
    "no-words": (
        "1 words of 64 bits are wanted",
        lambda: delta([[["lie"], []]]) or say("heartbeat", epoch=1, time=1),
    ),
    "no-rows": (
        "a line of type 'heartbeat' that is none",
        lambda: delta({"a": 1}) or say("heartbeat", epoch=1, time=1),
    ),
    "long-key": (
        "a text of more than 255 bytes",
        lambda: delta([[["x" * 100_000], [1]]]) or say("heartbeat", epoch=1, time=1),
    ),
    "two-keys": (
        "a line of type 'heartbeat' that is none",
        lambda: delta([[["a", "b"], [1]]]) or say("heartbeat", epoch=1, time=1),
    ),
    "other-function": ("of another function", lambda: delta([], function="sum")),
    "other-name": (
        "a line of type 'delta' that is none: 'secret'",
        lambda: delta([], name="secret"),
    ),
    "no-json": (
        r"a line that is no JSON, or too deep: Last login: Mon\x1b[1mday",
        lambda: print("Last login: Mon\x1b[1mday", flush=True),
    ),
    "no-object": ("a line that is no object with a type", lambda: print("[1]", flush=True)),
    "unknown-type": ("a line of type 'shutdown'", lambda: say("shutdown")),
    "no-type": ("a line that is no object with a type", lambda: print("{}", flush=True)),
    "coordinator-s-clause": (
        "of a clause that hosts do not have",
        lambda: record(clause=0, values=[]),
    ),
    "no-clause": ("of a clause that hosts do not have", lambda: record(clause=-1)),
    "no-probe": ("a line of type 'record' that is none: 77", lambda: record(probe=77)),
    "long-value": ("a text of more than", lambda: record(values=["x" * 100_000])),
    "number-for-text": ("a text is wanted", lambda: record(values=[5])),
    "large-pid": ("a line of type 'record' that is none", lambda: record(pid=1 << 40)),
    "negative-time": ("no number", lambda: record(time=-1)),
    "negative-origin": ("no number", lambda: record(origin=-1, error=0)),
    "negative-error": ("no number", lambda: record(origin=1, error=-(1 << 60))),
    "origin-without-error": (
        "a line of type 'record' that is none: 'error'",
        lambda: record(origin=1),
    ),
    "other-losses": (
        "a line of type 'drops' that is none: 'everything'",
        lambda: say("drops", kind="everything", count=1),
    ),
    "negative-losses": ("no number", lambda: say("drops", kind="principal", count=-1)),
    "control-characters": ("no name", lambda: say("probe", id=5, names=["a\x1b[2J", "", "", ""])),
    "events-unasked": ("events were not requested", lambda: events(HEADER)),
    "nan": ("no number", lambda: print('{"type":"heartbeat","epoch":NaN,"time":1}', flush=True)),
}


SENT = {  # of who is asked for events
    "events-that-are-none": lambda: events(bytes(200)),
    "samples-unasked": lambda: say("samples", names=[], rows=[]),
    "events-no-text": lambda: say("events", data="***"),
    "events-cut": lambda: events(HEADER + struct.pack("=IIQ", 99, 8, 0)),
}


ENDLESS = {
    "keys-without-end": "aggregation drops",
    "probes-without-end": "not four names, or too many probes",
    "rows-without-end": "an epoch of too many rows",
    "bytes-without-end": "an epoch of more than 33554432 bytes",
    "empty-rows-without-end": "an epoch of",
    "words-without-end": "it says too much that means nothing",
}


def main(name):
    if name.startswith("honest"):
        os.execv(PYDTRACE, [PYDTRACE, "--serve"])
    sys.stdin.readline()
    say("opened", matched=[1, 1, 1, 1])
    while "go" not in (line := sys.stdin.readline()) and line:
        answered(line)
    say("hello", schema=2, aggregations=[{"name": "_"}])
    say("probe", id=1, names=["pyusdt1", "", "", "lie"])
    say("heartbeat", epoch=0, time=1)
    while not answered(sys.stdin.readline()):
        pass
    (SENT.get(name) or (LIES[name][1] if name in LIES else lambda: endless(name)))()
    if name == "keys-without-end":
        say("exit", epochs=30, status=0)
    sys.stdin.read()


def answered(line):
    """Whether it was a ping."""
    asked = json.loads(line)
    if asked["type"] == "ping":
        say("pong", id=asked["id"], time=time.monotonic_ns())
    return asked["type"] == "ping"


def endless(name):
    rows = json.dumps(
        {
            "type": "delta",
            "epoch": 1,
            "name": "_",
            "function": "count",
            "params": [],
            "rows": [[["lie"], [1]]] * 50_000,
        }
    )
    for number in range(
        1, 30 if name == "keys-without-end" else 20_000
    ):  # more than there is room for
        if name == "keys-without-end":
            delta([[[f"lie {number} {i}"], [1]] for i in range(1000)], epoch=number)
            say("heartbeat", epoch=number, time=1)
        elif name == "probes-without-end":
            say("probe", id=number, names=["a", "b", "c", f"p{number}"])
        elif name == "rows-without-end":
            print(rows, flush=True)
        elif name == "bytes-without-end":
            delta([[["lie" * 80], [1]]] * 500)
        elif name == "empty-rows-without-end":
            delta([[[]] * 200_000])
        elif name == "words-without-end":
            sys.stdout.write('{"type":"text","text":""}\n' * 100)


if __name__ == "__main__":
    main(sys.argv[1])
