"""The scripts in the package's folder scripts/, the (provider, probe) pairs that each needs, and
which scripts fit a process.

- Files are read when they are asked for; no script is run.
"""

from __future__ import annotations

import functools
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts")
_PLACE = r"[\w.*$]*:[\w.*]*:"  # module, which may be an argument of the script, and function
PROVIDER = re.compile(rf"(?<![\w$:])([a-z]\w*)\*:(?={_PLACE})")  # of a probe description
_PROBE = re.compile(rf"{PROVIDER.pattern}{_PLACE}([\w-]+)")


def script_names() -> list[str]:
    """Of all scripts."""
    return sorted(name[:-2] for name in os.listdir(FOLDER) if name.endswith(".d"))


def script_text(name: str) -> str:
    with open(os.path.join(FOLDER, f"{name}.d"), encoding="utf-8") as file:
        return file.read()


@functools.cache
def needed_probes(name: str) -> tuple[tuple[str, str], ...]:
    """(provider, probe) of its probe descriptions, in their order; its comment's are none."""
    return tuple(dict.fromkeys(_PROBE.findall(script_text(name).partition("*/")[2])))


def fitting_scripts(providers: Collection[str]) -> list[str]:
    """Those that need no other providers than these."""
    needs = {name: {provider for provider, _ in needed_probes(name)} for name in script_names()}
    return [name for name, wanted in needs.items() if wanted and wanted <= set(providers)]
