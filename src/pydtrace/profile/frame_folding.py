"""Frames that are of no interest to the program's author, folded: one frame for all neighbours of one
package.

- pyusdt's own frames are always folded. With `--mine` those of installed packages and of the
  standard library are, too.
"""

from __future__ import annotations

from .frame_key import FrameKey, pseudo_frame
from .short_paths import library_of, own_package_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def fold_frames(places: Iterable[FrameKey], mine: bool) -> list[FrameKey]:
    folded: list[FrameKey] = []
    for place in places:
        package = own_package_of(place.file) or (library_of(place.file) if mine else None)
        shown = pseudo_frame(package) if package else place
        if not (package and folded and folded[-1] == shown):
            folded.append(shown)
    return folded
