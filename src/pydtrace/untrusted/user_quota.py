"""What part of a bounded resource each user may have.

- Root may have all. Another user may have half of what the others have left, so that users harm
  themselves only.
"""

from __future__ import annotations

from collections import Counter

ROOT = 0
_RANGE = 16  # bits: of the ids that a user may have for others (subuid)


def canonical_uid(uid: int) -> int:
    """A user's number; a range of subordinate ids is one user."""
    return uid if uid < 1 << _RANGE else uid >> _RANGE << _RANGE


class UserQuota:
    """taken: how much, by user."""

    def __init__(self, most: int) -> None:
        self._most, self.used = most, Counter[int]()

    def find_available(self, user: int) -> int:
        """Root may take all; another as much as he leaves to those that come."""
        left = self._most - self.used.total()
        return left if user == ROOT else (left + self.used[user]) // 2 - self.used[user]
