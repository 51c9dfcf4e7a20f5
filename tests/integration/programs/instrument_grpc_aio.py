"""A server and a client of grpc.aio in one program that knows nothing of pyusdt.

Input: how often.
Output: the server's port.
"""

import asyncio
import sys

import grpc
import grpc.aio

COUNT = int(sys.argv[1])


def order(request, _context):
    return request * 2


async def twice(request, _context):
    return request * 2


async def refuse(_request, context):
    await context.abort(grpc.StatusCode.NOT_FOUND, "no such order")


async def fail(_request, _context):
    raise ZeroDivisionError


async def parts(request, _context):
    yield request
    yield request


async def echo(requests, context):
    async for request in requests:
        yield request
    await context.abort(grpc.StatusCode.OUT_OF_RANGE, "enough")


async def total(requests, _context):
    return b"".join([request async for request in requests])


async def endless(request, _context):
    yield request
    await asyncio.sleep(1000)


METHODS = {
    "Order": grpc.unary_unary_rpc_method_handler(order),
    "Twice": grpc.unary_unary_rpc_method_handler(twice),
    "Refuse": grpc.unary_unary_rpc_method_handler(refuse),
    "Fail": grpc.unary_unary_rpc_method_handler(fail),
    "Parts": grpc.unary_stream_rpc_method_handler(parts),
    "Total": grpc.stream_unary_rpc_method_handler(total),
    "Endless": grpc.unary_stream_rpc_method_handler(endless),
    "Echo": grpc.stream_stream_rpc_method_handler(echo),
}


async def code_of(call):
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code().name


async def all_of(call):
    return [message async for message in call]


async def ask(channel):
    assert await channel.unary_unary("/shop.Shop/Order")(b"a", timeout=60) == b"aa"
    assert await channel.unary_unary("/shop.Shop/Twice")(b"a", timeout=60) == b"aa"
    assert await code_of(channel.unary_unary("/shop.Shop/Refuse")(b"a", timeout=60)) == "NOT_FOUND"
    assert await code_of(channel.unary_unary("/shop.Shop/Fail")(b"a", timeout=60)) == "UNKNOWN"
    assert (
        await code_of(channel.unary_unary("/shop.Shop/Nothing")(b"a", timeout=60))
        == "UNIMPLEMENTED"
    )
    assert await channel.stream_unary("/shop.Shop/Total")(iter([b"a", b"b"]), timeout=60) == b"ab"
    call = channel.unary_stream("/shop.Shop/Endless")(b"a", timeout=60)
    assert await call.read() == b"a" and call.cancel()
    assert await all_of(channel.unary_stream("/shop.Shop/Parts")(b"a", timeout=60)) == [b"a", b"a"]
    assert (
        await code_of(all_of(channel.stream_stream("/shop.Shop/Echo")(iter([b"a"]), timeout=60)))
        == "OUT_OF_RANGE"
    )


class Interceptor(grpc.aio.UnaryUnaryClientInterceptor):
    """Of the program's own: its channel has other objects for calls."""

    async def intercept_unary_unary(self, continuation, details, request):
        return await continuation(details, request)


async def main():
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("shop.Shop", METHODS),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        for _ in range(COUNT):
            await ask(channel)
    async with grpc.aio.insecure_channel(
        f"127.0.0.1:{port}", interceptors=[Interceptor()]
    ) as channel:
        for _ in range(COUNT):
            assert await channel.unary_unary("/shop.Shop/Order")(b"b", timeout=60) == b"bb"
    await server.stop(10)


asyncio.run(main())
