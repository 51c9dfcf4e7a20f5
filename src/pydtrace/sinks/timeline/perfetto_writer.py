"""Write a timeline as Perfetto's protobuf, packet by packet.

- A track is described before its first event.
- Times are those of the monotonic clock; the first packet relates it to the wall clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydtrace.engine import EngineError

from .timeline_sink import escape_value, hash_text

if TYPE_CHECKING:
    from typing import BinaryIO

    from pydtrace.program.trace_clock import Clock

    from .timeline_sink import Track, Values

_SEQUENCE = 1
_REALTIME, _MONOTONIC, _BOOTTIME = 1, 3, 6  # Perfetto's built-in clocks


class PerfettoWriter:
    """A timeline.Writer."""

    def __init__(self, file: BinaryIO, clock: Clock) -> None:
        try:
            from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent
            from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder
        except ImportError:
            raise EngineError(
                "--perfetto needs perfetto: pip install 'pydtrace[perfetto]'; --chrome needs nothing"
            ) from None
        self._types, self._builder = TrackEvent, StreamingTraceProtoBuilder(file)
        self._described: set[int] = set()
        self._write_clocks(clock)

    def _write_clocks(self, clock: Clock) -> None:
        """The first packet: without it Perfetto shows nothing that has times of this clock."""
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id, packet.sequence_flags = (
            _SEQUENCE,
            1,
        )  # nothing came before
        packet.trace_packet_defaults.timestamp_clock_id = _MONOTONIC
        now = clock.now()
        for ident, time in (
            (_MONOTONIC, now),
            (_BOOTTIME, now),
            (_REALTIME, int(clock.wall() * 1e9)),
        ):
            packet.clock_snapshot.clocks.add(clock_id=ident, timestamp=time)
        self._builder.write_packet(packet)

    # --- tracks -------------------------------------------------------------------------------

    def process(self, pid: int, name: str) -> None:
        if described := self._new_descriptor(f"process {pid}"):
            (
                described.track_descriptor.process.pid,
                described.track_descriptor.process.process_name,
            ) = _clamp_pid(pid), name
            self._builder.write_packet(described)

    def _new_descriptor(self, key: str, name: str | None = None, parent: str | None = None) -> Any:
        """The packet for what is not described yet; None for what is."""
        uuid = hash_text(key)
        if uuid in self._described:
            return None
        self._described.add(uuid)
        packet = self._new_packet()
        packet.track_descriptor.uuid = uuid
        if name is not None:
            packet.track_descriptor.name = name
        if parent is not None:
            packet.track_descriptor.parent_uuid = hash_text(parent)
        return packet

    def _describe_track(self, track: Track) -> int:
        """The track's number; it is described from now on."""
        key = f"{track.kind} {track.pid} {track.ident}"
        if track.kind == "thread":
            if described := self._new_descriptor(key):
                thread = described.track_descriptor.thread
                thread.pid, thread.tid = _clamp_pid(track.pid), int(track.ident)
                self._builder.write_packet(described)
            return hash_text(key)
        parent = f"process {track.pid}" if track.kind == "task" else f"all {track.kind}s"
        if track.kind != "task" and (described := self._new_descriptor(parent, f"{track.kind}s")):
            self._builder.write_packet(described)
        if described := self._new_descriptor(key, str(track.ident), parent):
            if track.kind == "counter":
                described.track_descriptor.counter.SetInParent()
            self._builder.write_packet(described)
        return hash_text(key)

    # --- events -------------------------------------------------------------------------------

    def _new_packet(self) -> Any:
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        return packet

    def _write_event(
        self,
        kind: int,
        track: Track,
        time: int,
        values: Values,
        flow: tuple[int, str] | None = None,
        name: str | None = None,
    ) -> None:
        uuid = self._describe_track(track)
        packet = self._new_packet()
        packet.timestamp = max(0, time)
        event = packet.track_event
        event.type, event.track_uuid = kind, uuid
        if name is not None:
            event.name = name
        for key, value in values.items():
            _set_annotation(event.debug_annotations.add(), key, value)
        if flow:
            event.flow_ids.append(flow[0])
            _set_annotation(event.debug_annotations.add(), "tag", flow[1])
        self._builder.write_packet(packet)

    def begin(
        self, track: Track, time: int, name: str, values: Values, flow: tuple[int, str] | None
    ) -> None:
        self._write_event(self._types.TYPE_SLICE_BEGIN, track, time, values, flow, name)

    def end(self, track: Track, time: int, values: Values) -> None:
        self._write_event(self._types.TYPE_SLICE_END, track, time, values)

    def forget(self, track: Track) -> None:
        """It has no end in the file."""

    def slice(
        self,
        track: Track,
        time: int,
        duration: int,
        name: str,
        values: Values,
        flow: tuple[int, str] | None,
    ) -> None:
        self.begin(track, time, name, values, flow)
        self.end(track, time + duration, {})

    def instant(
        self, track: Track, time: int, name: str, values: Values, flow: tuple[int, str] | None
    ) -> None:
        self._write_event(self._types.TYPE_INSTANT, track, time, values, flow, name)

    def counter(self, track: Track, time: int, value: float) -> None:
        uuid = self._describe_track(track)
        packet = self._new_packet()
        packet.timestamp = time
        packet.track_event.type, packet.track_event.track_uuid = self._types.TYPE_COUNTER, uuid
        packet.track_event.double_counter_value = value
        self._builder.write_packet(packet)

    def close(self) -> None:
        """Every packet was written."""


def _clamp_pid(pid: int) -> int:
    return pid if pid < 1 << 31 else -1


def _set_annotation(annotation: Any, name: str, value: Any) -> None:
    annotation.name = escape_value(name)
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        annotation.int_value = value
    elif isinstance(value, int) and 0 <= value < 1 << 64:
        annotation.uint_value = value
    elif isinstance(value, float):
        annotation.double_value = value
    else:
        annotation.string_value = escape_value(value)
