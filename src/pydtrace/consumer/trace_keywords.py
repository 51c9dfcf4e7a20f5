"""The keywords of trace(), watch(), atrace() and awatch(), for type checkers.

- The options are those of options.py that are not refused: tests/api/test_api_types.py compares
  them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypedDict, Union

if TYPE_CHECKING:
    from pydtrace.results.records import Record

Value = Union[str, int, bool, None]  # noqa: UP007  (evaluated in 3.10, too)


class OptionKeywords(TypedDict, total=False):
    """dtrace's -x options, and pyusdt's own."""

    agghist: Value
    aggpack: Value
    aggpercpu: bool
    aggrate: Value
    aggsize: Value
    aggsortkey: Value
    aggsortkeypos: Value
    aggsortpos: Value
    aggsortrev: Value
    aggzoom: Value
    alert: Value
    alertends: Value
    alertrate: Value
    alertrepeat: Value
    alertstacks: bool
    amin: Value
    argref: bool
    attach: Value
    bpflog: Value
    bpflogsize: Value
    bufpolicy: Value
    bufresize: Value
    bufsize: Value
    children: bool
    cleanrate: Value
    core: bool
    cpp: bool
    cppargs: Value
    cpphdrs: Value
    cpppath: Value
    cpu: Value
    debug: bool
    debugassert: Value
    defaultargs: bool
    define: Value
    demangle: bool
    destructive: Value
    disasm: Value
    droptags: Value
    dynvarsize: Value
    empty: bool
    encoding: Value
    errtags: bool
    evaltime: Value
    file: Value
    flowindent: Value
    hostmode: Value
    hostretry: Value
    hostwait: Value
    incdir: Value
    iregs: Value
    jstackframes: Value
    jstackstrsize: Value
    kdefs: bool
    knodefs: bool
    ldpath: Value
    libdir: Value
    linkmode: Value
    linknommap: Value
    linktype: Value
    lockmem: Value
    maxcpu: Value
    maxframes: Value
    metric: Value
    metrics: Value
    metricscert: Value
    metricstoken: Value
    nolibs: bool
    nop5: Value
    noresolve: Value
    nspec: Value
    orderlag: Value
    otlp: Value
    otlpinterval: Value
    otlptemporality: Value
    pcapsize: Value
    pgmax: Value
    preallocate: Value
    printsize: Value
    profilewall: Value
    pspec: bool
    pychildren: bool
    pyusdt: bool
    quiet: Value
    quietresize: Value
    rawbytes: Value
    scratchsize: Value
    secrets: bool
    spans: Value
    specsize: Value
    stackframes: Value
    stackindent: Value
    statusrate: Value
    stdc: Value
    strip: bool
    strsize: Value
    switchrate: Value
    syslibdir: Value
    sysslice: Value
    track: Value
    tree: Value
    tregs: Value
    udefs: bool
    undef: Value
    unodefs: bool
    useruid: Value
    ustackframes: Value
    valuerate: Value
    verbose: bool
    version: Value
    workers: Value
    zdefs: bool


class TraceKeywords(OptionKeywords, total=False):
    """And what trace() itself has."""

    pid: int | Iterable[int] | None
    cmd: str | Iterable[str] | None
    all: bool
    hosts: str | Iterable[str] | None
    via: str | None
    relay: str | Iterable[str] | None
    engine: str
    buffer: int
    record: str | os.PathLike[str] | None
    replay: str | os.PathLike[str] | None
    keep: str | None
    on_record: Callable[[Record], object] | None
