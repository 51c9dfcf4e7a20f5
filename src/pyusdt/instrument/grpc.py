"""gRPC: rpc, by an interceptor in each server, also of grpc.aio, and in each channel; in channels of
grpc.aio around what makes a call.

Probes: rpc:::request-start and request-done of servers, call-start and call-done of clients.

- Ours is the first interceptor, so that it sees what the program's do. A stream is done with its
  last message.
- Channels of grpc.aio get no interceptor, which would make a task of each of their calls, also
  while nobody traces.
"""

from __future__ import annotations

from functools import update_wrapper
from inspect import isasyncgenfunction, iscoroutine, iscoroutinefunction
from time import perf_counter_ns
from typing import Any

from . import request_spans
from .core import suppress_errors, wrap_method
from .probes import provider_probes
from .request_spans import done_probe, span_probe

_start, _done, _call_start, _call_done = provider_probes("rpc")


class _Call:
    """One call that a client has sent and that is traced."""

    __slots__ = ("began", "method", "target")

    def __init__(self, method: Any, target: Any) -> None:
        self.method, self.target = str(method), str(target)
        _call_start(self.method, self.target)
        self.began = perf_counter_ns()

    @suppress_errors
    def done(self, call: Any) -> None:
        took = perf_counter_ns() - self.began
        _call_done(self.method, _read_code(call.code()).name, took, self.target)

    @suppress_errors
    def watch_call(self, call: Any) -> None:
        call.add_done_callback(self.done)


def _read_code(code: Any) -> Any:
    """grpc.aio has a coroutine for the code; of a call that is done it waits for nothing."""
    if not iscoroutine(code):
        return code
    try:
        code.send(None)
    except StopIteration as answer:
        return answer.value
    code.close()
    raise TypeError("a call that is done, whose code is not there")


@suppress_errors
def _begin_call(method: Any, target: Any) -> _Call:
    return _Call(method, target)


class _Request:
    """One call that a server answers and that is traced."""

    __slots__ = ("began", "codes", "context", "method", "spans")

    def __init__(self, method: str, context: Any, codes: Any, on_loop: bool = False) -> None:
        self.method, self.context, self.codes = method, context, codes
        _start(method)
        self.spans = (
            request_spans.begin_request("rpc", on_loop) if request_spans.is_traced() else None
        )
        self.began = perf_counter_ns()

    @suppress_errors
    def done(self, failed: bool) -> None:
        took = perf_counter_ns() - self.began
        status = self._status(failed)
        _done(self.method, status, took)
        if self.spans is not None:
            self.spans.done(self.method, status)

    def _status(self, failed: bool) -> str:
        """Without a code of its own, what returns is OK, and an exception UNKNOWN, as the server has it.  "": a function that is no
        coroutine, in a server of grpc.aio, whose context does not tell."""
        if not hasattr(self.context, "code"):
            return ""
        code = self.context.code()
        if isinstance(code, int):  # as grpc.aio has it
            code = next((each for each in self.codes if each.value[0] == code != 0), None)
        return code.name if code else "UNKNOWN" if failed else "OK"


def _is_traced() -> bool:
    return bool(_start or _done or span_probe or done_probe)


@suppress_errors
def _begin_request(method: str, context: Any, codes: Any, on_loop: bool = False) -> _Request:
    return _Request(method, context, codes, on_loop)


def _wrap_behaviour(method: str, behaviour: Any, streams: bool, codes: Any) -> Any:
    """The program's function for a method, with the probes around it; streams: it returns an iterator; codes: grpc.StatusCode."""

    def answer(request: Any, context: Any) -> Any:
        traced = _begin_request(method, context, codes) if _is_traced() else None
        if traced is None:
            return behaviour(request, context)
        try:
            result = behaviour(request, context)
        except BaseException:
            traced.done(failed=True)
            raise
        if streams:
            return _trace_messages(traced, result)
        traced.done(failed=False)
        return result

    return update_wrapper(answer, behaviour)


def _trace_messages(traced: _Request, messages: Any) -> Any:
    failed = True
    try:
        yield from messages
        failed = False
    finally:
        traced.done(failed)


def _wrap_async_behaviour(method: str, behaviour: Any, streams: bool, codes: Any) -> Any:
    """The same for grpc.aio, which also takes functions that are neither coroutine functions nor asynchronous generators."""

    async def answer(request: Any, context: Any) -> Any:
        traced = _begin_request(method, context, codes, on_loop=True) if _is_traced() else None
        if traced is None:
            return await behaviour(request, context)
        try:
            result = await behaviour(request, context)
        except BaseException:
            traced.done(failed=True)
            raise
        traced.done(failed=False)
        return result

    async def stream(request: Any, context: Any) -> Any:
        traced, failed = (
            _begin_request(method, context, codes, on_loop=True) if _is_traced() else None,
            True,
        )
        try:
            async for message in behaviour(request, context):
                yield message
            failed = False
        finally:
            if traced is not None:
                traced.done(failed)

    if iscoroutinefunction(behaviour):
        return update_wrapper(answer, behaviour)
    if isasyncgenfunction(behaviour):
        return update_wrapper(stream, behaviour)
    return _wrap_behaviour(method, behaviour, streams, codes)


