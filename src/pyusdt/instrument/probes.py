"""The probes that frameworks get in Python, of framework_probes.py.

In:      a provider's name.
Out:     its probes, made on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyusdt.framework_probes import FRAMEWORK_PROBES
from pyusdt.providers import Provider

if TYPE_CHECKING:
    from pyusdt._core import Probe

_made: dict[str, dict[str, Probe]] = {}


def probes(provider: str) -> tuple[Probe, ...]:
    """All probes of a provider of the table, in its order."""
    if provider not in _made:
        own = Provider(provider)
        _made[provider] = {
            name: own.probe(name, **arguments)
            for name, arguments in FRAMEWORK_PROBES[provider].items()
        }
    return tuple(_made[provider].values())
