"""Frames as a rewritten script makes the real dtrace write them."""

from pydtrace.engine.dtrace.framing import FrameReader


def frame(*fields):
    return (
        b"\1"
        + b"\3".join(field if isinstance(field, bytes) else str(field).encode() for field in fields)
        + b"\4"
    )


def frames_of(script):
    """Frames of a script, and the marks around what dtrace shows for people."""
    from pydtrace.dlang.compile import compile_program

    return FrameReader(compile_program(script), "M"), b"\2M"