@suppress_errors
def _wrap_handler(
    grpc: Any, handler: Any, method: str, wrap_behaviour: Any = _wrap_behaviour
) -> Any:
    """The handler of a method, which fires."""
    if handler.response_streaming:
        make = (
            grpc.stream_stream_rpc_method_handler
            if handler.request_streaming
            else grpc.unary_stream_rpc_method_handler
        )
        behaviour = handler.stream_stream or handler.unary_stream
    else:
        make = (
            grpc.stream_unary_rpc_method_handler
            if handler.request_streaming
            else grpc.unary_unary_rpc_method_handler
        )
        behaviour = handler.stream_unary or handler.unary_unary
    answer = wrap_behaviour(method, behaviour, handler.response_streaming, grpc.StatusCode)
    return make(answer, handler.request_deserializer, handler.response_serializer)


def _make_server_interceptor(grpc: Any) -> Any:
    class Interceptor(grpc.ServerInterceptor):  # type: ignore[misc]
        def intercept_service(self, continuation: Any, details: Any) -> Any:
            handler = continuation(details)
            return (
                handler
                if handler is None
                else _wrap_handler(grpc, handler, details.method) or handler
            )

    return Interceptor()


def _make_async_server_interceptor(grpc: Any, aio: Any) -> Any:
    class Interceptor(aio.ServerInterceptor):  # type: ignore[misc]
        async def intercept_service(self, continuation: Any, details: Any) -> Any:
            handler = await continuation(details)
            return (
                handler
                if handler is None
                else _wrap_handler(grpc, handler, details.method, _wrap_async_behaviour) or handler
            )

    return Interceptor()


_KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


def _camel_case(kind: str) -> str:
    return kind.title().replace("_", "")


def _make_client_interceptor(grpc: Any, target: Any) -> Any:
    def intercept(_self: Any, continuation: Any, details: Any, request: Any) -> Any:
        traced = _begin_call(details.method, target) if _call_start or _call_done else None
        call = continuation(details, request)
        if traced is not None:
            traced.watch_call(call)
        return call

    bases = tuple(getattr(grpc, f"{_camel_case(kind)}ClientInterceptor") for kind in _KINDS)
    return type("Interceptor", bases, {f"intercept_{kind}": intercept for kind in _KINDS})()


def _wrap_server(interceptor: Any) -> Any:
    def around_server(make: Any) -> Any:
        def make_server(
            thread_pool: Any = None,
            handlers: Any = None,
            interceptors: Any = None,
            *more: Any,
            **named: Any,
        ) -> Any:
            return make(thread_pool, handlers, (interceptor, *(interceptors or ())), *more, **named)

        return make_server

    return around_server


_TARGET = "_pyusdt_target"  # in a channel of grpc.aio, and in what it makes for a method


@suppress_errors
def _set_target(of: Any, target: Any) -> None:
    """A class of a newer grpc may have no room for it: its calls are not seen then."""
    setattr(of, _TARGET, target)


def _wrap_init(init: Any) -> Any:
    def __init__(self: Any, target: Any, *arguments: Any, **named: Any) -> None:
        init(self, target, *arguments, **named)
        _set_target(self, target)

    return __init__


def _wrap_callable_factory(make: Any) -> Any:
    """A channel's method that makes what is called for a method of the service."""

    def make_callable(self: Any, method: Any, *arguments: Any, **named: Any) -> Any:
        made = make(self, method, *arguments, **named)
        _set_target(made, (method, getattr(self, _TARGET, "")))
        return made

    return make_callable


def _wrap_call(begin: Any) -> Any:
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        traced = (
            _begin_call(*getattr(self, _TARGET))
            if (_call_start or _call_done) and hasattr(self, _TARGET)
            else None
        )
        begun = begin(self, *arguments, **named)
        if traced is not None:
            traced.watch_call(begun)
        return begun

    return call


def install_calls_of_aio(aio: Any) -> None:
    import grpc
    from grpc.aio import _channel

    wrap_method(aio, "server", _wrap_server(_make_async_server_interceptor(grpc, aio)))
    wrap_method(_channel.Channel, "__init__", _wrap_init)
    for kind in _KINDS:
        wrap_method(_channel.Channel, kind, _wrap_callable_factory)
        wrap_method(getattr(_channel, f"{_camel_case(kind)}MultiCallable"), "__call__", _wrap_call)


def install_calls(grpc: Any) -> None:
    @suppress_errors
    def intercepted(channel: Any, target: Any) -> Any:
        return grpc.intercept_channel(channel, _make_client_interceptor(grpc, target))

    def around_channel(make: Any) -> Any:
        def make_channel(target: Any, *arguments: Any, **named: Any) -> Any:
            channel = make(target, *arguments, **named)
            return intercepted(channel, target) or channel

        return make_channel

    wrap_method(grpc, "insecure_channel", around_channel)
    wrap_method(grpc, "secure_channel", around_channel)
    wrap_method(grpc, "server", _wrap_server(_make_server_interceptor(grpc)))
