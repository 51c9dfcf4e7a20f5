"""OpenTelemetry: otel:::span-start and span-end, by a span processor and a sampler around that of
each tracer provider.

It is enabled by `pyusdt run`, by enable("otel"), or by the entry point that
`opentelemetry-instrument` finds (Instrumentor). Spans that the program's sampler drops fire, too.

- What is exported stays as it was: a dropped span is only recorded (RECORD_ONLY), and only while
  somebody traces.
"""

from __future__ import annotations

import json
from typing import Any

from .core import suppress_errors, wrap_method
from .probes import provider_probes

_start, _end = provider_probes("otel")
_KEY = "_pyusdt"  # a tracer provider that has our processor


@suppress_errors
def _note_start(span: Any) -> None:
    context, parent = span.context, span.parent
    _start(
        span.name,
        span.instrumentation_scope.name,
        span.kind.name,
        f"{context.trace_id:032x}",
        f"{context.span_id:016x}",
        f"{parent.span_id:016x}" if parent else "",
    )


@suppress_errors
def _note_end(span: Any) -> None:
    context = span.context
    _end(
        span.name,
        span.instrumentation_scope.name,
        span.end_time - span.start_time,
        span.status.status_code.name,
        f"{context.trace_id:032x}",
        f"{context.span_id:016x}",
        json.dumps(dict(span.attributes or {}), default=repr),
    )


class _Processor:
    """A SpanProcessor, which looks at each span."""

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if _start:
            _note_start(span)

    def _on_ending(self, span: Any) -> None:
        pass

    def on_end(self, span: Any) -> None:
        if _end:
            _note_end(span)

    def shutdown(self) -> None:
        pass

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return True


def _record_dropped(result: Any) -> Any:
    """The same decision, but a dropped span is recorded, and not exported."""
    from opentelemetry.sdk.trace.sampling import Decision, SamplingResult

    if result.decision is not Decision.DROP:
        return result
    return SamplingResult(Decision.RECORD_ONLY, result.attributes, result.trace_state)


_safely_record_dropped = suppress_errors(_record_dropped)


class _Sampler:
    """A sampler around the program's; everything but should_sample() is that one's."""

    def __init__(self, sampler: Any) -> None:
        self._sampler = sampler

    def should_sample(self, *arguments: Any, **named: Any) -> Any:
        result = self._sampler.should_sample(*arguments, **named)
        return (_safely_record_dropped(result) or result) if _start or _end else result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sampler, name)


@suppress_errors
def _watch_provider(provider: Any) -> None:
    """A tracer provider, with the tracers that it has made already."""
    if getattr(provider, _KEY, False):
        return
    setattr(provider, _KEY, True)
    provider.add_span_processor(_Processor())
    provider.sampler = sampler = _Sampler(provider.sampler)
    for tracer in list(getattr(provider, "_tracers", {}).values()):
        tracer.sampler = sampler


def install_spans(trace: Any) -> None:
    from opentelemetry import trace as api

    def around(make: Any) -> Any:
        def __init__(self: Any, *arguments: Any, **named: Any) -> None:
            make(self, *arguments, **named)
            _watch_provider(self)

        return __init__

    wrap_method(trace.TracerProvider, "__init__", around)
    present = getattr(api, "_TRACER_PROVIDER", None)  # get_tracer_provider() would make one
    if isinstance(present, trace.TracerProvider):
        _watch_provider(present)
