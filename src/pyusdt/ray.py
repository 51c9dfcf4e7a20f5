"""`pyusdt.ray.trace()`: handed on from pydtrace.consumer.ray, so that a traced program does not load the tracer."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace.consumer.ray import trace

__all__ = ["trace"]


def __getattr__(name: str) -> object:
    from importlib import import_module

    return getattr(import_module("pydtrace.consumer.ray"), name)
