"""Profiles in files, of pyusdt and of other tools, as amounts of stacks: folded stacks, speedscope's
JSON, pprof.

- A file is untrusted: its size, its counts and its names are bounded, and a wrong one is an error
  that names the place.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib

from .frame_key import FrameKey
from .pprof_reader import read_pprof
from .stack_amounts import FrameCount, StackAmounts, UnreadableProfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .stack_amounts import Stack

MAX_BYTES = 1 << 28  # of a file, and of what it is uncompressed
_SAME = 1e-4  # amounts that differ by less, relatively, are the same
_MAX_LEAST_SAMPLES = 1000  # of the rarest stack; what is measured exactly has no common amount
_GZIP = b"\x1f\x8b"
_PPROF = re.compile(rb"\n.\x08")  # Profile.sample_type.type, which writers begin with
_THREAD = re.compile(r"(\S.*?) (?:\d+|\?)((?:, .*)?)")  # as pyusdt profile --threads calls one
_SPEEDSCOPE_UNITS = {
    "nanoseconds": ("seconds", 1e-9),
    "microseconds": ("seconds", 1e-6),
    "milliseconds": ("seconds", 1e-3),
    "seconds": ("seconds", 1.0),
    "bytes": ("bytes", 1.0),
    "none": ("samples", 1.0),
}


def read_profile(path: str, with_lines: bool = False) -> StackAmounts:
    """with_lines: a function's lines are separate.  Raises UnreadableProfile, OSError."""
    data = read_bounded(path)
    try:
        if data[:1] == b"{":
            return _read_speedscope(_parse_json(data), with_lines)
        if _PPROF.match(data):
            return read_pprof(data, with_lines)
        return _read_folded(data.decode("utf-8", "replace"), with_lines)
    except UnreadableProfile as error:
        raise UnreadableProfile(f"{path}: {error}") from None


def read_bounded(path: str) -> bytes:
    """The bytes of a file, uncompressed.  Raises UnreadableProfile, OSError."""
    with open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if data.startswith(_GZIP):
        data = _uncompress(path, data)
    if len(data) > MAX_BYTES:
        raise UnreadableProfile(f"{path}: larger than {MAX_BYTES >> 20} MiB")
    return data


def _uncompress(path: str, data: bytes) -> bytes:
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        return unpacker.decompress(data, MAX_BYTES + 1)
    except (zlib.error, gzip.BadGzipFile, EOFError) as error:
        raise UnreadableProfile(f"{path}: damaged gzip data: {error}") from None


def _parse_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UnreadableProfile(f"no JSON: {error}") from None


def _forget_line(place: FrameKey) -> FrameKey:
    return FrameKey((place.function, place.file, None))


# --- folded stacks ----------------------------------------------------------------------------


def _read_folded(text: str, with_lines: bool) -> StackAmounts:
    found = StackAmounts("samples", 1.0)
    places: dict[str, FrameKey] = {}
    count = FrameCount()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        words, _, amount = line.rstrip().rpartition(" ")
        if not (words and amount.isascii() and amount.isdecimal() and len(amount) < 19):
            raise UnreadableProfile(
                f"line {number} is no folded stack: 'outermost;…;innermost SAMPLES' is wanted"
            )
        frames = words.split(";")
        count.take(len(frames))
        for frame in frames:
            if frame not in places:
                places[frame] = _parse_frame(frame, with_lines)
        stack = tuple(places[frame] for frame in frames)
        found.stacks[_forget_thread_id(stack)] += int(amount)
    return found


def _parse_frame(text: str, with_lines: bool) -> FrameKey:
    """As frame_key.FrameKey.text and as py-spy, memray and austin write one."""
    place = FrameKey.parse_text(text)
    if place.line is None and text.endswith(")") and " (" in text:
        function, _, file = text[:-1].rpartition(" (")
        place = FrameKey((function, file, None))
    return place if with_lines else _forget_line(place)


def _forget_thread_id(stack: Stack) -> Stack:
    """Its number is another one in each run."""
    thread = None if stack[0].file else _THREAD.fullmatch(stack[0].function)
    return (FrameKey((thread[1] + thread[2], "", None)), *stack[1:]) if thread else stack


# --- speedscope ---------------------------------------------------------------------------------


def _read_speedscope(file: Any, with_lines: bool) -> StackAmounts:
    try:
        places = [_make_place(row, with_lines) for row in file["shared"]["frames"]]
        amounts = [
            (unit, list(_read_one(profile, places, factor)))
            for profile in file["profiles"]
            for unit, factor in [_SPEEDSCOPE_UNITS[profile["unit"]]]
        ]
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise UnreadableProfile(f"no file of speedscope: {error!r}") from None
    units = {unit for unit, rows in amounts if rows}
    if len(units) > 1:
        raise UnreadableProfile(f"profiles in different units: {', '.join(sorted(units))}")
    rows = [row for _, found in amounts for row in found]
    is_sampled = all(profile["type"] == "sampled" for profile in file["profiles"])
    made = StackAmounts(
        units.pop() if units else "samples",
        _find_sample_amount([amount for _, amount in rows]) if is_sampled else None,
    )
    for stack, amount in rows:
        made.stacks[stack] += amount  # type: ignore[assignment]
    return made


def _make_place(row: Any, with_lines: bool) -> FrameKey:
    line = row.get("line")
    place = FrameKey(
        (str(row["name"]), str(row.get("file") or ""), line if isinstance(line, int) else None)
    )
    return place if with_lines else _forget_line(place)


def _read_one(profile: Any, places: list[FrameKey], factor: float) -> Iterator[tuple[Stack, float]]:
    count = FrameCount()
    read = _read_samples if profile["type"] == "sampled" else _read_events
    for numbers, amount in read(profile):
        if not (isinstance(amount, (int, float)) and 0 <= amount < math.inf):
            raise ValueError(f"weight {amount!r}")
        if numbers and amount:
            count.take(len(numbers))
            yield tuple(places[number] for number in numbers), amount * factor


def _read_samples(profile: Any) -> Iterator[tuple[list[int], float]]:
    yield from zip(profile["samples"], profile["weights"], strict=True)


def _read_events(profile: Any) -> Iterator[tuple[list[int], float]]:
    """What opens and closes a frame, with its time."""
    open_frames: list[int] = []
    last = profile["startValue"]
    for event in profile["events"]:
        yield list(open_frames), event["at"] - last
        last = event["at"]
        if event["type"] == "O":
            open_frames.append(event["frame"])
        elif open_frames.pop() != event["frame"]:
            raise ValueError(f"frame {event['frame']} is closed, which is not the innermost")


def _find_sample_amount(amounts: list[float]) -> float | None:
    """The amount of one sample: the largest that all others are multiples of, or None."""
    if not amounts:
        return 1.0
    least = min(amounts)
    common = 0.0
    for amount in set(amounts):
        while amount > least * _SAME:
            common, amount = amount, math.fmod(common, amount)
            if amount > common * (1 - _SAME):  # a multiple, but for the rounding
                amount = 0.0
    return common if common > least / _MAX_LEAST_SAMPLES else None
