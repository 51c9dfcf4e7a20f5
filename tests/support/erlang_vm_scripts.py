"""OTP's example scripts, and checks of what they print of work that knows its own counts."""

from __future__ import annotations

import re

from tests.support.erlang_output import found, lines

WORDS_OF_A_TRIPLE = 8  # {Pid, Integer, [a, b]}: a tuple of three and two cells


def spawns(run, n):
    assert f"spawned {n}" in lines(run)
    began = [match[1] for match in found(run, r"pid (<[\d.]+>) mfa vm:nap/0")]
    ended = [match[1] for match in found(run, r"pid (<[\d.]+>) reason nap_is_over")]
    assert len(began) == n and sorted(began) == sorted(ended), run


def signals(run, n):
    me = found(run, rf"(<[\d.]+>) signalled {n}")[0][1]
    assert len(found(run, rf"sender {re.escape(me)} -> pid <[\d.]+> reason bye")) == n, run


def messages(run, n):
    me, echo = (
        re.escape(text) for text in found(run, rf"(<[\d.]+>) (<[\d.]+>) sent {n}")[0].groups()
    )
    assert len(found(run, rf"send:   {me} -> {echo}: {WORDS_OF_A_TRIPLE} words")) == n, run
    assert len(found(run, rf"queued: {echo}: {WORDS_OF_A_TRIPLE} words, queue len 0")) == n, run
    assert len(found(run, rf"send:   {echo} -> {me}: 3 words")) >= n, run


def tokens(run, n):
    """From OTP 27 on: the last round has a sequential trace token."""
    messages(run, n)
    assert len(found(run, r"send:   \S+ label 17 token \{\d+,\d+\} -> \S+: \d words")) == 2, run


def schedules(run, n):
    stopped, sleeper, echo = (
        re.escape(text) for text in found(run, r"(<[\d.]+>) (<[\d.]+>) (<[\d.]+>)")[0].groups()
    )
    assert len(found(run, rf"  Schedule pid {echo} mfa vm:loop/0")) >= n, run
    assert found(run, rf"  Schedule pid {stopped} mfa .*") and not found(
        run, rf"  Hibernate pid {stopped} .*"
    ), run
    assert len(found(run, rf"  Schedule pid {echo} .*")) == len(
        found(run, rf"Unschedule pid {echo}")
    ), run
    assert len(found(run, rf"  Hibernate pid {sleeper} resume mfa erlang:hibernate/3")) == 1, run


def collections(run, n):
    me = re.escape(found(run, r"(<[\d.]+>) (<[\d.]+>)")[0][1])
    assert len(found(run, rf"GC major start pid {me} need 0 words")) == n, run
    assert len(found(run, rf"GC major end pid {me} reclaimed \d+ words")) == n, run


def heaps(run, n):
    big = re.escape(found(run, r"(<[\d.]+>) (<[\d.]+>)")[0][2])
    grown = [
        (int(match[1]), int(match[2]))
        for match in found(run, rf"proc heap grow pid {big} (\d+) -> (\d+) bytes")
    ]
    assert grown and all(before < after for before, after in grown), run
    assert [after for _, after in grown[:-1]] == [before for before, _ in grown[1:]], run


def calls(run, n):
    me = re.escape(found(run, rf"(<[\d.]+>) called {n}")[0][1])
    for function in ("entered", "inside"):
        assert len(found(run, rf"pid {me} enter \(local\)  vm:{function}/1 depth 0")) == n, run
        assert len(found(run, rf"pid {me} return vm:{function}/1 depth 0")) == n, run


def ports(run, n):
    me, port, other = (
        re.escape(text) for text in found(run, r"(<[\d.]+>) (#Port<[\d.]+>) (<[\d.]+>)")[0].groups()
    )
    assert len(found(run, rf"port open pid {me} port name cat port {port}")) == 1, run
    assert (
        len(found(run, rf"port command pid {me} port {port} port name cat command type command"))
        == n
    ), run
    assert (
        len(found(run, rf"port connect pid {me} port {port} port name cat new pid {other}")) == 1
    ), run
    assert (
        len(found(run, rf"port exit pid {other} port {port} port name cat reason shutdown")) == 1
    ), run
    assert (
        len(found(run, rf"port control pid {me} port \S+ port name udp_inet command 1 OPEN")) == 1
    ), run


def drivers(run, n):
    me, port, other = (
        re.escape(text) for text in found(run, r"(<[\d.]+>) (#Port<[\d.]+>) (<[\d.]+>)")[0].groups()
    )
    assert len(found(run, rf"driver start pid {me} driver name cat port {port}")) == 1, run
    assert len(found(run, rf"driver outputv pid {me} port {port} port name cat bytes 5")) == n, run
    assert len(found(run, rf"driver stop pid {other} driver name cat port {port}")) == 1, run
    assert (
        len(found(run, rf"driver control pid {me} port \S+ port name udp_inet command 1 bytes \d+"))
        == 1
    ), run


# script, function of programs/vm.erl, how often, what it prints
SCRIPTS = [
    ("spawn-exit", "spawns", 50, spawns),
    ("spawn-exit", "signals", 20, signals),
    ("messages", "messages", 30, messages),
    ("process-scheduling", "schedules", 20, schedules),
    ("garbage-collection", "collects", 20, collections),
    ("memory1", "collects", 1, heaps),
    ("function-calls", "calls", 20, calls),
    ("port1", "ports", 10, ports),
    ("driver1", "ports", 10, drivers),
]
TOGGLED = "erlang*:::process-*,erlang*:::message-*,erlang*:::gc_* { @[probename] = count(); }"
