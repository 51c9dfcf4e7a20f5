"""Samples the stacks of an Erlang node's processes from inside of it (erlang_nif/src/pyusdt_profile.erl).

- Two modules are loaded into the node, and removed by close(); if this process is killed, the node itself removes them.
- The node's answers are untrusted.
"""

from __future__ import annotations

import contextlib

from pydtrace.erlang_node.distribution import DistributionError
from pydtrace.erlang_node.etf import Atom

from .beam_attach import (
    BeamOptions,
    connect_to_process,
    load_module,
    naming_target,
    read_module,
    unload_module,
)
from .refusal import NotAttached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Frame = tuple[str, str, int, str, int]

_NAME = "pyusdt-profile"  # of this side, so that others can attach meanwhile
_NAMES, _SAMPLER = "pyusdt_process_name", "pyusdt_profile"
_COUNTS = "rounds", "missed", "processes", "looked", "cut", "unread"
MAX_FRAMES = 64  # that the emulator shows


class BeamSamples:
    """Of a while: samples: [(name of the process, frames from the innermost on, how many)], a frame is (module, function, arity, file,
    line); rounds, missed, processes, looked, cut, unread: as pyusdt_profile.erl has them."""

    def __init__(self, answer: Any) -> None:
        """Raises ValueError."""
        if not isinstance(answer, dict):
            raise ValueError(f"the sampler in the node has ended: {answer}")  # noqa: TRY004 - the node's
        self.rounds, self.missed, self.processes, self.looked, self.cut, self.unread = (
            _read_count(answer.get(name)) for name in _COUNTS
        )
        self.samples = list(_read_samples(answer.get("samples")))


class BeamSampler:
    """frames: of a stack, at most; lines: whether each line of a function counts by itself.  NotAttached."""

    def __init__(
        self, pid: int, timeout: float, folder: str, frames: int, lines: bool, cookie_file: str = ""
    ) -> None:
        options = BeamOptions(folder, "", cookie_file)
        beams = [(module, read_module(options.folder, module)) for module in (_NAMES, _SAMPLER)]
        self._whom = f"process {pid}"
        self._node = connect_to_process(pid, timeout, options, _NAME)
        self._brought: list[str] = []
        try:
            with naming_target(self._whom):
                for module, beam in beams:
                    if load_module(self._node, module, beam):
                        self._brought.append(module)
                self._start(frames, lines)
        except BaseException:
            self.close()
            raise

    def _start(self, frames: int, lines: bool) -> None:
        request = {
            Atom("tracer"): Atom(self._node.own_name),
            Atom("modules"): [Atom(module) for module in self._brought],
            Atom("frames"): min(frames, MAX_FRAMES),
            Atom("lines"): lines,
        }
        answer = self._node.call(_SAMPLER, "start", request)
        if answer != "ok":
            raise NotAttached(f"{self._whom}: its processes cannot be sampled: {answer}")

    @property
    def name(self) -> str:
        """Of the node."""
        return self._node.node

    def request_round(self) -> None:
        """Raises NotAttached."""
        with naming_target(self._whom):
            self._node.allow_more_time()
            self._node.send_to_name(_SAMPLER, Atom("sample"))

    def take_samples(self) -> BeamSamples:
        """What came since the last time.  Raises NotAttached."""
        return self._ask("take")

    def stop(self) -> BeamSamples:
        """The rest.  Raises NotAttached."""
        return self._ask("stop")

    def _ask(self, what: str) -> BeamSamples:
        with naming_target(self._whom):
            self._node.allow_more_time()
            answer = self._node.call(_SAMPLER, what)
        try:
            return BeamSamples(answer)
        except ValueError as error:
            raise NotAttached(f"{self._whom}: {error}") from None

    def close(self) -> None:
        """Nothing of it stays in the node."""
        with contextlib.suppress(DistributionError):
            self._node.allow_more_time()
            if _SAMPLER in self._brought:
                self._node.call(_SAMPLER, "stop")
            for module in reversed(self._brought):
                unload_module(self._node, module)
        self._node.close()


def _read_count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"the node gives no count: {value}")
    return value


def _read_samples(rows: Any) -> Iterator[tuple[str, list[Frame], int]]:
    for row in rows if isinstance(rows, list) else ():
        if not (isinstance(row, tuple) and len(row) == 3 and isinstance(row[0], bytes)):
            raise ValueError(f"the node gives no sample: {row}")
        frames = [_read_frame(frame) for frame in (row[1] if isinstance(row[1], list) else ())]
        yield row[0].decode("utf-8", "replace"), frames, _read_count(row[2])


def _read_frame(frame: Any) -> Frame:
    if not (isinstance(frame, tuple) and len(frame) == 5):
        raise ValueError(f"the node gives no frame: {frame}")
    module, function, arity, file, line = frame
    return str(module), str(function), _read_count(arity), str(file or ""), _read_count(line)
