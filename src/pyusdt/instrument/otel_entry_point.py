"""The entry point that `opentelemetry-instrument` finds in the group opentelemetry_instrumentor: it
enables the part `otel`.

- Nothing is raised. OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=pyusdt disables it.
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
