"""A warning that never ends the program: pyusdt is imported by programs that make warnings errors."""

from __future__ import annotations

import os
import warnings


def warn_without_raising(message: str, stacklevel: int) -> None:
    """A RuntimeWarning; if the program's filters make it an error, the text goes to the standard error instead."""
    try:
        warnings.warn(message, RuntimeWarning, stacklevel)
    except RuntimeWarning:
        try:
            os.write(2, f"RuntimeWarning: {message}\n".encode("utf-8", "replace"))
        except OSError:
            pass
