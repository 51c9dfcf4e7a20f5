"""Writing a generated file: only if its text changes, so that nothing is compiled again without need."""

import os


def write_if_changed(path, text):
    """text: ASCII.  Raises OSError."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        with open(path, encoding="ascii") as file:
            if file.read() == text:
                return
    with open(path + ".new", "w", encoding="ascii") as file:
        file.write(text)
    os.replace(path + ".new", path)
