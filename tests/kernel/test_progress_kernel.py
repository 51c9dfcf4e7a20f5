"""Attaching to many probes tells how far it is."""

import os

import pyusdt
from pydtrace.engine.kernel.engine import KernelEngine


def test_the_kernel_engine_tells_how_far_it_is(bpf, monkeypatch):
    told = []
    monkeypatch.setattr(
        KernelEngine, "report_attach_progress", lambda self, done, total: told.append((done, total))
    )
    with pyusdt.trace(
        "pyusdt$target:::user_trace-n1* { @ = count(); }", pid=os.getpid(), engine="kernel"
    ):
        pass
    assert told[0][0] == 0 and told[-1] == (111, 111), told
