"""What dtrace's own buffers hold, so that sizes mean the same here.

Source: measured with dtrace 2.0.7, whose buffers are perf's rings.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .program import Clause

PAGE = 4096
RECORD_HEAD = 24  # in front of the data of a record
LOSS_RECORD = 24
FAULT_RECORD = 64  # of the clause that every program has for ERROR


def record_size(clause: Clause, strsize: int) -> int:
    """Bytes that a clause's record needs: a string always takes strsize, other data are aligned."""
    end = 0
    for data in (each for action in clause.actions for each in action.data):
        align = 1 if data.type.is_string else max(1, data.type.align)
        end = -(-end // align) * align + (strsize if data.type.is_string else data.size)
    return RECORD_HEAD + end


def ring_bytes(room: int) -> int:
    """Bytes of a ring that such a record takes."""
    return -(-room // 8) * 8


def ring_size(bufsize: int) -> int:
    """Rings are whole pages, twice as many again and again; one byte of them stays free."""
    size: int = 1 << max(bufsize - 1, PAGE - 1).bit_length()
    return size
