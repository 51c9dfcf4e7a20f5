"""Gets into a CPython that runs, and out again: an entry in its pending calls, and what that loads."""
