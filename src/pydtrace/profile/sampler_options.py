"""What a sampler samples, and how."""

from __future__ import annotations

from .stack_profile import RUNNING_THREADS

RUNNING, GIL, ALL = "running", "gil", "all"
WORDS = {RUNNING: RUNNING_THREADS, GIL: "threads that hold the GIL", ALL: "all threads"}


class SamplerOptions:
    """which: RUNNING, GIL or ALL; lines: a frame has its line, not only its function; threads: samples have labels of their process and thread; frames: of a stack, at most;
    native: with native frames; stop: a thread that runs is stopped for the moment in which its stack is read;
    tasks, tags: asyncio tasks, tags are separate; states: what a thread does is the first label; of one that waits for a lock another is the id of the thread that holds it, 0: unknown."""

    __slots__ = (
        "frames",
        "lines",
        "native",
        "states",
        "stop",
        "tags",
        "tasks",
        "threads",
        "which",
    )

    def __init__(
        self,
        which: str = RUNNING,
        lines: bool = False,
        threads: bool = False,
        frames: int = 1000,
        native: bool = False,
        stop: bool = False,
        tasks: bool = False,
        tags: bool = False,
        states: bool = False,
    ) -> None:
        self.which, self.lines, self.threads, self.frames, self.native = (
            which,
            lines,
            threads,
            frames,
            native,
        )
        self.stop, self.tasks, self.tags, self.states = stop, tasks, tags, states
