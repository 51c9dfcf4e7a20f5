"""The Python probes of frameworks (framework_probes.py), made when a provider is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyusdt.framework_probes import FRAMEWORK_PROBES
from pyusdt.providers import Provider

if TYPE_CHECKING:
    from pyusdt._core import Probe

_probes: dict[str, dict[str, Probe]] = {}


def provider_probes(provider: str) -> tuple[Probe, ...]:
    """All probes of a provider of the table, in its order."""
    if provider not in _probes:
        own = Provider(provider)
        _probes[provider] = {
            name: own.probe(name, **arguments)
            for name, arguments in FRAMEWORK_PROBES[provider].items()
        }
    return tuple(_probes[provider].values())
