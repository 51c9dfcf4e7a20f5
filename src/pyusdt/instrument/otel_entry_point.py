"""What `opentelemetry-instrument` finds in the group opentelemetry_instrumentor: spans as probes, with nothing to write.

In: its calls.  Out: the part `otel`.  Always: nothing is raised, and OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=pyusdt keeps it away.
"""

from __future__ import annotations

from typing import Any

from . import enable


class Instrumentor:
    """As an instrumentor of OpenTelemetry's is used."""

    def instrument(self, **_named: Any) -> None:
        enable("otel")

    def uninstrument(self, **_named: Any) -> None:
        """Probes stay: they cost next to nothing while nobody traces."""
