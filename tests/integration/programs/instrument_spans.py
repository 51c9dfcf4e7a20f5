"""A program with spans of OpenTelemetry whose sampler drops them all; it knows nothing of pyusdt.

Input: the number of spans of each kind.
Output: the number of spans that were exported.
"""

import sys

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

exported = InMemorySpanExporter()
provider = TracerProvider(sampler=ALWAYS_OFF)
provider.add_span_processor(SimpleSpanProcessor(exported))
tracer = provider.get_tracer("shop")

for number in range(int(sys.argv[1])):
    with (
        tracer.start_as_current_span("outer", attributes={"number": number}),
        tracer.start_as_current_span("inner", kind=trace.SpanKind.CLIENT) as span,
    ):
        span.set_status(trace.StatusCode.ERROR)
print("exported", len(exported.get_finished_spans()))
