#!/usr/bin/env python3
"""What many hosts' deltas cost the coordinator: simulated hosts feed the real one (engine/remote).

    benchmarks/hosts.py [HOSTS [KEYS [EPOCHS]]]      50 1000 10

Input: lines as hosts send them, made beforehand.
Output: processor time of an epoch (a second) of all hosts, as a share of one core, for several
functions; bytes of a host's epoch, what making it takes the host, and a relay of as many hosts
its own.

- What is merged is compared with what was sent: a tenth of the hosts vanish in the middle of an
  epoch, and another tenth sends an epoch twice; of these exactly the whole epochs count, each
  once.
"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src"))

from pydtrace.aggregation.int64 import unpack_words
from pydtrace.dlang.compile import compile_program
from pydtrace.driver.action_runner import ActionRunner
from pydtrace.driver.sink import TraceInfo
from pydtrace.engine.embedded.engine import EmbeddedEngine
from pydtrace.hosts.connection import HostError
from pydtrace.hosts.engine import RemoteEngine
from pydtrace.hosts.host_messages import GIVEN_UP, OPENED, Host
from pydtrace.hosts.merged_aggregations import value_merger
from pydtrace.hosts.request import Request
from pydtrace.options import Options
from pydtrace.results import aggregation_values
from pydtrace.results.aggregations import pack_key
from pydtrace.sinks.host_protocol_sink import HostProtocolSink
from pydtrace.sinks.output_file import Output

FUNCTIONS = {
    "count()": [57],
    "avg(arg2)": [57, 12345],
    "quantize(arg2)": [57, *(part for k in range(8) for part in (70 + k, 7))],
}
BUDGET = 10  # % of a core, for 50 hosts, 1,000 keys each, once a second, count()


class Fed:
    """A Link whose lines are here already."""

    has_ended = got_fragment = False

    def __init__(self):
        self.lines = []

    def receive(self):
        lines, self.lines = self.lines, []
        yield from lines

    def read_stderr(self):
        return []

    def send(self, type, **what):
        pass


def line(type, **what):
    return json.dumps({"type": type, **what}, separators=(",", ":")).encode()


def dense(definition, words):
    of_lines = value_merger(definition.row, ())
    return of_lines.encode_words(of_lines.check_words(words))


def epoch_of(definition, number, keys, words):
    """The lines of one epoch of one host."""
    rows = [[[f"/route/number/{key}"], words] for key in range(keys)]
    return [
        line(
            "delta",
            epoch=number,
            name=definition.name,
            function=definition.row.function_name,
            params=[],
            rows=rows[at : at + 500],
        )
        for at in range(0, keys, 500)
    ] + [line("heartbeat", epoch=number, time=1)]


class Coordinator:
    def __init__(self, function, hosts):
        program = compile_program(
            f"pyusdt*:::user_trace-n1 {{ @[copyinstr(arg6)] = {function}; }}",
            "x.d",
            Options(),
            macros={"target": 1},
            arguments=["x.d"],
        )
        self.engine = RemoteEngine(program, {"hosts": Request([], [], {})})
        (self.definition,) = program.aggregations
        self.hosts = [Host(f"h{i}", i, self.engine, Fed()) for i in range(hosts)]
        for host in self.hosts:
            host.state = OPENED
            host.link.lines = [
                line("hello", schema=2, aggregations=[{"name": self.definition.name}])
            ]
            host.take_lines()
        self.whole = 0  # epochs that must count

    def feed(self, number, lines):
        """One epoch of every host; how long it took, with the look that a live view takes once a second."""
        for i, host in enumerate(self.hosts):
            host.link.lines = list(lines)
            if number == 5 and i % 10 == 1:
                host.link.lines[-1:] = []  # it vanishes before the epoch is whole
            if number == 6 and i % 10 == 2:
                host.link.lines *= 2
        begun = time.process_time()
        for i, host in enumerate(self.hosts):
            if host.state != GIVEN_UP:
                try:
                    host.take_lines()
                    self.whole += not (number == 5 and i % 10 == 1)
                except HostError:
                    host.state = GIVEN_UP
                    self.whole += number == 6
            if number == 5 and i % 10 == 1:
                host.state = GIVEN_UP
        self.engine.items(self.definition.map)
        return time.process_time() - begun

    def check(self, keys, words):
        read = unpack_words(dense(self.definition, words))
        found = [
            aggregation_values.unpack_value(self.definition, value).words
            for _, value in self.engine.items(self.definition.map)
        ]
        assert len(found) == keys
        assert all(each == tuple(self.whole * word for word in read) for each in found), (
            found[0],
            self.whole,
        )


def measured(function, words, hosts, keys, epochs):
    """(seconds of an epoch of all hosts, the median; bytes of one host's)"""
    coordinator, taken = Coordinator(function, hosts), []
    for number in range(epochs):
        lines = epoch_of(coordinator.definition, number, keys, words)
        taken.append(coordinator.feed(number, lines))
    coordinator.check(keys, words)
    return sorted(taken)[len(taken) // 2], sum(len(each) + 1 for each in lines)


def of_a_host(function, words, keys, epochs):
    """Seconds that a host takes to make the lines of an epoch, the median."""
    program = compile_program(
        f"pyusdt*:::user_trace-n1 {{ @[copyinstr(arg6)] = {function}; }}",
        "x.d",
        Options(),
        macros={"target": 1},
        arguments=["x.d"],
    )
    engine, (definition,) = EmbeddedEngine(program, {}), program.aggregations
    sink = HostProtocolSink(Output(os.open(os.devnull, os.O_WRONLY), "nothing"), print, None)
    sink.begin(
        TraceInfo(
            program,
            {},
            ActionRunner(program, engine, sink, Options()),
            engine.probe,
            "simulated",
            clock=engine,
        )
    )
    value, taken = dense(definition, words), []
    for _ in range(epochs):
        for key in range(keys):
            engine._vm_group.vms[0].update(
                definition.map, pack_key(definition.keys, (f"/route/number/{key}",), None), value
            )
        begun = time.process_time()
        sink.end_epoch()
        taken.append(time.process_time() - begun)
    return sorted(taken)[len(taken) // 2]


def of_a_relay(function, words, hosts, keys, epochs):
    """The share of its time that a relay takes to send on what it has merged, and how many rows it sends for one that comes."""
    coordinator, merging_, sending = Coordinator(function, hosts), [], []
    engine, definition = coordinator.engine, coordinator.definition
    sink = HostProtocolSink(Output(os.open(os.devnull, os.O_WRONLY), "nothing"), print, None)
    sink.begin(
        TraceInfo(
            engine.program,
            {},
            ActionRunner(engine.program, engine, sink, Options()),
            engine.probe,
            "relay",
            clock=engine,
        )
    )
    for number in range(epochs):
        for host in coordinator.hosts:
            host.link.lines = epoch_of(definition, number, keys, words)
        begun = time.process_time()
        for host in coordinator.hosts:
            host.take_lines()
        merged = time.process_time()
        sink.end_epoch()
        sending.append(time.process_time() - merged)
        merging_.append(merged - begun)
        assert not engine.items(definition.map)
    sent, took = sorted(sending)[epochs // 2], sorted(merging_)[epochs // 2]
    return sent / (sent + took)


def main(hosts=50, keys=1000, epochs=10):
    print(
        f"{hosts} hosts, {keys} keys each, an epoch a second; a tenth vanish, a tenth send an epoch twice: what is merged is exact"
    )
    over = False
    for function, words in FUNCTIONS.items():
        seconds, size = measured(function, words, hosts, keys, epochs)
        over = over or (
            function == "count()" and (hosts, keys) == (50, 1000) and 100 * seconds > BUDGET
        )
        print(
            f"{function:16} {100 * seconds:6.1f} % of a core  {1e9 * seconds / hosts / keys:6.0f} ns a row  {size} bytes a host, which takes "
            f"{100 * of_a_host(function, words, keys, epochs):.1f} % of a core; a relay sends on for "
            f"{100 * of_a_relay(function, words, hosts, keys, epochs):.0f} % of its time"
        )
    return int(over)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
