"""Which engine traces: the one that -x engine names, or the embedded one where it knows the probes, else the kernel.

In: a compiled program, options, targets.  Out: an opened engine, and why it is that one.
Always: an engine that was named is the one that runs or fails; no other takes its place.
"""

import os

from . import EngineError


def _embedded(program, options):
    from .embedded import EmbeddedEngine

    return EmbeddedEngine(program, options)


def _kernel(program, options):
    from .kernel import KernelEngine

    return KernelEngine(program, options)


ENGINES = {"embedded": _embedded, "kernel": _kernel}


def open_engine(program, options, targets):
    """(engine, reason); raises EngineError."""
    name = options.get("engine")
    if name:
        return _opened(ENGINES[name](program, options), targets), "as -x engine says"
    try:
        engine = _opened(_embedded(program, options), targets)
    except EngineError as error:
        if os.geteuid() != 0:
            raise
        embedded, why = None, str(error)
    else:
        if os.geteuid() != 0 or all(count for _, count in engine.matched):
            return engine, "it needs no privilege and knows the probes"
        embedded, why = engine, "pyusdt's own probes do not match"
    try:
        engine = _opened(_kernel(program, options), targets)
    except EngineError:
        if embedded is None:
            raise
        return embedded, "the kernel can not be used"
    if embedded and sum(1 for _, n in engine.matched if n) <= sum(1 for _, n in embedded.matched if n):
        engine.close()
        return embedded, "the kernel's engine knows no more of the probes"
    if embedded:
        embedded.close()
    return engine, why


def _opened(engine, targets):
    try:
        engine.open(targets)
    except BaseException:
        engine.close()
        raise
    return engine
